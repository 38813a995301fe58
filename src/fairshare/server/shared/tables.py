"""The tables in the database, and all SQL of it.

    fairshare_cluster     one row: whose state this is
    fairshare_leader      one row: the epoch, and which server leads; each write checks it
    fairshare_beats       one row: counts up while that server lives
    fairshare_records     the journal, row by row as in its SQLite file
    fairshare_snapshots   likewise
    fairshare_changes     what changed in side files (accounts, cron jobs ...), as SQL of SQLite
    fairshare_files       small files, payloads, packages, and whole side files of some change
    fairshare_pieces      their content

Only the role that owns the tables can read them: secrets are among the files.
"""

import contextlib
import secrets
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import msgspec

from fairshare.errors import JournalError
from fairshare.runtime.journal.sqlite import checksum
from fairshare.runtime.shared import Row
from fairshare.server.shared.database import OLDEST_VERSION, Connection, DatabaseError, Link, shown
from fairshare.server.shared.leadership import Beat, holder_of

FORM: Final = 1
ANSWER_S: Final = 10.0
CLOCK_MS: Final = 60_000
"""How far the clock of a server may be from that of the database."""

_TABLES: Final = """
CREATE TABLE fairshare_cluster (
    one INT PRIMARY KEY DEFAULT 1 CHECK (one = 1),
    form INT NOT NULL, id TEXT NOT NULL, life TEXT NOT NULL, moved TEXT NOT NULL DEFAULT ''
);
CREATE TABLE fairshare_leader (
    one INT PRIMARY KEY DEFAULT 1 CHECK (one = 1), epoch BIGINT NOT NULL, holder TEXT NOT NULL
);
CREATE TABLE fairshare_beats (
    one INT PRIMARY KEY DEFAULT 1 CHECK (one = 1), epoch BIGINT NOT NULL, count BIGINT NOT NULL
);
CREATE TABLE fairshare_records (
    sequence BIGINT PRIMARY KEY, now_ms BIGINT NOT NULL, body BYTEA NOT NULL,
    checksum BIGINT NOT NULL
);
CREATE TABLE fairshare_snapshots (
    sequence BIGINT PRIMARY KEY, now_ms BIGINT NOT NULL, form INT NOT NULL, body BYTEA NOT NULL,
    checksum BIGINT NOT NULL
);
CREATE TABLE fairshare_changes (
    number BIGINT PRIMARY KEY, part TEXT NOT NULL, body BYTEA NOT NULL, checksum BIGINT NOT NULL
);
CREATE INDEX fairshare_changes_of_part ON fairshare_changes (part, number);
CREATE TABLE fairshare_files (
    name TEXT PRIMARY KEY, number BIGINT NOT NULL, size BIGINT NOT NULL, checksum BIGINT NOT NULL
);
CREATE TABLE fairshare_pieces (
    name TEXT NOT NULL, place INT NOT NULL, body BYTEA NOT NULL, PRIMARY KEY (name, place)
);
INSERT INTO fairshare_leader (epoch, holder) VALUES (0, '');
INSERT INTO fairshare_beats (epoch, count) VALUES (0, 0);
"""
_LEADS: Final = "leads AS MATERIALIZED (SELECT 1 FROM fairshare_leader WHERE epoch = %s FOR SHARE)"
_RECORD: Final = f"""
WITH {_LEADS} INSERT INTO fairshare_records
SELECT r.* FROM unnest(%s::bigint[], %s::bigint[], %s::bytea[], %s::bigint[]) AS r, leads
"""  # noqa: S608 - our own text
_CHANGE: Final = f"""
WITH {_LEADS} INSERT INTO fairshare_changes SELECT %s, %s, %s::bytea, %s FROM leads
"""  # noqa: S608 - our own text
_BEAT: Final = """
UPDATE fairshare_beats SET count = count + 1
WHERE epoch = %s AND set_config('synchronous_commit', 'local', true) <> ''
"""
"""It waits for no standby of the database: while that is away, the same server leads on."""
_CLAIM: Final = """
WITH claimed AS (
    UPDATE fairshare_leader SET epoch = epoch + 1, holder = %s
    WHERE epoch = %s AND (holder = '' OR (SELECT count FROM fairshare_beats) = %s) RETURNING epoch
)
UPDATE fairshare_beats AS b SET epoch = c.epoch, count = b.count + 1 FROM claimed AS c
RETURNING c.epoch
"""
_CHECK: Final = """
SELECT set_config('idle_in_transaction_session_timeout', '3000', true)
FROM fairshare_leader WHERE epoch = %s FOR SHARE
"""


