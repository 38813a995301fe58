"""Owns the log lines for stderr, written without blocking on its reader.

stderr may be a pipe whose reader has stopped: a write to it blocks forever once the pipe is full,
and would block the server. So one thread writes, and lines that it cannot write are counted. It
must not know what the lines are about.
"""

import contextlib
import logging
import queue
import sys
import threading
from typing import Final, TextIO

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
