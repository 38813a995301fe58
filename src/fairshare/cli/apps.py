"""The verb `apps`: the applications in a table, the newest first."""

from collections.abc import Sequence

import click

from fairshare.api import routes
from fairshare.cli.cells import NOTHING, amounts_text, bar, duration_text, share_text, short_queue
from fairshare.cli.lists import CSV, JSON, Shown, list_options, list_table, print_list
from fairshare.cli.options import Whole, with_client
from fairshare.cli.placement_notes import note_unknown_queue
from fairshare.cli.tables import (
    Listing,
    Output,
    Styled,
    ascii_only,
    bar_width,
    open_output,
    state_text,
)
from fairshare.client import Application, Client, Progress
from fairshare.client.answers import listed
from fairshare.client.discovery import own_user

STATES = ("PENDING", "RUNNING", "FINISHED", "FAILED", "KILLED", "REJECTED")
CAUSES = ("TIMEOUT", "OUT_OF_MEMORY")
"""What a limit is called that made an application FAILED; lists show it in place of the state."""
ACTIVE = ("PENDING", "RUNNING")

LEAST_FOR_IDS = 80
"""The minimum width of a terminal for full ids."""


@click.command()
@click.option(
    "--state",
    "states",
    multiple=True,
    type=click.Choice((*STATES, *CAUSES), case_sensitive=False),
    help="Only those in this state: PENDING, RUNNING, FINISHED, FAILED, KILLED,"
    " REJECTED, or FAILED by a limit: TIMEOUT, OUT_OF_MEMORY; repeatable. [default:"
    " PENDING and RUNNING]",
)
@click.option("--user", metavar="USER", help="Only those of this user.")
@click.option("--me", is_flag=True, help="Only your own.")
@click.option("--queue", metavar="QUEUE", help="Only those in this leaf queue.")
@click.option("--tag", metavar="TAG", help="Only those with this tag.")
@click.option("--all", "every", is_flag=True, help="Also those that have ended.")
@click.option("--limit", metavar="N", type=Whole(1), help="Only the newest N.")
@with_client
@list_options
def command(
    client: Client,
    states: tuple[str, ...],
    user: str | None,
    me: bool,
    queue: str | None,
    tag: str | None,
    every: bool,
    limit: int | None,
    form: str,
) -> None:
    """List applications, the newest first; by default those that have not ended.

    An application is PENDING if it requests containers and has none. Done is the number of
    successful tasks, of all tasks. Time is how long the application has been running, or ran, or
    has been waiting.
    """
    if every and states:
        raise click.UsageError("--all and --state: give one of both")
    if me and user:
        raise click.UsageError("--me and --user: give one of both")
    if me:
        # The server knows the caller where callers prove who they are, and else believes a name.
        user = client.connection.get("/session")["user"] or own_user()
    asked = asked_states(states or ACTIVE)
    narrow = form != JSON and not every and asked != (states or ACTIVE)
    answer = client.connection.get(
        routes.LIST_APPLICATIONS.path,
        state=None if every else ",".join(states if form == JSON and states else asked),
        user=user,
        queue=queue,
        tag=tag,
        limit=None if narrow else limit,
    )
    console = open_output()
    applications = () if form == JSON else listed(answer, "applications", Application)
    if narrow:
        applications = tuple(one for one in applications if {state_of(one), one.cause} & {*states})[
            :limit
        ]
    if form != JSON and not applications:
        note_unknown_queue(client, queue)
    now_ms = client.cluster().now_ms if applications and form != CSV else 0
    narrowed = every or states or user or queue or tag
    print_list(
        form,
        applications,
        Application,
        columns(console, now_ms),
        answer=lambda: answer,
        nothing="No such application." if narrowed else "Nothing runs or waits.",
    )


def state_of(application: Application) -> str:
    """The state as lists show it: an application that has no container and waits for one is
    PENDING, also if YARN calls it RUNNING, since no limit holds it back."""
    waits = any((application.pending or {}).values())
    if application.state == "RUNNING" and waits and not application.container_count:
        return "PENDING"
    return application.state


def asked_states(states: Sequence[str]) -> tuple[str, ...]:
    """The server's states of which some applications are shown in one of these."""
    return tuple(dict.fromkeys([*states, *(ACTIVE if {*states} & {*ACTIVE} else ())]))


def columns(console: Output, now_ms: int) -> tuple[Shown[Application], ...]:
    """The columns of a list. On a narrow terminal an application has only the number of its id,
    which identifies it too."""

    def id_of(application: Application) -> str:
        return (
            application.id.rpartition("_")[2] if console.width < LEAST_FOR_IDS else application.id
        )

    return (
        Shown("Application", whole=True, of=id_of),
        Shown("User", of=lambda application: application.user),
        Shown("Queue", of=lambda application: short_queue(application.queue)),
        Shown("Name", of=lambda application: application.name),
        Shown(
            "State",
            whole=True,
            of=lambda application: state_text(application.cause or state_of(application)),
        ),
        Shown(
            "Done",
            right=True,
            whole=True,
            of=lambda application: progress_text(application.progress),
        ),
        Shown(
            "Progress",
            extra=True,
            whole=True,
            of=lambda application: _progress(console, application.progress),
        ),
        Shown(
            "Used", whole=True, extra=True, of=lambda application: amounts_text(application.used)
        ),
        Shown("Fair", whole=True, extra=True, of=_fair_share),
        Shown(
            "Time", right=True, whole=True, of=lambda application: elapsed_text(application, now_ms)
        ),
    )


def application_table(console: Output, applications: Sequence[Application], now_ms: int) -> Listing:
    """One row for each application."""
    return list_table(columns(console, now_ms), applications)


def progress_text(progress: Progress | None) -> str:
    """`7/10`; empty for a driver that has added no tasks."""
    if progress is None or progress.total == 0:
        return NOTHING
    return f"{progress.succeeded}/{progress.total}"


def elapsed_text(application: Application, now_ms: int) -> str:
    """How long an application has been running, or ran, or, before its start, has been waiting."""
    began_ms = application.began_ms or application.submitted_ms
    end_ms = now_ms if application.finished_ms is None else application.finished_ms
    return duration_text(end_ms - began_ms)


def progress_bar(console: Output, succeeded: int, total: int) -> Styled:
    """A bar of the fraction of successful tasks."""
    fraction = succeeded / total if total else 0.0
    return Styled(bar(fraction, bar_width(console), ascii_only=ascii_only(console)), style="cyan")


def _progress(console: Output, progress: Progress | None) -> str | Styled:
    """The bar of an application; none for a driver that has added no tasks."""
    if progress is None or not progress.total:
        return NOTHING
    return progress_bar(console, progress.succeeded, progress.total)


def _fair_share(application: Application) -> str:
    return NOTHING if application.over else share_text(application.fair_share)
