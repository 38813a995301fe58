"""The file of cron jobs, STATE/cron.sqlite3: the jobs and the outcomes of their last runs, with the
record of each. It is made with the first job.
"""

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Literal

import msgspec

from fairshare.api.cron import Outcome, Overlap
from fairshare.api.work import Submission
from fairshare.errors import FairshareError
from fairshare.server.side_file import SideFile, SideFileError
from fairshare.wording import cause

TAG: Final = "cron="
"""Begins the tag of the applications of a cron job."""

Key = tuple[str, str]


class Job(msgspec.Struct, kw_only=True, frozen=True):
    """A cron job.

    `next_ms` is when it is due next; None: never again. `last` is the application that was
    submitted last, 0 for none, of the cluster `epoch_ms`. `queued_run` is the run that waits until
    that one has ended, or that an earlier server did not get to; 0 for none.
    """

    user: str
    name: str
    schedule: str
    time_zone: str
    overlap: Overlap
    submission: Submission
    created_ms: int
    paused: bool = False
    next_ms: int | None = None
    epoch_ms: int = 0
    last: int = 0
    queued_run: int = 0

    @property
    def key(self) -> Key:
        """Its identity."""
        return self.user, self.name

    @property
    def tag(self) -> str:
        """The tag of its applications."""
        return f"{TAG}{self.name}"


class Run(msgspec.Struct, kw_only=True):
    """One time that a cron job was due, and its outcome. `application` is empty if none was
    submitted. Applications from the number `first_application` on may be it."""

    due_ms: int
    outcome: Outcome | Literal["submitting"]
    first_application: int = 0
    application: str = ""
    reason: str = ""
    number: int = 0


FILE: Final = "cron.sqlite3"
FORMAT: Final = 1
KEPT_RUNS: Final = 100
_TABLES: Final = """
CREATE TABLE jobs (user TEXT, name TEXT, body BLOB, PRIMARY KEY (user, name)) WITHOUT ROWID;
CREATE TABLE runs (number INTEGER PRIMARY KEY AUTOINCREMENT, user TEXT, name TEXT, body BLOB);
CREATE INDEX runs_of_job ON runs (user, name, number);
"""


class CronError(FairshareError):
    """The file of cron jobs cannot be written or read."""


class CronStore(SideFile):
    """The file, open for writing; threads use it one after the other. All raise CronError."""

    def __init__(self, directory: Path) -> None:
        try:
            super().__init__(directory / FILE, FORMAT, _TABLES)
            # A job that was confirmed outlives a power failure.
            self._connection.execute("PRAGMA synchronous = FULL")
        except (SideFileError, sqlite3.Error) as error:
            raise CronError(str(error)) from error

    def load(self) -> tuple[list[Job], list[tuple[Key, Run]], list[str]]:
        """All jobs, the runs of which it is not known whether they were submitted, and what is
        wrong with jobs that cannot be read."""
        jobs: list[Job] = []
        problems: list[str] = []
        with self._changing() as connection:
            for user, name, body in connection.execute("SELECT user, name, body FROM jobs"):
                try:
                    jobs.append(msgspec.json.decode(body, type=Job))
                except msgspec.DecodeError as error:
                    problems.append(f"the cron job {name} of {user} cannot be read: {error}")
            rows = connection.execute("SELECT user, name, body, number FROM runs").fetchall()
        runs = [((user, name), _run(body, number)) for user, name, body, number in rows]
        return jobs, [(key, run) for key, run in runs if run.outcome == "submitting"], problems

    def runs(self, key: Key) -> list[Run]:
        """The last runs of a job, the newest first."""
        with self._changing() as connection:
            rows = connection.execute(
                "SELECT body, number FROM runs WHERE user = ? AND name = ? ORDER BY number DESC",
                key,
            ).fetchall()
        return [_run(body, number) for body, number in rows]

    def write(self, job: Job, run: Run | None = None) -> Job:
        """Write a job and a run, which gets its number; the job as it is then: a run that is queued
        is its `queued_run`."""
        with self._changing() as connection:
            if run is not None:
                row = (run.number or None, *job.key, msgspec.json.encode(run))
                found = connection.execute("INSERT OR REPLACE INTO runs VALUES (?, ?, ?, ?)", row)
                run.number = found.lastrowid or run.number
                if run.outcome == "queued":
                    job = msgspec.structs.replace(job, queued_run=run.number)
                connection.execute(
                    "DELETE FROM runs WHERE user = ? AND name = ? AND number <= ("
                    "SELECT number FROM runs WHERE user = ? AND name = ?"
                    " ORDER BY number DESC LIMIT 1 OFFSET ?)",
                    (*job.key, *job.key, KEPT_RUNS),
                )
            body = msgspec.json.encode(job)
            connection.execute("INSERT OR REPLACE INTO jobs VALUES (?, ?, ?)", (*job.key, body))
        return job

    def delete(self, key: Key) -> None:
        """Delete a job with its runs."""
        with self._changing() as connection:
            connection.execute("DELETE FROM jobs WHERE user = ? AND name = ?", key)
            connection.execute("DELETE FROM runs WHERE user = ? AND name = ?", key)

    @contextlib.contextmanager
    def _changing(self) -> Iterator[sqlite3.Connection]:
        """A transaction; raises CronError, and then nothing has changed."""
        try:
            with self._transaction() as connection:
                yield connection
        except (sqlite3.Error, msgspec.DecodeError) as error:
            raise CronError(f"cannot use {self.path}: {cause(error)}") from error


def _run(body: bytes, number: int) -> Run:
    run = msgspec.json.decode(body, type=Run)
    run.number = number
    return run
