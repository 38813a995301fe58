"""The audit log, STATE/audit.log: callers, their actions and the results, one JSON object a line.

Every change and every refusal has a line. The log never contains secrets: it has no headers, bodies
or parameters, and masks text that looks like a token of ours. Only its owner can read the file,
which is rotated when it is large; some older files are kept. Repeated refusals are summarized;
otherwise a caller with many refusals could rotate everything else out.
"""

import logging
import time
from io import TextIOWrapper
from pathlib import Path

import msgspec

from fairshare.errors import FairshareError
from fairshare.server.access.repeated_messages import OTHERS, RepeatedMessages
from fairshare.server.access.tokens import masked
from fairshare.server.event_log import LogFile
from fairshare.server.state_directory import private

FILE = "audit.log"
LONGEST_TEXT = 512


class AuditEntry(msgspec.Struct, frozen=True, omit_defaults=True):
    """One line. `at` is an instant in UTC; `proof` says how the name of `user` is known, and is
    empty for a name that was only claimed. `code` is the reason of a refusal."""

    at: str
    method: str
    path: str
    status: int
    user: str = ""
    proof: str = ""
    address: str = ""
    application: str = ""
    queue: str = ""
    code: str = ""
    repeated: int = 0  # how many more like this one have no line; this is the last of them


class _PrivateFile(LogFile):
    """A log file that only its owner can read, from its first byte."""

    def _open(self) -> TextIOWrapper:
        return open(self.baseFilename, "a", encoding="utf-8", opener=private)


class AuditLog:
    """The file. A full disk does not end the server; stderr reports that lines are missing."""

    def __init__(self, state_directory: Path) -> None:
        path = state_directory / FILE
        try:
            self._file = _PrivateFile(path)
        except OSError as error:
            raise FairshareError(f"cannot write the audit log {path}: {error.strerror}") from error
        self._file.setFormatter(logging.Formatter("%(message)s"))
        self._refusals: RepeatedMessages[AuditEntry] = RepeatedMessages(self._summed)
        self._open = True

    def write(self, entry: AuditEntry) -> None:
        """Add a line."""
        text = msgspec.json.encode(entry).decode()
        record = logging.LogRecord("audit", logging.INFO, "", 0, "%s", (text,), None)
        self._file.handle(record)

    def refuse(self, key: str, entry: AuditEntry, at_once: int) -> bool:
        """Add a line for a refusal, or count it, if its `key` had `at_once` lines already.

        True: `flush` is due after an interval.
        """
        return self._refusals.add(key, entry, at_once)

    def flush(self) -> None:
        """Add the lines for counted refusals."""
        if self._open:
            self._refusals.flush()

    def close(self) -> None:
        """Close the file."""
        self.flush()
        self._open = False
        self._file.close()

    def _summed(self, entry: AuditEntry, repeated: int, key: str) -> None:
        if repeated and key == OTHERS:
            entry = msgspec.structs.replace(entry, address=OTHERS)
        self.write(msgspec.structs.replace(entry, repeated=repeated) if repeated else entry)


def instant(now_ms: int) -> str:
    """`2026-01-31T12:00:00.123Z`.

    >>> instant(1769860800123)
    '2026-01-31T12:00:00.123Z'
    """
    moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now_ms // 1_000))
    return f"{moment}.{now_ms % 1_000:03d}Z"


def redacted(text: str) -> str:
    """A caller's text in a form that is safe to log: truncated, and without tokens.

    >>> redacted("/x/fst_0a1b2c3d_" + "s" * 43)
    '/x/fst_0a1b2c3d_...'
    """
    return masked(text)[:LONGEST_TEXT]
