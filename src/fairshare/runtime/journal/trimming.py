"""Owns the choice of records that a journal deletes because of their number or total size.

Only whole ranges up to a snapshot are deleted, so that the rest can be replayed from it. The last
two snapshots stay, with the records after them, in case the last one is unreadable. Does not delete
anything itself.
"""

import sqlite3

AT_ONCE = 20_000
BYTES_AT_ONCE = 64 * 1024**2
"""The maximum of bytes deleted in one step, since writers wait for it."""

_SIZE = (
    "SELECT (page_count - freelist_count) * page_size"
    " FROM pragma_page_count(), pragma_freelist_count(), pragma_page_size()"
)
_END = (
    "SELECT max(sequence) FROM (SELECT sequence, sum(length(body)) OVER (ORDER BY sequence) AS size"
    " FROM records WHERE sequence <= ?) WHERE size <= ?"
)


def bytes_in_use(connection: sqlite3.Connection) -> int:
    """The bytes in use in a file, without free pages, which are reused before the file grows."""
    return int(connection.execute(_SIZE).fetchone()[0])


def spare_records(
    connection: sqlite3.Connection, snapshots: list[int], records: int, size: int
) -> tuple[int, int] | None:
    """The first and the last record to delete in the next step.

    None if there are at most `records` records and `size` bytes, or if no snapshot except the last
    one covers the oldest records. Raises sqlite3.Error.
    """
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
