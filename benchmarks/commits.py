"""How long a commit of the journal takes: in SQLite alone, and shared in PostgreSQL.

    python -m benchmarks.commits [--commits N] [--rows N]

Starts a PostgreSQL server of its own with its defaults (fsync, no replication), and has the real
classes commit. If SQLAlchemy is installed, the same rows are committed with its Core in a
transaction that checks the epoch, for comparison. Times are medians, of the wall and of this
process's processor; the machine's disk decides about the former.
"""

import argparse
import contextlib
import importlib.util
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.postgres import Postgres, programs

from fairshare.core.model.inputs import NodeLost
from fairshare.core.record import Record
from fairshare.runtime.journal.sqlite import SqliteJournal
from fairshare.server.shared.takeover import Candidate


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--commits", type=int, default=1_000)
    parser.add_argument("--rows", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="fairshare-commits-") as folder, database() as url:
        place = Path(folder)
        print("| commits of | wall ms | processor ms |\n| --- | --- | --- |")
        (place / "alone").mkdir()
        with _journal(place / "alone") as commit:
            _measure("SQLite alone", commit, options)
        with leading(place / "shared", url), _journal(place / "shared") as commit:
            _measure("PostgreSQL, and the copy in SQLite", commit, options)
        if importlib.util.find_spec("sqlalchemy"):
            _measure("SQLAlchemy Core on psycopg, without a copy", _core(url), options)


@contextlib.contextmanager
def database() -> Iterator[str]:
    """The URL of a new database, whose server ends with the block."""
    where = programs()
    if where is None:
        raise SystemExit("PostgreSQL is not installed: there is no initdb")
    with tempfile.TemporaryDirectory(prefix="fairshare-postgres-") as folder:
        postgres = Postgres(Path(folder), where)
        try:
            yield postgres.url()
        finally:
            postgres.stop()


@contextlib.contextmanager
def leading(directory: Path, url: str | None) -> Iterator[None]:
    """Lead with the state of a directory, which is in a database if there is a URL."""
    if url is None:
        yield
        return
    with contextlib.closing(Candidate.open(url, directory, 0)) as candidate:
        beat = candidate.look()
        assert beat is not None
        state = candidate.lead(beat)
    assert state is not None
    with contextlib.closing(state):
        yield


Commit = Callable[[list[Record]], None]


def _measure(what: str, commit: Commit, options: argparse.Namespace) -> None:
    walls, processors = [], []
    sequence = 0
    for _ in range(options.commits):
        records = []
        for _ in range(options.rows):
            sequence += 1
            records.append(Record(sequence, sequence, NodeLost(f"node-{sequence}"), ()))
        wall_s, processor_s = time.perf_counter(), time.process_time()
        commit(records)
        walls.append(time.perf_counter() - wall_s)
        processors.append(time.process_time() - processor_s)
    wall_ms, processor_ms = (1_000 * statistics.median(one) for one in (walls, processors))
    print(f"| {options.rows} records: {what} | {wall_ms:.2f} | {processor_ms:.2f} |")


def _commits(journal: SqliteJournal) -> Commit:
    def commit(records: list[Record]) -> None:
        for record in records:
            journal.append(record)
        journal.commit()

    return commit


@contextlib.contextmanager
def _journal(directory: Path) -> Iterator[Commit]:
    with contextlib.closing(SqliteJournal(directory)) as journal:
        yield _commits(journal)


def _core(url: str) -> Commit:
    import msgspec
    import sqlalchemy as sql

    engine = sql.create_engine(url.replace("postgresql:", "postgresql+psycopg:"))
    metadata = sql.MetaData()
    table = sql.Table(
        "core_records",
        metadata,
        sql.Column("sequence", sql.BigInteger, primary_key=True),
        sql.Column("now_ms", sql.BigInteger),
        sql.Column("body", sql.LargeBinary),
        sql.Column("checksum", sql.BigInteger),
    )
    leader = sql.Table("fairshare_leader", metadata, sql.Column("epoch", sql.BigInteger))
    metadata.create_all(engine)
    encoder = msgspec.msgpack.Encoder()
    check = sql.select(leader.c.epoch).with_for_update(read=True)

    def commit(records: list[Record]) -> None:
        with engine.begin() as connection:
            connection.execute(check).fetchone()
            connection.execute(
                sql.insert(table),
                [
                    {
                        "sequence": record.sequence,
                        "now_ms": record.now_ms,
                        "body": encoder.encode(record),
                        "checksum": 0,
                    }
                    for record in records
                ],
            )

    return commit


if __name__ == "__main__":
    main()
