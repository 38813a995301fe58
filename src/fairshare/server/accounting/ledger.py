"""The file of the accounts, STATE/accounting.sqlite3: its tables, how rows get there and go.

    applications    one row for each application with a container that ended, or that ended itself;
                    `ended_ms` is NULL while it goes on, and the sums are those at its end
    containers      one row for each container that ended
    tags            one row for each tag of an application

Rows are identified by the cluster's epoch and the number of the application or container: what is
written twice, as after a crash, is there once. The file is in WAL mode with synchronous=NORMAL: a
power cut may take the last rows, which the next start writes again from the journal's state. The
file is beside the journal, and nothing else depends on it.
"""

import shlex
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from fairshare.api.ray_programs import command_of as ray_command
from fairshare.core.model.applications import Application
from fairshare.core.model.identifiers import application_of
from fairshare.core.model.resources import MEMORY, VCORES, ResourceTypes
from fairshare.core.model.work import Command
from fairshare.documents.gpus import GPU
from fairshare.errors import FairshareError
from fairshare.runtime.journal.sqlite import bytes_in_use
from fairshare.runtime.projections.container_history import ContainerRecord
from fairshare.server.side_file import SideFile, SideFileError, open_side_file_for_reading
from fairshare.server.views import kind_of

MAX_TEXT: Final = 500
"""The first characters of a command, and the last ones of diagnostics, that are kept."""


class ContainerRow(msgspec.Struct, frozen=True):
    """A row of the table `containers`, in the order of its columns. `task_index` is -1 for a
    container that runs no task of a group; `started_ms` 0 if no engine said that it runs."""

    epoch_ms: int
    container: int
    application: int
    queue: str
    node: str
    task_group: str
    task_index: int
    master: bool
    allocated_ms: int
    started_ms: int
    ended_ms: int
    exit_code: int
    memory_mb: int
    vcores: int
    gpus: int
    peak_memory_mb: int
    cpu_ms: int
    timed_out: bool = False


class ApplicationRow(msgspec.Struct, frozen=True):
    """A row of the table `applications`, in the order of its columns; the sums of its containers
    follow there. `ended_ms` is None while it goes on."""

    epoch_ms: int
    application: int
    name: str
    user: str
    queue: str
    kind: str
    state: str
    submitted_ms: int
    started_ms: int | None
    ended_ms: int | None
    command: str
    directory: str
    diagnostics: str
    view_acl: str | None
    cause: str = ""


def container_row(
    epoch_ms: int, types: ResourceTypes, application: Application, record: ContainerRecord
) -> ContainerRow:
    """The row of a container that has ended."""
    groups = application.tasks.groups
    granted = dict(zip(types.names, record.resource, strict=False))
    return ContainerRow(
        epoch_ms=epoch_ms,
        container=record.container,
        application=application_of(record.container),
        queue=application.queue,
        node=record.node,
        task_group=groups[record.group].spec.name if 0 <= record.group < len(groups) else "",
        task_index=record.task,
        master=record.master,
        allocated_ms=record.allocated_ms,
        started_ms=record.running_ms or 0,
        ended_ms=record.finished_ms or record.allocated_ms,
        exit_code=record.exit_code or 0,
        memory_mb=granted.get(MEMORY, 0),
        vcores=granted.get(VCORES, 0),
        gpus=granted.get(GPU, 0),
        peak_memory_mb=record.peak_memory_mb,
        cpu_ms=record.cpu_ms,
        timed_out=record.timed_out,
    )


def application_row(epoch_ms: int, application: Application) -> ApplicationRow:
    """The row of an application, alive or over."""
    submission = application.submission
    command = command_of(application)
    return ApplicationRow(
        epoch_ms=epoch_ms,
        application=application.id,
        name=submission.name,
        user=submission.user,
        queue=application.queue,
        kind=kind_of(application),
        state=str(application.state),
        submitted_ms=application.submitted_ms,
        started_ms=application.started_ms or None,
        ended_ms=application.finished_ms,
        command=command_text(command)[:MAX_TEXT],
        directory=(command.directory or "") if command is not None else "",
        diagnostics=application.diagnostics[-MAX_TEXT:],
        view_acl=submission.details.view_acl,
        cause=str(application.cause),
    )


def command_of(application: Application) -> Command | None:
    """What an application runs: its driver, or its first group; None: neither is known here."""
    submission = application.submission
    if submission.driver is not None:
        return submission.driver
    groups = application.tasks.groups
    if groups:
        return groups[0].spec.command
    return submission.tasks[0].command if submission.tasks else None


def command_text(command: Command | None) -> str:
    """A command as a line for a shell.

    >>> command_text(Command(("sh", "-c", "sleep 1"))), command_text(Command(callable=b"x"))
    ("sh -c 'sleep 1'", '(a Python call)')
    """
    if command is None:
        return ""
    if command.is_callable:
        return "(a Python call)"
    return ray_command(command.arguments) or shlex.join(command.arguments)


