"""Owns the audit log, STATE/audit.log: who did what and what came of it, one JSON object a line.

Every change and every refusal has a line. There is never a secret in it: no header, no body, no
parameter, and what looks like a token of ours is masked. The file is its owner's alone, and begins
anew when it is large; some older ones are kept. Refusals that repeat are summed up, or whoever is
refused often enough could empty it.
"""

import logging
import os
import time
from io import TextIOWrapper
from pathlib import Path

import msgspec

from fairshare.errors import FairshareError
from fairshare.live.access.repeats import OTHERS, Repeats
from fairshare.live.access.tokens import masked
from fairshare.live.event_log import LogFile

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
    repeated: int = 0  # so many more like this one were not told; this is the last of them


class _PrivateFile(LogFile):
    """A log file that nobody else may read, from its first byte."""

    def _open(self) -> TextIOWrapper:
        return open(self.baseFilename, "a", encoding="utf-8", opener=_private)


class AuditLog:
    """The file. A full disk does not end the server; that lines are missing is told on stderr."""

    def __init__(self, state_directory: Path) -> None:
        path = state_directory / FILE
        try:
            self._file = _PrivateFile(path)
        except OSError as error:
            raise FairshareError(f"cannot write the audit log {path}: {error.strerror}") from error
        self._file.setFormatter(logging.Formatter("%(message)s"))
        self._refusals: Repeats[AuditEntry] = Repeats(self._summed)
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
        """Add the lines for what was counted."""
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


def told(text: str) -> str:
    """A text of a caller's as it may stand in the log: not too long, and without a token.

    >>> told("/x/fst_0a1b2c3d_" + "s" * 43)
    '/x/fst_0a1b2c3d_...'
    """
    return masked(text)[:LONGEST_TEXT]


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
