"""The keys of `top`, on a terminal of its own."""

import os
import pty
import signal
import sys
import termios
import time
from pathlib import Path

import pytest

from fairshare.cli import top


@pytest.fixture
def terminal(monkeypatch):
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "r") as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        yield ours
    os.close(ours)


def pressed(terminal, typed):
    """What ends a wait in which this is typed."""
    with top.Keys() as found:
        try:
            os.write(terminal, typed)  # the interruption may come before the sleep begins
            time.sleep(30)
        except KeyboardInterrupt:
            return found.quit


@pytest.mark.parametrize("typed", [b"q", b"Q", b"xyq"])
def test_q_ends_a_screen(terminal, typed):
    assert pressed(terminal, typed) is True


def interrupted():
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(30)


def test_ctrl_c_is_still_an_interruption(terminal):
    with top.Keys() as found:
        with pytest.raises(KeyboardInterrupt):
            interrupted()
        assert not found.quit


def test_the_terminal_is_as_it_was_afterwards(terminal):
    before = termios.tcgetattr(sys.stdin)
    with top.Keys():
        assert termios.tcgetattr(sys.stdin) != before
    assert termios.tcgetattr(sys.stdin) == before


def test_without_a_terminal_no_key_is_read(monkeypatch):
    with Path(os.devnull).open() as nothing:
        monkeypatch.setattr(sys, "stdin", nothing)
        with top.Keys() as found:
            assert not found.quit