FILE: Final = "accounting.sqlite3"
FORMAT: Final = 2
SPARE: Final = 10
"""If the file is too large, a tenth of its rows is deleted, the oldest."""

_TABLES: Final = """
CREATE TABLE applications (
    epoch_ms INTEGER, application INTEGER,
    name TEXT, user TEXT, queue TEXT, kind TEXT, state TEXT,
    submitted_ms INTEGER, started_ms INTEGER, ended_ms INTEGER,
    command TEXT, directory TEXT, diagnostics TEXT, view_acl TEXT,
    exit_code INTEGER, nodes TEXT,
    containers INTEGER DEFAULT 0, failed INTEGER DEFAULT 0, preempted INTEGER DEFAULT 0,
    memory_mb_ms INTEGER DEFAULT 0, vcore_ms INTEGER DEFAULT 0, gpu_ms INTEGER DEFAULT 0,
    peak_memory_mb INTEGER DEFAULT 0, cpu_ms INTEGER DEFAULT 0,
    measured_vcore_ms INTEGER DEFAULT 0, measured_memory_mb_ms INTEGER DEFAULT 0,
    used_memory_mb_ms INTEGER DEFAULT 0,
    cause TEXT DEFAULT '',
    PRIMARY KEY (epoch_ms, application)
) WITHOUT ROWID;
CREATE INDEX applications_by_end ON applications (ended_ms);
CREATE TABLE containers (
    epoch_ms INTEGER, container INTEGER, application INTEGER,
    queue TEXT, node TEXT, task_group TEXT, task_index INTEGER, master INTEGER,
    allocated_ms INTEGER, started_ms INTEGER, ended_ms INTEGER, exit_code INTEGER,
    memory_mb INTEGER, vcores INTEGER, gpus INTEGER, peak_memory_mb INTEGER, cpu_ms INTEGER,
    timed_out INTEGER DEFAULT 0,
    PRIMARY KEY (epoch_ms, container)
) WITHOUT ROWID;
CREATE INDEX containers_by_end ON containers (ended_ms);
CREATE TABLE tags (
    epoch_ms INTEGER, application INTEGER, tag TEXT,
    PRIMARY KEY (epoch_ms, application, tag)
) WITHOUT ROWID;
"""

_CHANGES: Final = {
    2: """
ALTER TABLE applications ADD COLUMN cause TEXT DEFAULT '';
ALTER TABLE containers ADD COLUMN timed_out INTEGER DEFAULT 0;
"""
}
"""What makes a file of each format of one of the format before."""


def failed(table: str = "containers") -> str:
    """The condition that a container failed by itself or by a limit of its own
    (`api.applications.Container`)."""
    return f"({table}.exit_code > 0 OR {table}.exit_code <= -103)"


def measured(table: str = "containers") -> str:
    """The condition that the use of a container was measured."""
    return f"({table}.peak_memory_mb > 0 AND {table}.started_ms > 0)"


_SUMS: Final = f"""
UPDATE applications SET (
    containers, failed, preempted, memory_mb_ms, vcore_ms, gpu_ms, peak_memory_mb, cpu_ms,
    measured_vcore_ms, measured_memory_mb_ms, used_memory_mb_ms, nodes
) = (
    SELECT count(*), coalesce(sum({failed()}), 0), coalesce(sum(exit_code = -102), 0),
        coalesce(sum(memory_mb * (ended_ms - allocated_ms)), 0),
        coalesce(sum(vcores * (ended_ms - allocated_ms)), 0),
        coalesce(sum(gpus * (ended_ms - allocated_ms)), 0),
        coalesce(max(peak_memory_mb), 0), coalesce(sum(cpu_ms), 0),
        coalesce(sum({measured()} * vcores * (ended_ms - started_ms)), 0),
        coalesce(sum({measured()} * memory_mb * (ended_ms - started_ms)), 0),
        coalesce(sum({measured()} * peak_memory_mb * (ended_ms - started_ms)), 0),
        substr(coalesce(group_concat(DISTINCT node), ''), 1, 1000)
    FROM containers
    WHERE epoch_ms = :epoch AND container BETWEEN :number << 40 AND (:number + 1 << 40) - 1
), exit_code = CASE state WHEN 'FINISHED' THEN 0 WHEN 'FAILED' THEN (
    SELECT exit_code FROM containers
    WHERE epoch_ms = :epoch AND container BETWEEN :number << 40 AND (:number + 1 << 40) - 1
        AND {failed()}
    ORDER BY ended_ms DESC, container DESC LIMIT 1
) END
WHERE epoch_ms = :epoch AND application = :number AND ended_ms IS NOT NULL
"""  # noqa: S608 - of constants


