"""The server's log: the events that become lines, and the destinations of lines.

STATE/server.log gets everything from INFO on, in files of bounded size; stderr gets warnings, for
the operator who started the server. The core logs nothing: every line about the cluster is an
event.
"""

import contextlib
import logging
import logging.handlers
import os
import queue
import sys
import threading
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final, TextIO

import msgspec

from fairshare.core.model.events import (
    ApplicationAdmitted,
    ApplicationDeferred,
    ApplicationEnded,
    ApplicationMoved,
    ApplicationRejected,
    ApplicationSubmitted,
    ApplicationUpdated,
    AttemptStarted,
    BookingCancelled,
    BookingMade,
    ConfigurationLoaded,
    ContainerCompleted,
    ContainerLaunched,
    ContainerMarked,
    ContainerReserved,
    ContainerSpared,
    Event,
    GangPaused,
    LabelsChanged,
    NodeAdded,
    NodeDrained,
    NodeOvercommitted,
    NodeRemoved,
    NodesLabelled,
    NodeTotalChanged,
    NodeUndrained,
    PriorityChanged,
    QueueCreated,
    QueueRemoved,
    RequestRefused,
    SafeModeChanged,
)
from fairshare.core.model.identifiers import (
    ApplicationId,
    ContainerId,
    application_name,
    container_name,
)
from fairshare.core.model.inputs import NO_CONDITIONS, Changes, StartConditions
from fairshare.core.record import Record
from fairshare.core.schedulers.protocol import State
from fairshare.errors import FairshareError
from fairshare.runtime.observers import Observers
from fairshare.server.access.tokens import masked
from fairshare.server.event_feed import document

MOST_LINES: Final = 1_000
"""How many lines may wait to be written; further ones are only counted."""

PATIENCE_S: Final = 2.0
"""How long the end of the server waits for the last lines."""


class Terminal(logging.Handler):
    """Writes lines to stderr in their order; `close` writes what still waits.

    After lines had to be left out, the next one that is written says how many they were.
    """

    def __init__(self, stream: TextIO | None = None, most_lines: int = MOST_LINES) -> None:
        super().__init__()
        self._stream = stream or sys.stderr
        self._lines: queue.Queue[str | None] = queue.Queue(most_lines)
        self._missing = 0
        self._closed = False
        self._writer = threading.Thread(target=self._write, name="fairshare-stderr", daemon=True)
        self._writer.start()

    def emit(self, record: logging.LogRecord) -> None:
        """Hand over a line."""
        line = self.format(record)
        if self._missing:
            line = f"({self._missing} lines are missing here: stderr was not read)\n{line}"
        try:
            self._lines.put_nowait(line)
        except queue.Full:
            self._missing += 1
        else:
            self._missing = 0

    def close(self) -> None:
        """Write the waiting lines, for at most `PATIENCE_S`. Idempotent."""
        if not self._closed:
            self._closed = True
            with contextlib.suppress(queue.Full):
                self._lines.put(None, timeout=PATIENCE_S)
                self._writer.join(PATIENCE_S)
        super().close()

    def _write(self) -> None:
        while (line := self._lines.get()) is not None:
            with contextlib.suppress(OSError, ValueError):  # the reader has gone
                self._stream.write(line + "\n")
                self._stream.flush()


_encoder = msgspec.json.Encoder(enc_hook=str)


class LineFormatter(logging.Formatter):
    """`2026-01-31T12:00:00.123Z INFO fairshare.events: ...`, in UTC, one line each.

    Text of tenants (a name, a queue) may contain line breaks; they are escaped within the line. A
    record may have several `lines` (`EventLog`), all of the same instant.
    """

    converter = staticmethod(time.gmtime)
    default_time_format = "%Y-%m-%dT%H:%M:%S"
    default_msec_format = "%s.%03dZ"

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")

    def format(self, record: logging.LogRecord) -> str:
        """The line and its traceback, without the secrets of tokens."""
        lines: list[str] | None = getattr(record, "lines", None)
        if lines is None:
            return masked(super().format(record))
        head = f"{self.formatTime(record)} {record.levelname} {record.name}: "
        if not "".join(lines).isprintable():
            lines = [_escaped(line) for line in lines]
        return masked(head + f"\n{head}".join(lines))

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's own name
        """The line without its traceback."""
        return _escaped(super().formatMessage(record))


def _escaped(line: str) -> str:
    if line.isprintable():
        return line
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in line)


