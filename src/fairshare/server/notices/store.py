"""The file of notices, STATE/notices.sqlite3: which are still to be sent, and the outcomes of the
others; and the record of a notice, with its text.
"""

import sqlite3
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from fairshare.core.model.applications import Application
from fairshare.core.model.events import ApplicationState
from fairshare.core.model.identifiers import application_name
from fairshare.errors import FairshareError
from fairshare.server.side_file import SideFile, SideFileError
from fairshare.wording import cause

HOOK: Final = "hook"
"""The target of notices to the command of the configuration."""
MAX_TEXT: Final = 500

State = Literal["pending", "sent", "failed"]


class Notice(msgspec.Struct, kw_only=True):
    """One notice: what happened (`event`) to which application, for which target.

    `body` is what is sent. `due_ms` is when it is sent next; `attempts` counts how often it was
    tried, `error` says why the last attempt failed.
    """

    epoch_ms: int
    application: int
    event: str
    target: str
    user: str
    body: dict[str, Any]
    state: State = "pending"
    attempts: int = 0
    due_ms: int = 0
    changed_ms: int = 0
    error: str = ""

    @property
    def key(self) -> tuple[int, int, str, str]:
        """Its identity: what happened twice is one notice."""
        return self.epoch_ms, self.application, self.event, self.target


def notices_of(
    epoch_ms: int, application: Application, event: str, now_ms: int, *, hook: bool = False
) -> list[Notice]:
    """The notices about the start (`start`) or the end (`end`) of an application: what its owner
    asked for, and at the end also the one for the configuration's command if there is a `hook`."""
    details = application.submission.details
    targets: dict[str, str] = {}
    failed = event == "end" and application.state != ApplicationState.FINISHED
    if event in details.notify_on:
        targets = dict.fromkeys(details.notify, event)
    elif failed and "failed" in details.notify_on:
        targets = dict.fromkeys(details.notify, "failed")
    if hook and event == "end":
        targets[HOOK] = "end"
    return [
        Notice(
            epoch_ms=epoch_ms,
            application=application.id,
            event=about,
            target=target,
            user=application.user,
            body=body_of(epoch_ms, application, about),
            due_ms=now_ms,
            changed_ms=now_ms,
        )
        for target, about in targets.items()
    ]


def body_of(epoch_ms: int, application: Application, event: str) -> dict[str, Any]:
    """What a notice says of an application."""
    return {
        "event": event,
        "application": application_name(epoch_ms, application.id),
        "name": application.submission.name,
        "user": application.user,
        "queue": application.queue,
        "tags": list(application.submission.tags),
        "state": str(application.state),
        "submitted_ms": application.submitted_ms,
        "ended_ms": application.finished_ms,
        "diagnostics": application.diagnostics[-MAX_TEXT:],
    }


def subject_of(body: Mapping[str, object]) -> str:
    """One line that says what happened."""
    state = "has started" if body["event"] == "start" else f"is {body['state']}"
    name = " ".join(str(body["name"]).split())
    return f"{name or body['application']} {state}"


def text_of(body: Mapping[str, object]) -> str:
    """The text of a mail."""
    lines = [
        f"{subject_of(body)}.",
        "",
        f"Application: {body['application']}",
        f"User:        {body['user']}",
        f"Queue:       {body['queue']}",
    ]
    if body["diagnostics"]:
        lines += ["", str(body["diagnostics"])]
    lines += ["", f"More: fairshare status {body['application']}", ""]
    return "\n".join(lines)


FILE: Final = "notices.sqlite3"
FORMAT: Final = 1
_TABLES: Final = """
CREATE TABLE notices (
    epoch_ms INTEGER, application INTEGER, event TEXT, target TEXT,
    state TEXT, changed_ms INTEGER, body BLOB,
    PRIMARY KEY (epoch_ms, application, event, target)
) WITHOUT ROWID;
CREATE INDEX notices_by_change ON notices (changed_ms);
"""


class NoticesError(FairshareError):
    """The notices cannot be written or read."""


class NoticeStore(SideFile):
    """The file, open for writing."""

    def __init__(self, directory: Path) -> None:
        """Open or make the file. Raises NoticesError."""
        try:
            super().__init__(directory / FILE, FORMAT, _TABLES)
        except SideFileError as error:
            raise NoticesError(str(error)) from error

    def load(self, oldest_ms: int) -> list[Notice]:
        """All that are pending, and what changed since an instant; others are deleted.

        Raises NoticesError.
        """
        try:
            self.forget(oldest_ms)
            with self._using:
                rows = self._connection.execute("SELECT body FROM notices").fetchall()
            return [msgspec.json.decode(body, type=Notice) for (body,) in rows]
        except (sqlite3.Error, msgspec.DecodeError) as error:
            raise NoticesError(f"cannot read {self.path}: {cause(error)}") from error

    def forget(self, oldest_ms: int) -> None:
        """Delete what changed before an instant and is not pending. Raises NoticesError."""
        statement = "DELETE FROM notices WHERE changed_ms < ? AND state <> 'pending'"
        try:
            with self._using:
                self._connection.execute(statement, (oldest_ms,))
        except sqlite3.Error as error:
            raise NoticesError(f"cannot write {self.path}: {cause(error)}") from error

    def write(self, notices: Iterable[Notice]) -> None:
        """Write notices as they are now, in one transaction. Raises NoticesError."""
        rows = [(*one.key, one.state, one.changed_ms, msgspec.json.encode(one)) for one in notices]
        statement = "INSERT OR REPLACE INTO notices VALUES (?, ?, ?, ?, ?, ?, ?)"
        try:
            with self._transaction() as connection:
                connection.executemany(statement, rows)
        except sqlite3.Error as error:
            raise NoticesError(f"cannot write {self.path}: {cause(error)}") from error
