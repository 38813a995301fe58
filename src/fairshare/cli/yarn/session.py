"""Owns what every command of YARN gets: the ResourceManager, where to print, how to wait.

Knows no single command.
"""

import time
from collections.abc import Callable, Sequence
from typing import Protocol

import click
import msgspec

from fairshare.cli.cells import plain_lines
from fairshare.cli.yarn.arguments import Arguments, Option, WrongUsage, read_arguments, usage
from fairshare.cli.yarn.manager import ResourceManager

FAILED = 255
"""What `return -1` of Hadoop's commands becomes: a wrong call, or nothing by that name."""

HELP = Option("help", "Displays help for all commands.", other="h")


class Command(Protocol):
    """One command: a module with this function."""

    def run(self, session: "Session", words: Sequence[str]) -> int:
        """Do it; the exit code."""


class Session(msgspec.Struct):
    """One call. `open_manager` is called when the ResourceManager is needed, and not for help."""

    open_manager: Callable[[], ResourceManager]
    sleep: Callable[[float], None] = time.sleep
    opened: ResourceManager | None = None

    @property
    def manager(self) -> ResourceManager:
        """The ResourceManager."""
        if self.opened is None:
            self.opened = self.open_manager()
        return self.opened

    def close(self) -> None:
        """Let the connection go."""
        if self.opened is not None:
            self.opened.close()


def say(text: str = "") -> None:
    """A line on stdout, with its tabs. What a tenant wrote cannot move the cursor."""
    click.echo("\t".join(plain_lines(part) for part in text.split("\t")))


def tell(text: str) -> None:
    """A line on stderr."""
    click.echo(plain_lines(text), err=True)


def arguments_or_usage(
    title: str, words: Sequence[str], options: Sequence[Option]
) -> Arguments | int:
    """The arguments; or the exit code, after help was asked for or the call is wrong."""
    try:
        given = read_arguments(words, options)
    except WrongUsage as wrong:
        return wrong_usage(title, options, str(wrong))
    if "help" in given:
        say(usage(title, options))
        return 0
    if given.rest:
        return wrong_usage(title, options, f"Unrecognized argument: {given.rest[0]}")
    return given


def wrong_usage(
    title: str, options: Sequence[Option], message: str = "", code: int = FAILED
) -> int:
    """Say what is wrong on stderr and how the command is called; the exit code."""
    tell(message or "Invalid Command Usage : ")
    say(usage(title, options))
    return code
