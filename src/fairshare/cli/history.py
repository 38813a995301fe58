"""The verbs `history` and `report`: applications and containers that ended, of months, and what
users, queues, tags or months used, in hours.

Both have the same options to choose ends. Given the files of simulations, `report` is the verb
`compare`.
"""

import functools
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from fairshare.api.accounting import (
    REPORT_GROUPS,
    PastApplication,
    PastContainer,
    Report,
    ReportRow,
)
from fairshare.api.fairness import Budget
from fairshare.cli.apps import CAUSES, STATES
from fairshare.cli.cells import duration_text, memory_text, peak_text, short_queue, task_text
from fairshare.cli.exit_codes import shown_code
from fairshare.cli.instants import moment_text, parse_moment_ms, parse_month_ms
from fairshare.cli.lists import Shown, list_options, list_table, print_list
from fairshare.cli.options import Whole, checked, with_client
from fairshare.cli.tables import Listing, state_text
from fairshare.cli.verbs import verb_of
from fairshare.client import Client

Verb = Callable[..., None]

ENDED = (*(state for state in STATES if state not in ("PENDING", "RUNNING")), *CAUSES)


def filter_options(verb: Verb) -> Verb:
    """Add the options that choose ends; the verb gets them as `filters`."""

    @click.option("--user", metavar="USER", help="Only those of this user.")
    @click.option("--queue", metavar="QUEUE", help="Only those of this queue and those below it.")
    @click.option("--tag", metavar="TAG", help="Only those with this tag.")
    @click.option("--name", metavar="NAME", help="Only those with this name.")
    @click.option(
        "--state",
        "states",
        multiple=True,
        type=click.Choice(ENDED, case_sensitive=False),
        help="Only those that ended like this: FINISHED, FAILED, KILLED, REJECTED, or FAILED"
        " by a limit: TIMEOUT, OUT_OF_MEMORY; repeatable.",
    )
    @click.option(
        "--since",
        metavar="WHEN",
        type=checked(_moment),
        help="Ended at this time or later: 2026-11-23, '2026-11-23 14:30', today, yesterday,"
        " or an age: 7d.",
    )
    @click.option(
        "--until",
        metavar="WHEN",
        type=checked(_moment),
        help="Ended before this time, written as for --since.",
    )
    @click.option(
        "--month",
        metavar="YYYY-MM",
        type=checked(parse_month_ms),
        help="Ended in this month, instead of --since and --until.",
    )
    @list_options
    @functools.wraps(verb)
    def filtered(
        *arguments: object,
        user: str | None,
        queue: str | None,
        tag: str | None,
        name: str | None,
        states: tuple[str, ...],
        since: int | None,
        until: int | None,
        month: tuple[int, int] | None,
        **options: object,
    ) -> None:
        if month is not None:
            if since is not None or until is not None:
                raise click.UsageError("--month, and --since with --until: give one of both")
            since, until = month
        if since is not None and until is not None and until <= since:
            raise click.UsageError("--until is not after --since: there is nothing in between")
        filters = {
            "user": user,
            "queue": queue,
            "tag": tag,
            "name": name,
            "state": ",".join(states) or None,
            "since_ms": since,
            "until_ms": until,
        }
        verb(*arguments, filters=filters, **options)

    return filtered


def _cpu_time(one: PastContainer | PastApplication) -> str:
    return duration_text(round(one.cpu_seconds * 1_000))


def percent(ratio: float | None) -> str:
    """A ratio as a percentage; a dash if there is none.

    >>> percent(0.256), percent(None)
    ('26%', '-')
    """
    return "-" if ratio is None else f"{ratio:.0%}"


def _moment(text: str) -> int:
    return parse_moment_ms(text, datetime.now().astimezone())


DEFAULT_LIMIT = 100
MOST = 100_000

