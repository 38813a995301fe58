"""The verb `cron`: applications that are submitted at the times of a cron line."""

from pathlib import Path
from typing import Final, get_args

import click
from msgspec import to_builtins

from fairshare.api.cron import CronJob, CronRun, Overlap
from fairshare.cli import submit
from fairshare.cli.cells import short_queue
from fairshare.cli.instants import moment_text
from fairshare.cli.lists import Shown, list_options, list_table, print_list
from fairshare.cli.options import json_option, print_json, with_client, without_dashes
from fairshare.cli.orders import Verb
from fairshare.cli.tables import open_output, print_all
from fairshare.client import Client

OVERLAPS: Final = get_args(Overlap)
NOT_REPEATABLE: Final = ("after", "begin_ms", "deadline_ms", "held", "wait", "as_json", "url")
"""Options of `submit` that an application of a cron job cannot have, or that `cron` has itself."""

JOB_COLUMNS: Final[tuple[Shown[CronJob], ...]] = (
    Shown("Name", whole=True, of=lambda job: job.name),
    Shown("User", of=lambda job: job.user),
    Shown("Schedule", whole=True, of=lambda job: f"{job.schedule} ({job.time_zone})"),
    Shown(
        "Next",
        whole=True,
        of=lambda job: "paused" if job.paused else moment_text(job.next_ms),
    ),
    Shown("Overlap", whole=True, extra=True, of=lambda job: job.overlap),
    Shown("Queue", of=lambda job: short_queue(job.queue)),
    Shown("Last application", whole=True, of=lambda job: job.last_application or None),
    Shown("Command", extra=True, of=lambda job: job.command),
)
RUN_COLUMNS: Final[tuple[Shown[CronRun], ...]] = (
    Shown("Due", whole=True, of=lambda run: moment_text(run.due_ms)),
    Shown("Outcome", whole=True, of=lambda run: run.outcome),
    Shown("Application", whole=True, of=lambda run: run.application or None),
    Shown("State", whole=True, of=lambda run: run.state or None),
    Shown("Reason", of=lambda run: run.reason),
)

user_option = click.option("--user", metavar="U", help="The owner of the job. [default: you]")


@click.group("cron")
def command() -> None:
    """Submit an application on a cron schedule.

    \b
    fairshare cron add nightly '30 2 * * *' ./backup.sh
    fairshare cron add --overlap queue --queue ml --gpus 1 train '@hourly' -- python train.py
    fairshare cron list
    fairshare cron show nightly
    """


@command.command("add", context_settings={"allow_interspersed_args": False})
@click.option(
    "--overlap",
    type=click.Choice(OVERLAPS),
    default="skip",
    help="If the previous application is still running: skip this run, queue it until the"
    " previous one has ended, or replace the previous one. [default: skip]",
)
@click.option(
    "--time-zone",
    metavar="Z",
    default="",
    help="The time zone, such as Europe/Berlin, or UTC. [default: the server's]",
)
@click.option("--replace", is_flag=True, help="Replace an existing job of this name.")
@click.argument("job_name", metavar="NAME")
@click.argument("schedule", metavar="LINE")
@click.argument("command_line", metavar="[--] COMMAND [ARGUMENT]...", nargs=-1)
@with_client
@json_option
def add(
    client: Client,
    job_name: str,
    schedule: str,
    command_line: tuple[str, ...],
    overlap: Overlap,
    time_zone: str,
    replace: bool,
    as_json: bool,
    job: Path | None,
    **options: object,
) -> None:
    """Add a cron job: COMMAND is submitted on the schedule LINE.

    LINE has minute, hour, day of the month, month and day of the week, as in Debian's cron, or is
    @hourly, @daily, @weekly, @monthly or @yearly. Options come before NAME; options of `submit`
    have the same meaning as there. Applications have the tag cron=NAME.
    """
    submission = submit.described(client, without_dashes(command_line, "NAME"), job, options)
    added = client.add_cron_job(
        job_name, schedule, submission, time_zone=time_zone, overlap=overlap, replace=replace
    )
    if as_json:
        print_json(to_builtins(added))
    else:
        click.echo(_next_text(added))


add.params[:0] = [
    one
    for one in submit.command.params
    if isinstance(one, click.Option) and one.name not in NOT_REPEATABLE
]


@command.command("list")
@with_client
@list_options
def list_jobs(client: Client, form: str) -> None:
    """List cron jobs."""
    jobs = client.cron_jobs()
    print_list(
        form,
        jobs,
        CronJob,
        JOB_COLUMNS,
        answer=lambda: jobs,
        nothing="No cron jobs.",
    )


@command.command("show")
@click.argument("name")
@user_option
@with_client
@json_option
def show(client: Client, name: str, user: str | None, as_json: bool) -> None:
    """Show a cron job, and the results of its last 100 runs."""
    job = client.cron_job(name, user=user)
    if as_json:
        print_json(to_builtins(job))
        return
    runs = list_table(RUN_COLUMNS, job.runs) if job.runs else None
    print_all(open_output(), list_table(JOB_COLUMNS, [job]), runs)


OWN = (click.argument("name"), user_option)

for _verb in (
    Verb(
        "pause",
        "Do not submit a cron job until it is resumed.",
        OWN,
        Client.pause_cron_job,
        lambda job, **_: f"{job.name}: paused",
    ),
    Verb(
        "resume",
        "Resume a cron job, from its next scheduled time on.",
        OWN,
        Client.resume_cron_job,
        lambda job, **_: _next_text(job),
    ),
    Verb(
        "delete",
        "Delete a cron job with its history; its applications continue.",
        OWN,
        Client.delete_cron_job,
        lambda job, **_: f"{job.name}: deleted",
    ),
):
    command.add_command(_verb.command())


def _next_text(job: CronJob) -> str:
    return f"{job.name}: next at {moment_text(job.next_ms)} ({job.time_zone})"