class JsonFormatter(LineFormatter):
    """`{"at": "2026-01-31T12:00:00.123Z", "level": "INFO", "logger": ..., "message": ...}`.

    With `event` (its fields) where the line is about an event, and `traceback` where it reports a
    bug.
    """

    def format(self, record: logging.LogRecord) -> str:
        """One line of JSON, or several."""
        entry = {
            "at": self.formatTime(record),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            entry["traceback"] = self.formatException(record.exc_info)
        lines: list[str] | None = getattr(record, "lines", None)
        if lines is None:
            return masked(_encoder.encode(entry).decode())
        documents: list[dict[str, Any]] = record.documents  # type: ignore[attr-defined]
        block = [
            _encoder.encode({**entry, "message": line, "event": fields})
            for line, fields in zip(lines, documents, strict=True)
        ]
        return masked(b"\n".join(block).decode())


FORMATS: dict[str, type[LineFormatter]] = {"text": LineFormatter, "json": JsonFormatter}
"""By `log_format` of fairshare.toml."""


MAX_LOG_BYTES = 10 * 1024 * 1024
KEPT_LOGS = 3

_log = logging.getLogger("fairshare.events")
_terminal = logging.getLogger("fairshare.terminal")
_terminal.propagate = False  # messages about the log itself: not for its file


class LogFile(logging.handlers.RotatingFileHandler):
    """The file. A full disk does not end the server because of its log: stderr reports that lines
    are missing, once each time that writing begins to fail."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, maxBytes=MAX_LOG_BYTES, backupCount=KEPT_LOGS, encoding="utf-8")
        self._failing = False

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line, or the lines of a record that has several."""
        failed_before, self._failing = self._failing, False
        try:
            text = self.format(record)
            if hasattr(record, "lines"):
                while text:
                    text = self._write_what_fits(text)
            else:
                self._write(text)
        except Exception:
            self.handleError(record)
        if self._failing and not failed_before:
            _terminal.warning("cannot write the log %s: lines are missing", self.baseFilename)

    def _write_what_fits(self, text: str) -> str:
        """Write as many lines as the file has room for, in a new one at least one; returns the
        rest."""
        end = len(text) if len(text) < self._room() else text.rfind("\n", 0, self._room())
        if end < 0:
            end = text.find("\n")
        part = text if end < 0 else text[:end]
        self._write(part)
        return text[len(part) + 1 :]

    def _write(self, text: str) -> None:
        if self._room() <= len(text):
            self.doRollover()
        assert self.stream is not None
        self.stream.write(text + self.terminator)
        self.flush()

    def _room(self) -> int:
        """A text must be shorter than this, or it fills the file.

        All is flushed, so the open file knows its size: logging itself looks at the path twice, and
        moves to the end, for each line.
        """
        if self.stream is None:
            self.stream = self._open()
        return self.maxBytes - os.fstat(self.stream.fileno()).st_size - len(self.terminator)

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - logging's own name
        """Remember the failure; a bug of a caller is shown as in logging."""
        if isinstance(sys.exc_info()[1], OSError):
            self._failing = True
        else:
            super().handleError(record)

    def close(self) -> None:
        """Close the file; lines that it could not take are lost."""
        with contextlib.suppress(OSError):
            super().close()


def open_log(path: Path, form: str = "text") -> list[logging.Handler]:
    """Attach handlers to the loggers of the server and of its web server, in one of `FORMATS`;
    returns the handlers to close later.

    Raises FairshareError if the file cannot be written.
    """
    try:
        file = LogFile(path)
    except OSError as error:
        raise FairshareError(f"cannot write the log {path}: {error.strerror}") from error
    file.setLevel(logging.INFO)
    terminal = Terminal()
    terminal.setLevel(logging.WARNING)
    handlers: list[logging.Handler] = [file, terminal]
    for handler in handlers:
        handler.setFormatter(FORMATS[form]())
    _terminal.addHandler(terminal)
    for name in ("fairshare", "uvicorn"):
        logger = logging.getLogger(name)
        logger.setLevel(logging.INFO)
        logger.propagate = False
        for handler in handlers:
            logger.addHandler(handler)
    return handlers


def close_log(handlers: Sequence[logging.Handler]) -> None:
    """Undo `open_log`."""
    for handler in handlers:
        for name in ("fairshare", "fairshare.terminal", "uvicorn"):
            logging.getLogger(name).removeHandler(handler)
        handler.close()


class EventLog:
    """Writes a line for each event that is of interest to operators; once for each commit."""

    def __init__(self, state: State, form: str = "text") -> None:
        self._state = state
        self._structured = form == "json"
        self._lines: list[str] = []  # of one commit
        self._documents: list[dict[str, Any]] = []

    def subscribe(self, observers: Observers) -> None:
        """Follow the records."""
        for kind, line_of in self._kinds().items():
            observers.events(partial(self._note, line_of), kind)
        observers.commits(self._write)

    def _note(self, line_of: Callable[[Any], str], record: Record, event: Event) -> None:
        line = line_of(event)
        if line:
            self._lines.append(line)
            if self._structured:
                self._documents.append(document(self._state, event))

    def _write(self, records: Sequence[Record]) -> None:
        if self._lines:
            extra = {"lines": self._lines, "documents": self._documents}
            _log.info("%s", "\n".join(self._lines), extra=extra)
            self._lines, self._documents = [], []

    def _kinds(self) -> dict[type[Event], Callable[[Any], str]]:
        """The events that operators see, and the text for each; an empty one is left out."""
        name, container = self._name, self._container
        return {
            ApplicationSubmitted: lambda event: (
                f"{name(event.application)} submitted by {event.submission.user} "
                f"to {event.queue}: {event.submission.name}"
            ),
            ApplicationRejected: lambda event: (
                f"{name(event.application)} of {event.submission.user} rejected "
                f"({event.code}): {event.reason}"
            ),
            AttemptStarted: lambda event: (
                f"{name(event.application)} begins attempt {event.attempt}"
                f"{'' if event.runnable else ', which waits for a limit'}"
            ),
            ApplicationAdmitted: lambda event: f"{name(event.application)} may run now",
            ApplicationDeferred: lambda event: (
                f"{name(event.application)} {self._deferral(event.start)}"
            ),
            ApplicationMoved: lambda event: f"{name(event.application)} moved to {event.queue}",
            PriorityChanged: lambda event: (
                f"{name(event.application)} has priority {event.priority} now"
            ),
            ApplicationUpdated: lambda event: (
                f"{name(event.application)} is changed: {_changes(event.changes)}"
            ),
            ApplicationEnded: lambda event: (
                f"{name(event.application)} is {event.state}{_words(event.diagnostics)}"
            ),
            RequestRefused: lambda event: (
                f"refused{f' for {name(event.application)}' if event.application else ''}"
                f" ({event.code}): {event.reason}"
            ),
            ContainerLaunched: lambda event: f"{container(event.container)} launched",
            ContainerMarked: lambda event: (
                f"{container(event.container)} will be preempted for {name(event.beneficiary)}"
            ),
            ContainerSpared: lambda event: (
                f"{container(event.container)} will not be preempted after all"
            ),
            ContainerCompleted: lambda event: (
                f"{container(event.container)} ended with {event.exit_code}"
                f"{_words(event.diagnostics)}"
            ),
            ContainerReserved: lambda event: (
                f"node {event.node} is reserved for {name(event.application)}"
            ),
            NodeAdded: self._offer,
            NodeTotalChanged: self._offer,
            NodeRemoved: lambda event: f"node {event.node} is gone",
            NodeDrained: lambda event: (
                f"node {event.node} is drained: it takes no new containers"
                if event.deadline_ms is None
                else f"node {event.node} is being decommissioned"
            ),
            NodeOvercommitted: lambda event: (
                ""
                if event.deadline_ms is None
                else f"node {event.node} runs more than it offers: containers will be taken"
            ),
            NodeUndrained: lambda event: f"node {event.node} takes containers again",
            GangPaused: lambda event: (
                f"a gang of {name(event.application)} stays incomplete, and gives up"
            ),
            SafeModeChanged: lambda event: f"safe mode is {'on' if event.on else 'off'}",
            BookingMade: lambda event: (
                f"booking {event.booking.name} for {event.booking.queue} made or changed"
                f" by {event.booking.made_by or 'the server'}"
            ),
            BookingCancelled: lambda event: f"booking {event.name} cancelled",
            QueueCreated: lambda event: f"queue {event.queue} created",
            QueueRemoved: lambda event: f"queue {event.queue} removed",
            LabelsChanged: lambda event: (
                f"node labels made by administrators: {', '.join(event.labels) or 'none'}"
            ),
            NodesLabelled: lambda event: (
                "node labels: "
                + ", ".join(f"{node} {label or 'none'}" for node, label in event.nodes.items())
            ),
            ConfigurationLoaded: lambda event: "configuration loaded",
        }

    def _offer(self, event: NodeAdded | NodeTotalChanged) -> str:
        offer = self._state.types.mapping(event.total)
        amounts = ", ".join(f"{name} {amount}" for name, amount in offer.items())
        return f"node {event.node} offers {amounts}"

    def _deferral(self, start: StartConditions) -> str:
        """What an application waits for before it starts."""
        if start == NO_CONDITIONS:
            return "is deferred no more"
        parts = ["is held"] if start.held else []
        if start.after:
            names = ", ".join(self._name(one.application) for one in start.after)
            parts.append(f"starts after {names}")
        if start.begin_ms:
            begin = datetime.fromtimestamp(start.begin_ms / 1_000, UTC)
            parts.append(f"begins at {begin:%Y-%m-%d %H:%M:%S UTC}")
        return " and ".join(parts)

    def _name(self, application: ApplicationId) -> str:
        return application_name(self._state.epoch_ms, application)

    def _container(self, container: ContainerId) -> str:
        return container_name(self._state.epoch_ms, container)


def _changes(changes: Changes) -> str:
    said = ((name, getattr(changes, name)) for name in changes.__struct_fields__)
    return ", ".join(f"{name} {value}" for name, value in said if value not in (None, "", {}))


def _words(diagnostics: str) -> str:
    return f": {diagnostics}" if diagnostics else ""
