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
from collections.abc import Sequence
from datetime import UTC, datetime
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
    AttemptStarted,
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
from fairshare.core.model.inputs import NO_CONDITIONS, StartConditions
from fairshare.core.schedulers.protocol import State
from fairshare.errors import FairshareError
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

    Text of tenants (a name, a queue) may contain line breaks; they are escaped within the line.
    """

    converter = staticmethod(time.gmtime)
    default_time_format = "%Y-%m-%dT%H:%M:%S"
    default_msec_format = "%s.%03dZ"

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")

    def format(self, record: logging.LogRecord) -> str:
        """The line and its traceback, without the secrets of tokens."""
        return masked(super().format(record))

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's own name
        """The line without its traceback."""
        line = super().formatMessage(record)
        if line.isprintable():
            return line
        return "".join(c if c.isprintable() else repr(c)[1:-1] for c in line)


class JsonFormatter(LineFormatter):
    """`{"at": "2026-01-31T12:00:00.123Z", "level": "INFO", "logger": ..., "message": ...}`.

    With `event` (its fields) where the line is about an event, and `traceback` where it reports a
    bug.
    """

    def format(self, record: logging.LogRecord) -> str:
        """One line of JSON."""
        entry = {
            "at": self.formatTime(record),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        fields = getattr(record, "event_fields", None)
        if fields is not None:
            entry["event"] = fields
        if record.exc_info:
            entry["traceback"] = self.formatException(record.exc_info)
        return masked(_encoder.encode(entry).decode())


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
        """Write a line."""
        failed_before, self._failing = self._failing, False
        super().emit(record)
        if self._failing and not failed_before:
            _terminal.warning("cannot write the log %s: lines are missing", self.baseFilename)

    def shouldRollover(self, record: logging.LogRecord) -> bool:  # noqa: N802 - logging's own name
        """Whether a line would fill the file.

        Every line is flushed, so the open file knows its size: logging itself looks at the path
        twice, and moves to the end, for each line.
        """
        if self.stream is None:
            return False
        size = os.fstat(self.stream.fileno()).st_size
        return size + len(self.format(record)) + len(self.terminator) >= self.maxBytes

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
    """Writes a line for each event that is of interest to operators."""

    def __init__(self, state: State, form: str = "text") -> None:
        self._state = state
        self._structured = form == "json"

    def write(self, events: Sequence[Event]) -> None:
        """Write the lines of events that have been recorded."""
        if _log.isEnabledFor(logging.INFO):
            for event in events:
                line = self.line(event)
                if line:
                    _log.info("%s", line, extra={"event_fields": self.fields(event)})

    def fields(self, event: Event) -> dict[str, Any]:
        """The fields of an event in a JSON log."""
        return document(self._state, event) if self._structured else {}

    def line(self, event: Event) -> str:
        """The text for an event; empty for those that only matter to the scheduler."""
        match event:
            case ApplicationSubmitted():
                submission = event.submission
                return (
                    f"{self._name(event.application)} submitted by {submission.user} "
                    f"to {event.queue}: {submission.name}"
                )
            case ApplicationRejected():
                return (
                    f"{self._name(event.application)} of {event.submission.user} rejected "
                    f"({event.code}): {event.reason}"
                )
            case AttemptStarted():
                waits = "" if event.runnable else ", which waits for a limit"
                return f"{self._name(event.application)} begins attempt {event.attempt}{waits}"
            case ApplicationAdmitted():
                return f"{self._name(event.application)} may run now"
            case ApplicationDeferred():
                return f"{self._name(event.application)} {self._deferral(event.start)}"
            case ApplicationMoved():
                return f"{self._name(event.application)} moved to {event.queue}"
            case PriorityChanged():
                return f"{self._name(event.application)} has priority {event.priority} now"
            case ApplicationEnded():
                words = f": {event.diagnostics}" if event.diagnostics else ""
                return f"{self._name(event.application)} is {event.state}{words}"
            case RequestRefused():
                about = f" for {self._name(event.application)}" if event.application else ""
                return f"refused{about} ({event.code}): {event.reason}"
            case _:
                return self._line_of_place(event)

    def _line_of_place(self, event: Event) -> str:
        match event:
            case ContainerLaunched():
                return f"{self._container(event.container)} launched"
            case ContainerMarked():
                return (
                    f"{self._container(event.container)} will be preempted "
                    f"for {self._name(event.beneficiary)}"
                )
            case ContainerSpared():
                return f"{self._container(event.container)} will not be preempted after all"
            case ContainerCompleted():
                words = f": {event.diagnostics}" if event.diagnostics else ""
                return f"{self._container(event.container)} ended with {event.exit_code}{words}"
            case ContainerReserved():
                return f"node {event.node} is reserved for {self._name(event.application)}"
            case NodeAdded() | NodeTotalChanged():
                offer = self._state.types.mapping(event.total)
                amounts = ", ".join(f"{name} {amount}" for name, amount in offer.items())
                return f"node {event.node} offers {amounts}"
            case NodeRemoved():
                return f"node {event.node} is gone"
            case NodeDrained() if event.deadline_ms is None:
                return f"node {event.node} is drained: it takes no new containers"
            case NodeDrained():
                return f"node {event.node} is being decommissioned"
            case NodeOvercommitted() if event.deadline_ms is not None:
                return f"node {event.node} runs more than it offers: containers will be taken"
            case NodeUndrained():
                return f"node {event.node} takes containers again"
            case GangPaused():
                return f"a gang of {self._name(event.application)} stays incomplete, and gives up"
            case SafeModeChanged():
                return f"safe mode is {'on' if event.on else 'off'}"
            case QueueCreated():
                return f"queue {event.queue} created"
            case QueueRemoved():
                return f"queue {event.queue} removed"
            case LabelsChanged():
                labels = ", ".join(event.labels) or "none"
                return f"node labels made by administrators: {labels}"
            case NodesLabelled():
                places = (f"{node} {label or 'none'}" for node, label in event.nodes.items())
                return f"node labels: {', '.join(places)}"
            case ConfigurationLoaded():
                return "configuration loaded"
            case _:
                return ""

    def _deferral(self, start: StartConditions) -> str:
        """What an application waits for before it starts."""
        if start == NO_CONDITIONS:
            return "is deferred no more"
        found = ["is held"] if start.held else []
        if start.after:
            names = ", ".join(self._name(one.application) for one in start.after)
            found.append(f"starts after {names}")
        if start.begin_ms:
            begin = datetime.fromtimestamp(start.begin_ms / 1_000, UTC)
            found.append(f"begins at {begin:%Y-%m-%d %H:%M:%S UTC}")
        return " and ".join(found)

    def _name(self, application: ApplicationId) -> str:
        return application_name(self._state.epoch_ms, application)

    def _container(self, container: ContainerId) -> str:
        return container_name(self._state.epoch_ms, container)