APPLICATION_COLUMNS: tuple[Shown[PastApplication], ...] = (
    Shown("Application", whole=True, of=lambda one: one.id),
    Shown("User", of=lambda one: one.user),
    Shown("Queue", of=lambda one: short_queue(one.queue)),
    Shown("Name", of=lambda one: one.name),
    Shown("State", whole=True, of=lambda one: state_text(one.cause or one.state)),
    Shown("Exit", right=True, whole=True, of=lambda one: shown_code(one.exit_code)),
    Shown("Ended", whole=True, of=lambda one: moment_text(one.ended_ms)),
    Shown(
        "Waited",
        right=True,
        whole=True,
        of=lambda one: duration_text((one.started_ms or one.ended_ms) - one.submitted_ms),
    ),
    Shown(
        "Time",
        right=True,
        whole=True,
        of=lambda one: duration_text(one.ended_ms - (one.started_ms or one.ended_ms)),
    ),
    Shown("Peak", right=True, whole=True, of=lambda one: peak_text(one.peak_memory_mb)),
    Shown("CPU", right=True, whole=True, extra=True, of=_cpu_time),
    Shown(
        "CPU eff.", right=True, whole=True, extra=True, of=lambda one: percent(one.cpu_efficiency)
    ),
    Shown(
        "Mem. eff.",
        right=True,
        whole=True,
        extra=True,
        of=lambda one: percent(one.memory_efficiency),
    ),
    Shown("Nodes", extra=True, of=lambda one: ", ".join(one.nodes)),
)

CONTAINER_COLUMNS: tuple[Shown[PastContainer], ...] = (
    Shown("Container", whole=True, of=lambda one: one.id),
    Shown("User", of=lambda one: one.user),
    Shown("Task", of=task_text),
    Shown("Node", of=lambda one: one.node),
    Shown("Outcome", whole=True, of=lambda one: one.outcome),
    Shown("Exit", right=True, whole=True, of=lambda one: shown_code(one.exit_code)),
    Shown("Ended", whole=True, of=lambda one: moment_text(one.ended_ms)),
    Shown(
        "Time",
        right=True,
        whole=True,
        of=lambda one: duration_text(one.ended_ms - (one.started_ms or one.allocated_ms)),
    ),
    Shown("Memory", right=True, whole=True, extra=True, of=lambda one: memory_text(one.memory_mb)),
    Shown("Peak", right=True, whole=True, of=lambda one: peak_text(one.peak_memory_mb)),
    Shown("CPU", right=True, whole=True, extra=True, of=_cpu_time),
)


@click.command()
@click.argument("application", metavar="[APP]", required=False)
@click.option("--containers", is_flag=True, help="List containers instead of applications.")
@click.option(
    "--limit",
    metavar="N",
    type=Whole(1, MOST),
    help="Only the latest N. [default: 100; all with --since or APP]",
)
@filter_options
@with_client
def command(
    client: Client,
    application: str | None,
    containers: bool,
    limit: int | None,
    filters: dict[str, Any],
    form: str,
) -> None:
    """List ended applications of the last months, latest first, including those that `apps` no
    longer knows.

    Waited is from the submission to the start of the first container, Time from there to the end.
    Efficiency is CPU time divided by the time of the allocated
    vcores, and peak memory divided by the allocated memory. WHEN is a date (2026-11-23), a time,
    yesterday, or an age (7d).
    """
    narrowed = filters["since_ms"] is not None or application is not None
    chosen = limit or (MOST if narrowed else DEFAULT_LIMIT)
    if containers:
        page = client.past_containers(application=application, limit=chosen, **filters)
        print_list(
            form,
            page.containers,
            PastContainer,
            CONTAINER_COLUMNS,
            answer=lambda: page,
            nothing="No such container.",
        )
        more = page.more
    else:
        ended = client.history(application=application, limit=chosen, **filters)
        print_list(
            form,
            ended.applications,
            PastApplication,
            APPLICATION_COLUMNS,
            answer=lambda: ended,
            nothing="No such application.",
        )
        more = ended.more
    if more and limit is None:
        click.echo(f"These are the last {chosen}: --limit N or --since shows more.", err=True)


_TITLES = {"user": "User", "queue": "Queue", "tag": "Tag", "name": "Name", "state": "State"}
SUMS: tuple[Shown[ReportRow], ...] = (
    Shown("Apps", right=True, whole=True, of=lambda row: row.applications),
    Shown("Containers", right=True, whole=True, of=lambda row: row.containers),
    Shown("Failed", right=True, whole=True, extra=True, of=lambda row: row.failed),
    Shown("GB hours", right=True, whole=True, of=lambda row: _hours(row.memory_mb_seconds / 1_024)),
    Shown("Vcore hours", right=True, whole=True, of=lambda row: _hours(row.vcore_seconds)),
    Shown("GPU hours", right=True, whole=True, of=lambda row: _hours(row.gpu_seconds)),
    Shown("CPU hours", right=True, whole=True, of=lambda row: _hours(row.cpu_seconds)),
    Shown("CPU eff.", right=True, whole=True, of=lambda row: percent(row.cpu_efficiency)),
    Shown("Mem. eff.", right=True, whole=True, of=lambda row: percent(row.memory_efficiency)),
)