class Cluster(msgspec.Struct, frozen=True):
    """Whose state a database has. `life` identifies the database itself: another one follows when
    it is restored, or another server of its replication takes its place. `moved` says where the
    state went; empty: it is here."""

    form: int
    id: str
    life: str
    moved: str


class FileRow(msgspec.Struct, frozen=True):
    """One file. `number` is that of the last change that it contains."""

    name: str
    number: int
    size: int
    checksum: int


class LeadershipLost(JournalError):
    """Another server leads now."""


def lost(epoch: int, connection: Connection) -> LeadershipLost:
    """The error of a server whose epoch is over."""
    now = beat(connection)
    leader = f"{holder_of(now) or 'no server'} leads"
    return LeadershipLost(
        f"this server led in epoch {epoch}, and {leader} in epoch {now.epoch}: nothing more can be"
        " recorded here. Start it again with --standby"
    )


# Reading.


def cluster(connection: Connection) -> Cluster | None:
    """Whose state is there; None: none is."""
    found = connection.execute("SELECT to_regclass('fairshare_cluster')").fetchone()
    if found[0] is None:
        return None
    row = connection.execute("SELECT form, id, life, moved FROM fairshare_cluster").fetchone()
    return None if row is None else Cluster(*row)


def beat(connection: Connection) -> Beat:
    """Which server leads."""
    row = connection.execute(
        "SELECT l.epoch, l.holder, b.count FROM fairshare_leader AS l, fairshare_beats AS b"
    ).fetchone()
    return Beat(*row)


def life(connection: Connection) -> str:
    """What identifies the database and its history: the system's identifier, and the timeline."""
    row = connection.execute(
        "SELECT system_identifier || '/' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)"
        " FROM pg_control_system()"
    ).fetchone()
    return str(row[0])


def files(connection: Connection) -> list[FileRow]:
    """All files, without their content."""
    rows = connection.execute("SELECT name, number, size, checksum FROM fairshare_files ORDER BY 1")
    return [FileRow(*row) for row in rows]


def content(connection: Connection, name: str) -> Iterator[bytes]:
    """The pieces of a file, one query for each."""
    for place in range(1 << 31):
        row = connection.execute(
            "SELECT body FROM fairshare_pieces WHERE name = %s AND place = %s", (name, place)
        ).fetchone()
        if row is None:
            return
        yield bytes(row[0])


def bounds(connection: Connection) -> tuple[int, int]:
    """The numbers of the first and the last record; 1 and 0 if there is none."""
    row = connection.execute(
        "SELECT min(sequence), max(sequence) FROM fairshare_records"
    ).fetchone()
    return (1, 0) if row[0] is None else (row[0], row[1])


def last_change(connection: Connection) -> int:
    """The largest number that a change or a file has."""
    row = connection.execute(
        "SELECT greatest((SELECT max(number) FROM fairshare_changes),"
        " (SELECT max(number) FROM fairshare_files), 0)"
    ).fetchone()
    return int(row[0])


def rows_after(connection: Connection, after: int, count: int) -> list[Row]:
    """The next rows of records."""
    return [
        (row[0], row[1], bytes(row[2]), row[3])
        for row in connection.execute(
            "SELECT sequence, now_ms, body, checksum FROM fairshare_records"
            " WHERE sequence > %s ORDER BY 1 LIMIT %s",
            (after, count),
        )
    ]


def changes_after(connection: Connection, part: str, after: int, count: int) -> list[Row]:
    """The next changes of a side file: number, body, checksum."""
    return [
        (row[0], bytes(row[1]), row[2])
        for row in connection.execute(
            "SELECT number, body, checksum FROM fairshare_changes"
            " WHERE part = %s AND number > %s ORDER BY 1 LIMIT %s",
            (part, after, count),
        )
    ]


def parts(connection: Connection) -> list[str]:
    """The side files that have changes."""
    rows = connection.execute("SELECT DISTINCT part FROM fairshare_changes ORDER BY 1")
    return [part for (part,) in rows]


def snapshots(connection: Connection) -> list[int]:
    """The numbers of the records behind which there is a snapshot."""
    rows = connection.execute("SELECT sequence FROM fairshare_snapshots ORDER BY 1")
    return [sequence for (sequence,) in rows]


