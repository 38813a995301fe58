"""Owns the verb `report`: what users, queues, tags or months used, in hours.

Given the files of simulations, it is the verb `compare`.
"""

from pathlib import Path
from typing import Any

import click
from rich.text import Text

from fairshare.api.accounting import REPORT_GROUPS, ReportRow
from fairshare.cli.cells import short_queue
from fairshare.cli.history import filter_options, percent
from fairshare.cli.lists import print_list
from fairshare.cli.options import with_client
from fairshare.cli.tables import Column
from fairshare.client import Client

_TITLES = {"user": "User", "queue": "Queue", "tag": "Tag", "name": "Name", "state": "State"}
SUMS = (
    Column("Apps", right=True, whole=True),
    Column("Containers", right=True, whole=True),
    Column("Failed", right=True, whole=True, extra=True),
    Column("GB hours", right=True, whole=True),
    Column("Vcore hours", right=True, whole=True),
    Column("GPU hours", right=True, whole=True),
    Column("CPU hours", right=True, whole=True),
    Column("CPU eff.", right=True, whole=True),
    Column("Mem. eff.", right=True, whole=True),
)


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
        # Imported lazily: it needs modules that the reports of a server do not.
        from fairshare.cli.compare import command as compare

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
    columns = (*(Column(_TITLES.get(name, name.title())) for name in found.by), *SUMS)

    def cells(row: ReportRow) -> list[str | Text]:
        named = zip(found.by, row.group, strict=True)
        return [
            *(short_queue(value) if name == "queue" else value or "-" for name, value in named),
            str(row.applications),
            str(row.containers),
            str(row.failed),
            _hours(row.memory_mb_seconds / 1_024),
            _hours(row.vcore_seconds),
            _hours(row.gpu_seconds),
            _hours(row.cpu_seconds),
            percent(row.cpu_efficiency),
            percent(row.memory_efficiency),
        ]

    print_list(
        form,
        found.rows,
        ReportRow,
        columns,
        cells,
        answer=lambda: found,
        nothing="Nothing ended in this period.",
    )


def _hours(seconds: float) -> str:
    """Hours with two digits.

    >>> _hours(5400)
    '1.50'
    """
    return f"{seconds / 3_600:.2f}"