def _insert(table: str, form: type[ApplicationRow] | type[ContainerRow]) -> str:
    """The statement that puts a row in the place of an earlier one."""
    names = form.__struct_fields__
    marks = ", ".join("?" * len(names))
    return f"INSERT OR REPLACE INTO {table} ({', '.join(names)}) VALUES ({marks})"  # noqa: S608


class LedgerError(FairshareError):
    """The accounts cannot be written or read."""


class Ledger(SideFile):
    """The file, open for writing."""

    def __init__(self, directory: Path) -> None:
        """Open the file, or make it. One that is damaged is moved aside, and a new one made.

        Raises LedgerError.
        """
        try:
            super().__init__(directory / FILE, FORMAT, _TABLES, _CHANGES)
        except SideFileError as error:
            raise LedgerError(str(error)) from error

    def last_end_ms(self) -> int:
        """The instant of the last end that it has; 0 for none. Raises LedgerError."""
        statement = (
            "SELECT max(coalesce((SELECT max(ended_ms) FROM containers), 0),"
            " coalesce((SELECT max(ended_ms) FROM applications), 0))"
        )
        try:
            with self._using:
                return int(self._connection.execute(statement).fetchone()[0])
        except sqlite3.Error as error:
            raise LedgerError(f"cannot read {self.path}: {error}") from error

    def write(
        self,
        containers: Sequence[ContainerRow],
        applications: Sequence[tuple[ApplicationRow, Sequence[str]]],
    ) -> None:
        """Write rows in one transaction; applications come with their tags, and with the sums of
        their containers if they are over. Raises LedgerError; then nothing was written."""
        try:
            with self._transaction() as connection:
                self._write(connection, containers, applications)
        except sqlite3.Error as error:
            raise LedgerError(f"cannot write {self.path}: {error}") from error

    def _write(
        self,
        connection: sqlite3.Connection,
        containers: Sequence[ContainerRow],
        applications: Sequence[tuple[ApplicationRow, Sequence[str]]],
    ) -> None:
        connection.executemany(_INSERT_CONTAINER, map(_values, containers))
        connection.executemany(_INSERT_APPLICATION, (_values(row) for row, _ in applications))
        connection.executemany(
            "INSERT OR IGNORE INTO tags VALUES (?, ?, ?)",
            ((row.epoch_ms, row.application, tag) for row, tags in applications for tag in tags),
        )
        over = [row for row, _ in applications if row.ended_ms]
        connection.executemany(
            _SUMS, [{"epoch": row.epoch_ms, "number": row.application} for row in over]
        )

    def trim(self, oldest_ms: int, size: int) -> None:
        """Delete what ended before an instant, and some of the oldest rows if more than `size`
        bytes are in use. Raises LedgerError."""
        try:
            with self._using:
                self._delete_before(oldest_ms)
                if bytes_in_use(self._connection) > size:
                    cut_ms = max(self._old_end_ms("containers"), self._old_end_ms("applications"))
                    self._delete_before(cut_ms + 1)
        except sqlite3.Error as error:
            raise LedgerError(f"cannot shorten {self.path}: {error}") from error

    def _old_end_ms(self, table: str) -> int:
        """The end of the last one of the oldest rows, one in SPARE."""
        count = self._connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]  # noqa: S608
        if count < SPARE:
            return 0
        statement = (
            f"SELECT ended_ms FROM {table} WHERE ended_ms IS NOT NULL"  # noqa: S608
            " ORDER BY ended_ms LIMIT 1 OFFSET ?"
        )
        found = self._connection.execute(statement, (count // SPARE,)).fetchone()
        return 0 if found is None else int(found[0])

    def _delete_before(self, oldest_ms: int) -> None:
        old = self._connection.execute(
            "SELECT (SELECT min(ended_ms) FROM containers),"
            " (SELECT min(ended_ms) FROM applications)"
        ).fetchone()
        if all(first is None or first >= oldest_ms for first in old):
            return
        with self._transaction() as connection:
            for statement in _DELETIONS:
                connection.execute(statement, (oldest_ms,))


_INSERT_CONTAINER: Final = _insert("containers", ContainerRow)
_INSERT_APPLICATION: Final = _insert("applications", ApplicationRow)
_DELETIONS: Final = (
    "DELETE FROM tags WHERE (epoch_ms, application) IN"
    " (SELECT epoch_ms, application FROM applications WHERE ended_ms < ?)",
    "DELETE FROM applications WHERE ended_ms < ?",
    "DELETE FROM containers WHERE ended_ms < ?",
)


def _values(row: ApplicationRow | ContainerRow) -> tuple[object, ...]:
    return tuple(getattr(row, name) for name in row.__struct_fields__)


def open_for_reading(directory: Path) -> sqlite3.Connection:
    """A connection that only reads. Raises sqlite3.Error."""
    return open_side_file_for_reading(directory / FILE)
