"""The tables of the ledger, for the command line and notebooks."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final

from fairshare.api.ledger import Ledger, LedgerLine
from fairshare.cli.cells import instant_text, short_queue
from fairshare.cli.instants import moment_text
from fairshare.cli.lists import Shown, list_table
from fairshare.cli.tables import Column, Listing, Part, Styled
from fairshare.core.model.resources import MEMORY, VCORES
from fairshare.documents.gpus import GPU

_UNITS: Final = {MEMORY: (1_024, "GB"), VCORES: (1, "vcore"), GPU: (1, "GPU")}
_SPANS: Final = ((3_600_000, "hours"), (60_000, "minutes"), (1_000, "seconds"))


def ledger_parts(ledger: Ledger) -> list[Part]:
    """A table for each resource type, and below it what was owed by cause."""
    begin_ms = max(ledger.since_ms - ledger.since_ms % 3_600_000, ledger.begin_ms)
    end_ms = min(ledger.until_ms, ledger.complete_ms)
    parts: list[Part] = [
        Styled(f"From {instant_text(begin_ms)} to {instant_text(end_ms)}.", style="dim")
    ]
    if ledger.since_ms < ledger.begin_ms:
        parts.append(Styled("Nothing is known of the time before: the ledger begins then."))
    parts += [
        Styled(
            f"Nothing is known from {instant_text(gap.since_ms)} to {instant_text(gap.until_ms)}:"
            " the journal no longer had that time when the ledger was continued."
        )
        for gap in ledger.gaps
    ]
    for resource in dict.fromkeys(line.resource for line in ledger.lines):
        lines = [line for line in ledger.lines if line.resource == resource]
        parts += _of_type(ledger, resource, lines)
    if not ledger.lines:
        parts.append(Styled("Nothing was delivered or owed in this period."))
    if ledger.more:
        parts.append(Styled("There are further lines: choose a queue, or a shorter period."))
    return parts


def _of_type(found: Ledger, resource: str, lines: Sequence[LedgerLine]) -> list[Part]:
    """The table of one type, and below it the debts by cause."""
    per, unit = _UNITS.get(resource, (1, resource))
    whole = _sum(resource, lines)
    span_ms, span = next(
        (line for line in _SPANS if whole.entitled + whole.delivered >= per * line[0]), _SPANS[-1]
    )

    def hours(amount: int) -> str:
        return f"{amount / per / span_ms:,.2f}"

    def part(amount: int, whole: int) -> str:
        return f"{amount / whole:.1%}" if whole else "-"

    groups: dict[str, Shown[LedgerLine]] = {
        "hour": Shown("Hour", whole=True, of=lambda line: moment_text(line.hour_ms)),
        "queue": Shown("Queue", of=lambda line: short_queue(line.queue or "")),
        "user": Shown("User", of=lambda line: "(not asked for)" if line.user == "" else line.user),
        "label": Shown(
            "Partition", of=lambda line: "(default)" if line.label == "" else line.label
        ),
    }
    columns = [column for name, column in groups.items() if name in found.by]

    def amount(title: str, of: Callable[[LedgerLine], int]) -> Shown[LedgerLine]:
        return Shown(title, right=True, whole=True, of=lambda line: hours(of(line)))

    columns += [
        amount("Entitled", lambda line: line.entitled),
        amount("Delivered", lambda line: line.delivered),
        amount("Borrowed", lambda line: line.borrowed),
        amount("Lent", lambda line: line.lent),
        amount("Idle", lambda line: line.idle),
        amount("Owed", lambda line: sum(line.owed.values())),
        Shown(
            "Of its share",
            right=True,
            whole=True,
            of=lambda line: part(sum(line.owed.values()), line.entitled),
        ),
        Shown("Most by", of=lambda line: next(iter(line.owed), None)),
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
