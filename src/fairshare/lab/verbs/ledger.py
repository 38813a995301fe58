"""The verb `ledger`: what queues and users were entitled to, got, lent, borrowed and were owed, by
cause; from a server, or from the history of a state directory.
"""

import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import click
import msgspec

from fairshare.api.ledger import LEDGER_GROUPS, Ledger, LedgerLine
from fairshare.cli.instants import parse_month_ms
from fairshare.cli.ledger import ledger_parts
from fairshare.cli.lists import CSV, JSON, TABLE, print_csv
from fairshare.cli.options import DURATION, checked, print_json
from fairshare.cli.tables import open_output, print_all
from fairshare.cli.verbs import Failure
from fairshare.client import Client
from fairshare.errors import InputError
from fairshare.lab.branch.history import History
from fairshare.lab.branch.ledger import ledger_of
from fairshare.lab.verbs.at import STATE_PATH
from fairshare.server.insight.ledger_file import Asked, answer_from

DEFAULT_MS: Final = 7 * 86_400_000
_LATEST_MS: Final = 2**53


@click.command()
@click.option("--queue", metavar="QUEUE", help="Only this queue, and those below it.")
@click.option("--user", metavar="USER", help="Only what this user had and was owed.")
@click.option("--last", "last_ms", type=DURATION, help="The last part, such as 24h. [default: 7d]")
@click.option(
    "--month",
    metavar="YYYY-MM",
    type=checked(parse_month_ms),
    help="Of this month, such as 2026-11, instead of --last.",
)
@click.option(
    "--by",
    "groups",
    multiple=True,
    type=click.Choice(LEDGER_GROUPS),
    help="Divide by this, label is the partition; repeatable. [default: queue, and user"
    " with --user]",
)
@click.option(
    "--csv",
    "as_csv",
    is_flag=True,
    help="A row for each hour, queue, user, partition and resource type, in units times"
    " milliseconds.",
)
@click.option(
    "--json", "as_json", is_flag=True, help="All numbers, as GET /api/v1/ledger gives them."
)
@click.option(
    "--against",
    metavar="DIR",
    type=STATE_PATH,
    help="Of this state directory, without a server: its ledger, and what its journal has beyond.",
)
@click.option("--url", metavar="URL", help="The server's URL, instead of the one found.")
@click.pass_context
def command(
    context: click.Context,
    queue: str | None,
    user: str | None,
    last_ms: int | None,
    month: tuple[int, int] | None,
    groups: tuple[str, ...],
    as_csv: bool,
    as_json: bool,
    against: Path | None,
    url: str | None,
) -> None:
    """Sum up what queues were entitled to, got, lent and borrowed, and what they were owed by which
    cause.

    Of each resource type: entitled = delivered - borrowed + lent + idle + owed. What a queue does
    not ask for is lent if others had it, else idle; only what it asked for and did not get within
    its share is owed, by exactly one cause.
    """
    if as_csv and as_json:
        raise click.UsageError("--csv and --json: choose one of them")
    if last_ms is not None and month is not None:
        raise click.UsageError("--last and --month: choose one of them")
    if against is not None and url is not None:
        raise click.UsageError("--against and --url: the history, or a server")
    by = groups or (LEDGER_GROUPS if as_csv else ("queue", "user") if user else ("queue",))

    def period(now_ms: int) -> tuple[int, int]:
        return month or (max(0, now_ms - (last_ms or DEFAULT_MS)), _LATEST_MS)

    if against is not None:
        ledger = _from_history(against, queue, user, by, period)
    else:
        opened: Callable[[str | None], Client] = context.find_root().obj or Client
        with opened(url) as client:
            since_ms, until_ms = period(time.time_ns() // 1_000_000)
            ledger = client.ledger(
                by=by, queue=queue, user=user, since_ms=since_ms, until_ms=until_ms
            )
    form = CSV if as_csv else JSON if as_json else TABLE
    if form == JSON:
        print_json(msgspec.to_builtins(ledger))
    elif form == CSV:
        print_csv(ledger.lines, LedgerLine)
    else:
        print_all(open_output(), *ledger_parts(ledger))


def _from_history(
    directory: Path,
    queue: str | None,
    user: str | None,
    by: tuple[str, ...],
    period: Callable[[int], tuple[int, int]],
) -> Ledger:
    with History.open(directory) as history:
        try:
            connection = ledger_of(history, directory)
        except sqlite3.Error as error:
            raise Failure(f"the ledger of {directory} cannot be read: {error}") from error
        since_ms, until_ms = period(history.journal.last_instant_ms())
    asked = Asked(since_ms=since_ms, until_ms=until_ms, queue=queue, user=user, by=by)
    try:
        return answer_from(connection, asked, ())
    except InputError as error:
        raise Failure(str(error)) from error
    finally:
        connection.close()