def _group_column(number: int, name: str) -> Shown[ReportRow]:
    """The column of what rows are grouped by."""

    def value(row: ReportRow) -> str | None:
        return short_queue(row.group[number]) if name == "queue" else row.group[number] or None

    return Shown(_TITLES.get(name, name.title()), of=value)


def report_columns(usage: Report) -> tuple[Shown[ReportRow], ...]:
    """The columns of a report: what it is grouped by, and the sums."""
    return (*(_group_column(number, name) for number, name in enumerate(usage.by)), *SUMS)


class _Report(click.Command):
    """The verb, which leaves the reports of simulations to `compare`."""

    _RUNS = "fairshare.report.runs"

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments; what are none of this verb, with files among them, are those of
        `compare`. The value of an option may be the name of a file, too."""
        ctx.allow_extra_args = True
        try:
            left = super().parse_args(ctx, list(args))
        except click.UsageError:
            if not any(Path(argument).is_file() for argument in args):
                raise
        else:
            if not left:
                return left
            if not any(Path(argument).is_file() for argument in left):
                words = (
                    f"there is no file {left[0]}: RUN is one that `fairshare simulate --json` wrote"
                )
                raise click.UsageError(words, ctx)
        ctx.meta[self._RUNS] = args
        return []

    def invoke(self, ctx: click.Context) -> Any:
        """Run the verb, or `compare`."""
        runs = ctx.meta.get(self._RUNS)
        if runs is None:
            return super().invoke(ctx)
        compare = verb_of("compare")
        with compare.make_context("report", list(runs), parent=ctx.parent) as context:
            return compare.invoke(context)


@click.command(cls=_Report)
@click.option(
    "--by",
    "groups",
    multiple=True,
    type=click.Choice(REPORT_GROUPS),
    help="Group by this, months and days in the server's time zone; up to three times."
    " [default: user]",
)
@filter_options
@with_client
def report(client: Client, groups: tuple[str, ...], filters: dict[str, Any], form: str) -> None:
    """Sum the allocated memory, vcores and GPUs and the CPU time of ended containers, and their
    efficiency.

    For a container that started before the period or ended after it, only the part within the
    period counts. Running containers are not included. Below, the budgets of this month, for which
    running containers count, too. Months and days are those of the server's
    time zone.

    `fairshare report RUN...`, with files that `fairshare simulate --json` wrote, is the same as
    `fairshare compare RUN...`.
    """
    usage = client.report(by=groups or ("user",), **filters)
    print_list(
        form,
        usage.rows,
        ReportRow,
        report_columns(usage),
        answer=lambda: usage,
        nothing="Nothing ended in this period.",
        more=budget_table(usage.budgets),
    )


def budget_table(budgets: Sequence[Budget]) -> Listing | None:
    """What is left of the budgets of this month; None: there are none."""
    if not budgets:
        return None
    columns: tuple[Shown[Budget], ...] = (
        Shown("Budget", of=lambda budget: budget.name),
        Shown("Queue", of=lambda budget: budget.queue or None),
        Shown("User", of=lambda budget: budget.user or None),
        Shown("Resource", of=lambda budget: budget.resource),
        Shown("Hours", right=True, whole=True, of=lambda budget: f"{budget.hours:,.2f}"),
        Shown("Used", right=True, whole=True, of=lambda budget: f"{budget.used_hours:,.2f}"),
        Shown("Left", right=True, whole=True, of=lambda budget: f"{budget.left_hours:,.2f}"),
        Shown("When used up", of=lambda budget: budget.when_used_up),
    )
    return list_table(columns, budgets)


def _hours(seconds: float) -> str:
    """Hours with two digits.

    >>> _hours(5400)
    '1.50'
    """
    return f"{seconds / 3_600:.2f}"
