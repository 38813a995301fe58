"""What all commands of YARN share: the ResourceManager, output, and waiting."""

import time
from collections.abc import Callable, Iterable, Sequence

import click
import msgspec

from fairshare.cli.cells import plain_lines
from fairshare.yarn.cli.arguments import Arguments, Option, WrongUsage, read_arguments, usage
from fairshare.yarn.cli.documents import Fields
from fairshare.yarn.cli.manager import NOT_FOUND, RemoteRefusal, ResourceManager
from fairshare.yarn.cli.writing import columns

FAILED = 255
"""The exit code for `return -1` in Hadoop's commands: a wrong call, or an unknown name."""

_HELP = Option("help", "Displays help for all commands.", other="h")


class Session(msgspec.Struct):
    """One call. `open_manager` is called only if the ResourceManager is needed, not for help."""

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
        """Close the connection."""
        if self.opened is not None:
            self.opened.close()


def say(text: str = "") -> None:
    """Print a line with its tabs on stdout; control characters in users' texts are replaced."""
    click.echo("\t".join(plain_lines(part) for part in text.split("\t")))


def print_error(text: str) -> None:
    """Print a line on stderr."""
    click.echo(plain_lines(text), err=True)


def say_report(title: str, rows: Iterable[tuple[str, object]]) -> int:
    """Print a report; returns the exit code."""
    say(f"{title} Report : ")
    for name, value in rows:
        say(f"\t{name} : {value}")
    return 0


def say_columns(
    widths: Sequence[int], headers: Sequence[str], rows: Iterable[Sequence[object]]
) -> int:
    """Print a list with its headers; returns the exit code."""
    for row in (headers, *rows):
        say(columns(widths, row))
    return 0


def found_or_missing(
    manager: ResourceManager, path: str, identifier: str, what: str, **parents: str
) -> Fields | None:
    """The answer of a path; None after printing that what it names does not exist.

    `parents`: what is missing instead, by Hadoop's exception without `Exception`.
    """
    try:
        found: Fields = manager.get(path)
    except RemoteRefusal as refusal:
        if refusal.status != NOT_FOUND:
            raise
        for exception, words in parents.items():
            what = words if exception in refusal.exception else what
        say(f"{what} with id '{identifier}' doesn't exist in RM or Timeline Server.")
        return None
    return found


class Command:
    """The name and the options of a command; each has `-help` too."""

    def __init__(self, title: str, *options: Option) -> None:
        self._title = title
        self._options = (*options, _HELP)

    def arguments(self, words: Sequence[str]) -> Arguments:
        """The arguments. Raises click's Exit after printing help or a usage error."""
        try:
            given = read_arguments(words, self._options)
        except WrongUsage as wrong:
            raise click.exceptions.Exit(self.wrong_usage(str(wrong))) from wrong
        if "help" in given:
            say(usage(self._title, self._options))
            raise click.exceptions.Exit(0)
        if given.rest:
            message = f"Unrecognized argument: {given.rest[0]}"
            raise click.exceptions.Exit(self.wrong_usage(message))
        return given

    def wrong_usage(self, message: str = "", code: int = FAILED) -> int:
        """Print an error on stderr, and the usage; returns the exit code."""
        print_error(message or "Invalid Command Usage : ")
        say(usage(self._title, self._options))
        return code
