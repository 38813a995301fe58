"""The verb `ledger`: what queues and users were entitled to, got, lent, borrowed and were owed, by
cause; from a server, or from the history of a state directory.
"""

import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import click
import msgspec

from fairshare.api.ledger import LEDGER_GROUPS, Ledger, LedgerLine
from fairshare.cli.cells import instant_text, short_queue
from fairshare.cli.instants import moment_text, parse_month_ms
from fairshare.cli.lists import CSV, JSON, TABLE, Shown, list_table, print_csv
from fairshare.cli.options import DURATION, checked, print_json
from fairshare.cli.tables import Column, Listing, Part, Styled, open_output, print_all
from fairshare.cli.verbs import Failure
from fairshare.client import Client
from fairshare.core.model.resources import MEMORY, VCORES
from fairshare.documents.gpus import GPU
from fairshare.errors import InputError
from fairshare.lab.branch.history import History
from fairshare.lab.branch.ledger import ledger_of
from fairshare.server.insight.ledger_file import Asked, answer_from

DEFAULT_MS: Final = 7 * 86_400_000
_LATEST_MS: Final = 2**53


@click.command()
@click.option("--queue", metavar="QUEUE", help="Only this queue, and those below it.")
@click.option("--user", metavar="USER", help="Only what this user had and was owed.")
@click.option("--last", "last_ms", type=DURATION, help="The last part, such as 24h. [default: 7d]")
@click.option("--month", metavar="YYYY-MM", type=checked(parse_month_ms), help="This month.")
@click.option(
    "--by",
    "groups",
    multiple=True,
    type=click.Choice(LEDGER_GROUPS),
    help="Divide by this; repeatable. [default: queue, and user with --user]",
)
@click.option("--csv", "as_csv", is_flag=True, help="A row for each hour, queue, user and type.")
@click.option("--json", "as_json", is_flag=True, help="All numbers, as the server gives them.")
@click.option(
    "--against",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Of this state directory, without a server: what its journal keeps.",
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
    its share is owed, by exactly one cause. Example: fairshare ledger --queue prod --last 24h
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
        found = _from_history(against, queue, user, by, period)
    else:
        opened: Callable[[str | None], Client] = context.find_root().obj or Client
        with opened(url) as client:
            since_ms, until_ms = period(time.time_ns() // 1_000_000)
            found = client.ledger(
                by=by, queue=queue, user=user, since_ms=since_ms, until_ms=until_ms
            )
    form = CSV if as_csv else JSON if as_json else TABLE
    if form == JSON:
        print_json(msgspec.to_builtins(found))
    elif form == CSV:
        print_csv(found.lines, LedgerLine)
    else:
        _print(found)


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


# The table.

_UNITS: Final = {MEMORY: (1_024, "GB"), VCORES: (1, "vcore"), GPU: (1, "GPU")}
_SPANS: Final = ((3_600_000, "hours"), (60_000, "minutes"), (1_000, "seconds"))


def _print(found: Ledger) -> None:
    begin_ms = max(found.since_ms - found.since_ms % 3_600_000, found.begin_ms)
    end_ms = min(found.until_ms, found.complete_ms)
    parts: list[Part] = [
        Styled(f"From {instant_text(begin_ms)} to {instant_text(end_ms)}.", style="dim")
    ]
    for resource in dict.fromkeys(line.resource for line in found.lines):
        lines = [line for line in found.lines if line.resource == resource]
        parts += _of_type(found, resource, lines)
    if not found.lines:
        parts.append(Styled("Nothing was delivered or owed in this period."))
    if found.more:
        parts.append(Styled("There are further lines: choose a queue, or a shorter period."))
    print_all(open_output(), *parts)


def _of_type(found: Ledger, resource: str, lines: Sequence[LedgerLine]) -> list[Part]:
    """The table of one type, and below it the debts by cause."""
    per, unit = _UNITS.get(resource, (1, resource))
    whole = _sum(resource, lines)
    span_ms, span = next(
        (one for one in _SPANS if whole.entitled + whole.delivered >= per * one[0]), _SPANS[-1]
    )

    def hours(amount: int) -> str:
        return f"{amount / per / span_ms:,.2f}"

    def part(amount: int, whole: int) -> str:
        return f"{amount / whole:.1%}" if whole else "-"

    groups: dict[str, Shown[LedgerLine]] = {
        "hour": Shown("Hour", whole=True, of=lambda one: moment_text(one.hour_ms)),
        "queue": Shown("Queue", of=lambda one: short_queue(one.queue or "")),
        "user": Shown("User", of=lambda one: "(not asked for)" if one.user == "" else one.user),
        "label": Shown("Partition", of=lambda one: "(default)" if one.label == "" else one.label),
    }
    columns = [column for name, column in groups.items() if name in found.by]

    def amount(title: str, of: Callable[[LedgerLine], int]) -> Shown[LedgerLine]:
        return Shown(title, right=True, whole=True, of=lambda one: hours(of(one)))

    columns += [
        amount("Entitled", lambda one: one.entitled),
        amount("Delivered", lambda one: one.delivered),
        amount("Borrowed", lambda one: one.borrowed),
        amount("Lent", lambda one: one.lent),
        amount("Idle", lambda one: one.idle),
        amount("Owed", lambda one: sum(one.owed.values())),
        Shown(
            "Of its share",
            right=True,
            whole=True,
            of=lambda one: part(sum(one.owed.values()), one.entitled),
        ),
        Shown("Most by", of=lambda one: next(iter(one.owed), None)),
    ]
    rows = list_table(columns, lines).rows
    if len(lines) > 1:
        (last,) = list_table(columns, [whole]).rows
        rows.append([Styled("all"), *last[1:]] if found.by else last)
    parts: list[Part] = [Styled(f"{unit} {span}", style="bold"), Listing(columns, rows)]
    debts = sum(whole.owed.values())
    if debts:
        causes = (
            Column("Owed by"),
            Column("Amount", right=True, whole=True),
            Column("Part", right=True, whole=True),
            Column("Which is"),
        )
        cells = [
            (cause, hours(amount), part(amount, debts), found.causes.get(cause, ""))
            for cause, amount in whole.owed.items()
        ]
        parts.append(Listing(causes, cells))
    return parts


def _sum(resource: str, lines: Sequence[LedgerLine]) -> LedgerLine:
    """All lines together."""
    owed = Counter[str]()
    for line in lines:
        owed.update(line.owed)
    return LedgerLine(
        resource=resource,
        entitled=sum(line.entitled for line in lines),
        delivered=sum(line.delivered for line in lines),
        borrowed=sum(line.borrowed for line in lines),
        lent=sum(line.lent for line in lines),
        idle=sum(line.idle for line in lines),
        owed=dict(owed.most_common()),
    )
