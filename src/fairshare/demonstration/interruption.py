"""Owns the effect of Ctrl-C and of other signals to end: the demonstration cleans up and ends.

The first signal becomes an exception, so that everything is cleaned up; further signals are
ignored, so that they do not interrupt that.
"""

import contextlib
import signal
from collections.abc import Iterator
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
SHELL_OFFSET = 128
"""A shell shows a program that ended by signal n as exit code 128 + n."""


@contextlib.contextmanager
def ended_by_signals() -> Iterator[None]:
    """In this block SIGINT raises KeyboardInterrupt; SIGTERM and SIGHUP raise SystemExit."""
    before = {number: signal.getsignal(number) for number in SIGNALS}
    for number in SIGNALS:
        # A process that nohup started must not end with its terminal.
        if number != signal.SIGHUP or before[number] != signal.SIG_IGN:
            signal.signal(number, _end)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _end(number: int, frame: FrameType | None) -> None:
    for other in SIGNALS:
        signal.signal(other, signal.SIG_IGN)
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    raise SystemExit(SHELL_OFFSET + number)
