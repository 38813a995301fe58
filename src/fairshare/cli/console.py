"""The conversation of this terminal, or of these pipes, with a session in a container."""

import contextlib
import os
import select
import signal
import sys
import termios
import tty
from collections.abc import Iterator
from typing import Any

import click

from fairshare.api.frames import STDERR
from fairshare.cli.cells import plain_lines
from fairshare.client.sessions import Session, last_word

_PIECE_BYTES = 16 * 1024
_LOST = 1


def on_terminal() -> bool:
    """Whether standard input and output are a terminal."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def terminal_size() -> dict[str, int]:
    """Rows and columns of this terminal, as a message has them."""
    try:
        size = os.get_terminal_size(0)  # variables may be old
    except OSError:
        return {"rows": 24, "columns": 80}
    return {"rows": size.lines, "columns": size.columns}


def converse(session: Session, *, terminal: bool) -> int:
    """Pass input and output on until the session ends; returns the exit code of the command.

    With `terminal` every key goes to the container, Ctrl-C too, and the size of this terminal.
    """
    sys.stdout.flush()
    with _resized(session) if terminal else contextlib.nullcontext(-1) as wake:
        return _Conversation(session, wake, terminal=terminal).run()


class _Conversation:
    def __init__(self, session: Session, wake: int, *, terminal: bool) -> None:
        self._session = session
        self._wake = wake
        self._terminal = terminal
        self._input: int | None = _standard_input()
        if self._input is None:
            session.say(eof=True)

    def run(self) -> int:
        """Until the session ends."""
        session = self._session
        while True:
            others = {self._wake: select.POLLIN} if self._wake >= 0 else {}
            if self._input is not None and not session.sending:
                others[self._input] = select.POLLIN
            ready = session.wait(others)
            if session.sending:
                session.flush()
            if self._wake in ready:
                os.read(self._wake, 4096)
                session.say(**terminal_size())
            if self._input in ready:
                self._read()
            if session.fileno() in ready:
                for message in session.receive():
                    if message.data:
                        self._show(message.data[0], message.data[1:])
                    if (said := last_word(message)) is not None:
                        return self._ended(said)
                    if message.said is not None:
                        self._print_notice(str(message.said.get("notice", "")))
            if session.lost:
                self._print_notice("the connection was lost")
                return _LOST

    def _read(self) -> None:
        assert self._input is not None
        try:
            data = os.read(self._input, _PIECE_BYTES)
        except OSError:
            data = b""
        if data:
            self._session.send(data)
        else:
            self._session.say(eof=True)
            self._input = None

    def _show(self, stream: int, data: bytes) -> None:
        target = 2 if stream == STDERR else 1
        while data:
            data = data[os.write(target, data) :]

    def _ended(self, said: dict[str, Any]) -> int:
        if "problem" in said:
            self._print_notice(str(said["problem"]))
        code = said.get("exit", said.get("code"))
        return code if type(code) is int and 0 <= code < 256 else 1

    def _print_notice(self, words: str) -> None:
        if words:
            end = "\r\n" if self._terminal else "\n"
            click.echo(plain_lines(f"fairshare: {words}") + end, nl=False, err=True)


def _standard_input() -> int | None:
    try:
        os.fstat(0)
    except OSError:  # it is closed
        return None
    return 0


@contextlib.contextmanager
def _resized(session: Session) -> Iterator[int]:
    """This terminal passes every key on; yields a descriptor that is ready when its size has
    changed."""
    before = termios.tcgetattr(0)
    wake, waker = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    earlier = signal.signal(signal.SIGWINCH, lambda *_: None)
    earlier_waker = signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
    try:
        tty.setraw(0, termios.TCSADRAIN)  # what was typed before is kept
        session.say(**terminal_size())
        yield wake
    finally:
        termios.tcsetattr(0, termios.TCSADRAIN, before)
        signal.set_wakeup_fd(earlier_waker)
        signal.signal(signal.SIGWINCH, earlier)
        os.close(wake)
        os.close(waker)