def snapshot(connection: Connection, sequence: int) -> Row | None:
    """The row of a snapshot."""
    row = connection.execute(
        "SELECT sequence, now_ms, form, body, checksum FROM fairshare_snapshots"
        " WHERE sequence = %s",
        (sequence,),
    ).fetchone()
    return None if row is None else (*row[:3], bytes(row[3]), row[4])


def row_checksum(connection: Connection, sequence: int) -> int:
    """The checksum of a record; 0: there is no such record."""
    row = connection.execute(
        "SELECT checksum FROM fairshare_records WHERE sequence = %s", (sequence,)
    ).fetchone()
    return 0 if row is None else int(row[0])


@contextlib.contextmanager
def at_one_moment(connection: Connection) -> Iterator[None]:
    """Read what was there at one moment, whatever is written meanwhile."""
    with connection.transaction():
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        yield


# Writing.


def claim(connection: Connection, seen: Beat, holder: str) -> int | None:
    """Lead, in the epoch that is returned, if nothing has changed since `seen`; None: it has."""
    row = connection.execute(_CLAIM, (holder, seen.epoch, seen.count)).fetchone()
    return None if row is None else int(row[0])


def end_blockers(connection: Connection) -> None:
    """End the sessions that a claim waits for: a former leader that is frozen or cut off in the
    middle of a statement would hold it up for ever."""
    connection.execute(
        "SELECT pg_terminate_backend(blocker) FROM pg_stat_activity AS waiting,"
        " unnest(pg_blocking_pids(waiting.pid)) AS blocker WHERE waiting.usename = current_user"
        " AND waiting.wait_event_type = 'Lock'"
        " AND position('fairshare_leader SET epoch' IN waiting.query) > 0"
    )


def release(connection: Connection, epoch: int) -> None:
    """Lead no longer: the next server need not wait."""
    connection.execute("UPDATE fairshare_leader SET holder = '' WHERE epoch = %s", (epoch,))


def announce(connection: Connection, epoch: int, holder: str) -> None:
    """Change what is known of the server that leads."""
    connection.execute("UPDATE fairshare_leader SET holder = %s WHERE epoch = %s", (holder, epoch))


def count_beat(connection: Connection, epoch: int) -> None:
    """Say that the server of an epoch lives; raises LeadershipLost."""
    if connection.execute(_BEAT, (epoch,)).rowcount != 1:
        raise lost(epoch, connection)


def record(connection: Connection, epoch: int, rows: Sequence[Row]) -> None:
    """Add records, in one round trip; raises LeadershipLost."""
    columns = [list(column) for column in zip(*rows, strict=True)]
    if connection.execute(_RECORD, (epoch, *columns)).rowcount != len(rows):
        raise lost(epoch, connection)


def change(connection: Connection, epoch: int, number: int, part: str, body: bytes) -> None:
    """Add a change of a side file; raises LeadershipLost."""
    row = (epoch, number, part, body, checksum(number, part, body))
    if connection.execute(_CHANGE, row).rowcount != 1:
        raise lost(epoch, connection)


@contextlib.contextmanager
def leading(connection: Connection, epoch: int) -> Iterator[Connection]:
    """A transaction of the server of an epoch; raises LeadershipLost.

    A takeover waits for its end. So the database ends it if this server is frozen or cut off in
    between: nothing but statements may take time there.
    """
    with connection.transaction():
        if connection.execute(_CHECK, (epoch,)).fetchone() is None:
            raise lost(epoch, connection)
        yield connection


def put_snapshot(connection: Connection, row: Row) -> None:
    """Add a snapshot, in the place of an earlier one of the same record."""
    connection.execute("DELETE FROM fairshare_snapshots WHERE sequence = %s", row[:1])
    connection.execute("INSERT INTO fairshare_snapshots VALUES (%s, %s, %s, %s, %s)", row)


def delete_up_to(connection: Connection, end: int) -> None:
    """Delete records, and the snapshots before the last one of them."""
    connection.execute("DELETE FROM fairshare_records WHERE sequence <= %s", (end,))
    connection.execute("DELETE FROM fairshare_snapshots WHERE sequence < %s", (end,))


