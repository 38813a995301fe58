"""The verb `report`: what users, queues, tags or months used, in hours.

Given the files of simulations, it is the verb `compare`.
"""

from pathlib import Path
from typing import Any

import click

from fairshare.api.accounting import REPORT_GROUPS, ReportRow
from fairshare.cli.cells import short_queue
from fairshare.cli.history import filter_options, percent
from fairshare.cli.lists import Shown, print_list
from fairshare.cli.options import with_client
from fairshare.cli.verbs import verb_of
from fairshare.client import Client

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
            if not any(Path(one).is_file() for one in args):
                raise
        else:
            if not left:
                return left
            if not any(Path(one).is_file() for one in left):
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
    help="Group by this; up to three times. [default: user]",
)
@filter_options
@with_client
def command(client: Client, groups: tuple[str, ...], filters: dict[str, Any], form: str) -> None:
    """Sum the allocated memory, vcores and GPUs and the CPU time of ended containers, and their
    efficiency.

    For a container that started before the period or ended after it, only the part within the
    period counts. Running containers are not included. Months and days are those of the server's
    time zone.

    `fairshare report RUN...`, with files that `fairshare simulate --json` wrote, is the same as
    `fairshare compare RUN...`.
    """
    found = client.report(by=groups or ("user",), **filters)
    groups_shown = [_group_column(number, name) for number, name in enumerate(found.by)]
    print_list(
        form,
        found.rows,
        ReportRow,
        (*groups_shown, *SUMS),
        answer=lambda: found,
        nothing="Nothing ended in this period.",
    )


def _hours(seconds: float) -> str:
    """Hours with two digits.

    >>> _hours(5400)
    '1.50'
    """
    return f"{seconds / 3_600:.2f}"
