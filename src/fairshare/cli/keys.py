"""Owns the keys of a verb that draws a screen: `q` ends it as Ctrl-C does, but successfully."""

import contextlib
import os
import select
import signal
import sys
import termios
import threading
import tty
from typing import Any, Self

QUIT = b"qQ"


class Keys:
    """Reads keys from stdin while the context is open, if it is a terminal.

    A thread reads: the verb mostly waits for an answer of the server. It interrupts the verb by
    SIGINT; `quit` is then true.
    """

    def __init__(self) -> None:
        self.quit = False
        self._before: list[Any] | None = None
        self._input = -1
        self._wake, self._end = -1, -1

    def __enter__(self) -> Self:
        with contextlib.suppress(OSError, ValueError, termios.error):
            self._input = sys.stdin.fileno()
            self._before = termios.tcgetattr(self._input)
        if self._before is not None:
            tty.setcbreak(self._input, termios.TCSADRAIN)
            self._wake, self._end = os.pipe()
            self._reader = threading.Thread(target=self._read, name="keys", daemon=True)
            self._reader.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._before is None:
            return
        os.close(self._end)
        self._reader.join()
        os.close(self._wake)
        termios.tcsetattr(self._input, termios.TCSADRAIN, self._before)

    def _read(self) -> None:
        while True:
            ready, _, _ = select.select([self._input, self._wake], [], [])
            if self._wake in ready:
                return
            typed = os.read(self._input, 64)
            if not typed:
                return
            if any(key in QUIT for key in typed):
                self.quit = True
                os.kill(os.getpid(), signal.SIGINT)
                return
