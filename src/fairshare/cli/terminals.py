"""The verbs `attach` and `exec`: this terminal, or these pipes, with a session in a container."""

import contextlib
import os
import select
import signal
import sys
import termios
import tty
from collections.abc import Iterator, Mapping

import click

from fairshare.api.frames import STDERR
from fairshare.cli.options import with_client, without_dashes
from fairshare.cli.orders import running_container
from fairshare.cli.run import Endings, LiveOutput, follow
from fairshare.client import Client
from fairshare.client.discovery import Server
from fairshare.client.errors import Refused
from fairshare.client.sessions import Session, last_word, open_session
from fairshare.wording import plain_lines

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
        self._input: int | None = 0
        try:
            os.fstat(self._input)
        except OSError:  # it is closed
            self._input = None
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

    def _ended(self, said: Mapping[str, object]) -> int:
        if "problem" in said:
            self._print_notice(str(said["problem"]))
        code = said.get("exit", said.get("code"))
        return code if type(code) is int and 0 <= code < 256 else 1

    def _print_notice(self, words: str) -> None:
        if words:
            end = "\r\n" if self._terminal else "\n"
            click.echo(plain_lines(f"fairshare: {words}") + end, nl=False, err=True)


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


@click.command()
@click.argument("target", metavar="APP[/TASK]|CONTAINER")
@with_client
def attach(client: Client, target: str) -> None:
    """Follow a running application.

    For a terminal (fairshare shell) it takes the terminal over. For any other application it shows
    the output until the application has ended, and exits with the exit code of its command; Ctrl-C
    leaves it running.
    """
    application, _, task = target.partition("/")
    if task or target.startswith("container_"):
        code = _terminal(client, running_container(client, target), optional=False)
    else:
        running = [one.id for one in client.containers(application) if one.state == "RUNNING"]
        code = _terminal(client, running[0], optional=True) if len(running) == 1 else None
    if code is not None:
        raise click.exceptions.Exit(code)
    several = len(client.containers(application)) > 1
    raise click.exceptions.Exit(
        follow(client, application, Endings(), LiveOutput(client, lines=several))
    )


NO_TERMINAL = ("no-terminal", "no-session", "not-running")
"""The codes of refusals after which an application's output is shown: the container has no
terminal, or has just ended."""


def _terminal(client: Client, container: str, *, optional: bool) -> int | None:
    """Take a terminal over; returns the exit code. None: there is none, and it is `optional`."""
    try:
        session = open_session(Server(client.url, None), container, "terminal")
    except Refused as refusal:
        if refusal.code in NO_TERMINAL and optional:
            return None
        raise
    with session:
        return converse(session, terminal=on_terminal())


@click.command(context_settings={"allow_interspersed_args": False})
@click.argument("target", metavar="APP[/TASK]|CONTAINER")
@click.argument("command_line", metavar="[--] COMMAND [ARGUMENT]...", nargs=-1, required=True)
@click.option(
    "--terminal/--no-terminal",
    default=None,
    help="Whether the command gets a terminal. [default: if this is one]",
)
@with_client
def exec_command(
    client: Client, target: str, command_line: tuple[str, ...], terminal: bool | None
) -> None:
    """Run a command in a running container.

    It has the account, the environment, the working directory and the limits of the container, and
    standard input. The exit code is that of the command. It ends with the container, with this
    program, and when the connection is lost.
    """
    terminal = on_terminal() if terminal is None else terminal
    arguments = without_dashes(command_line, "APP")
    if not arguments:
        raise click.UsageError("a command is needed: what is to run there")
    container = running_container(client, target)
    request: dict[str, object] = {"arguments": arguments}
    if terminal:
        term = os.environ.get("TERM", "")
        request |= {"terminal": True, "term": term, **terminal_size()}
    with open_session(Server(client.url, None), container, "exec") as session:
        session.say(**request)
        raise click.exceptions.Exit(converse(session, terminal=terminal and on_terminal()))
