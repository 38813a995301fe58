"""Owns which records of a journal may go: those that are too many, or too large together.

Only whole stretches up to a snapshot go, so that what stays can be replayed from there. The last
two snapshots stay, with the records behind them, in case that the last one cannot be read. Deletes
nothing itself.
"""

import sqlite3

AT_ONCE = 20_000
BYTES_AT_ONCE = 64 * 1024**2
"""The most that go in one step: whoever writes waits for it."""

_SIZE = (
    "SELECT (page_count - freelist_count) * page_size"
    " FROM pragma_page_count(), pragma_freelist_count(), pragma_page_size()"
)
_END = (
    "SELECT max(sequence) FROM (SELECT sequence, sum(length(body)) OVER (ORDER BY sequence) AS size"
    " FROM records WHERE sequence <= ?) WHERE size <= ?"
)


def bytes_in_use(connection: sqlite3.Connection) -> int:
    """What a file really holds: room that became free is used again before it grows."""
    return int(connection.execute(_SIZE).fetchone()[0])


def spare_records(
    connection: sqlite3.Connection, snapshots: list[int], records: int, size: int
) -> tuple[int, int] | None:
    """The first and the last record of the next step: None while no more than so many records, and
    no more than `size` bytes, are kept, or no snapshot but the last stands for them. Raises
    sqlite3.Error."""
    row = connection.execute("SELECT min(sequence), max(sequence) FROM records").fetchone()
    first, last = row
    reached = [one for one in snapshots[:-1] if first is not None and one >= first]
    spare = [one for one in reached if one <= last - records]
    if not spare and reached and bytes_in_use(connection) > size:
        spare = reached[:1]
    if not spare:
        return None
    most = min(spare[-1], first + AT_ONCE - 1)
    end = connection.execute(_END, (most, BYTES_AT_ONCE)).fetchone()[0]
    return first, first if end is None else end