def put_file(connection: Connection, name: str, number: int, pieces: Iterable[bytes]) -> FileRow:
    """Keep a file, in the place of an earlier one."""
    drop_file(connection, name, number)
    size = total = 0
    place = -1
    for place, piece in enumerate(pieces):
        connection.execute("INSERT INTO fairshare_pieces VALUES (%s, %s, %s)", (name, place, piece))
        size += len(piece)
        total = checksum(total, piece)
    row = FileRow(name, number, size, total)
    connection.execute(
        "INSERT INTO fairshare_files VALUES (%s, %s, %s, %s)", msgspec.structs.astuple(row)
    )
    return row


def drop_file(connection: Connection, name: str, number: int) -> None:
    """Delete a file, unless it was kept again after a number."""
    gone = connection.execute(
        "DELETE FROM fairshare_files WHERE name = %s AND number <= %s", (name, number)
    )
    if gone.rowcount:
        connection.execute("DELETE FROM fairshare_pieces WHERE name = %s", (name,))


def delete_changes(connection: Connection, part: str, up_to: int) -> None:
    """Delete the changes of a side file that its content has."""
    connection.execute(
        "DELETE FROM fairshare_changes WHERE part = %s AND number <= %s", (part, up_to)
    )


def create(connection: Connection) -> Cluster:
    """Make the tables of a new cluster. Two servers may try at once: one of them fails."""
    with connection.transaction():
        connection.execute(_TABLES)
        made = Cluster(FORM, secrets.token_hex(16), life(connection), "")
        connection.execute(
            "INSERT INTO fairshare_cluster (form, id, life) VALUES (%s, %s, %s)",
            (made.form, made.id, made.life),
        )
    return made


def confirm_life(connection: Connection) -> None:
    """Write down that this database is the one whose history counts."""
    connection.execute("UPDATE fairshare_cluster SET life = %s", (life(connection),))


def set_moved(connection: Connection, place: str) -> None:
    """Write down where the state went."""
    connection.execute("UPDATE fairshare_cluster SET moved = %s", (place,))


# Checks.


def check(link: Link, now_ms: int) -> list[str]:
    """What an administrator should know of the database; raises DatabaseError for one with which a
    server cannot work."""
    settings = link.run(_settings, ANSWER_S)
    place = f"the database {shown(link.url)}"
    if int(settings["server_version_num"]) < OLDEST_VERSION:
        raise DatabaseError(
            f"{place} is PostgreSQL {settings['server_version']}: at least"
            f" {OLDEST_VERSION // 10_000} is needed"
        )
    if settings["server_encoding"] != "UTF8":
        raise DatabaseError(
            f"{place} has the encoding {settings['server_encoding']}: make one with UTF8"
            " (createdb --encoding UTF8 --template template0)"
        )
    if settings["transaction_read_only"] == "on":
        raise DatabaseError(
            f"{place} is read-only: name its primary, or all hosts of the replication"
        )
    off_ms = now_ms - int(settings["now_ms"])
    if abs(off_ms) > CLOCK_MS:
        raise DatabaseError(
            f"the clock of this machine is {off_ms / 1_000:+,.0f} s from that of {place}: set both"
            " by NTP, as times in the state come from whichever server leads"
        )
    warnings = []
    for name in ("fsync", "full_page_writes"):
        if settings[name] != "on":
            warnings.append(f"{place} has {name} = off: a power failure can lose what is recorded")
    if (how := settings["synchronous_commit"]) in ("off", "local"):
        where = "its disk" if how == "off" else "the disk of its standby"
        warnings.append(
            f"{place} has synchronous_commit = {how}: what is acknowledged may not be on {where}"
        )
    if not settings["synchronous_standby_names"]:
        warnings.append(
            f"{place} has no synchronous standby (synchronous_standby_names is empty): if its disk"
            " fails, what was acknowledged last may be lost"
        )
    return warnings


def _settings(connection: Connection) -> dict[str, Any]:
    names = (
        *("server_version_num", "server_version", "server_encoding", "transaction_read_only"),
        *("fsync", "full_page_writes", "synchronous_commit", "synchronous_standby_names"),
    )
    columns = ", ".join(f"current_setting('{name}')" for name in names)
    row = connection.execute(
        f"SELECT {columns}, (extract(epoch FROM clock_timestamp()) * 1000)::bigint"  # noqa: S608
    ).fetchone()
    return dict(zip((*names, "now_ms"), row, strict=True))
