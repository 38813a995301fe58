"""What all commands of YARN share: the ResourceManager, arguments, output, and waiting.

Options are long, with one dash, in any order. As in Hadoop's commands, `-name`, `--name` and
`-name=value` are the same option; an option takes no value, one, or all words up to the next
option, and some split a value at commas.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence

import click
import msgspec

from fairshare.wording import plain_lines
from fairshare.yarn.cli.documents import Fields, columns
from fairshare.yarn.cli.manager import NOT_FOUND, RemoteRefusal, ResourceManager

MANY = -1
"""All words up to the next option."""


class WrongUsage(Exception):
    """The arguments are invalid for this command; the message says why, and may be empty."""


class Option(msgspec.Struct, frozen=True):
    """One option. `values` is the maximum number of its words, `needs` the minimum.

    `commas`: commas divide a word into several values. `other` is an alias.
    """

    name: str
    help: str = ""
    values: int = 0
    argument: str = ""
    commas: bool = False
    needs: int = 1
    other: str = ""


class Arguments:
    """The parsed arguments: the values of each option, and the remaining words (`rest`)."""

    def __init__(self, values: Mapping[str, tuple[str, ...]], rest: tuple[str, ...]) -> None:
        self._values = values
        self.rest = rest

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def value(self, name: str) -> str:
        """The first value of a given option."""
        return self._values[name][0]

    def values(self, name: str) -> tuple[str, ...]:
        """All values, stripped and without empty ones; () if the option was not given."""
        return tuple(word.strip() for word in self._values.get(name, ()) if word.strip())

    def only(self, *names: str) -> bool:
        """Whether only these options were given."""
        return set(self._values) <= set(names)


def read_arguments(words: Sequence[str], options: Sequence[Option]) -> Arguments:
    """Divide the words among the options; raises WrongUsage.

    >>> found = read_arguments(["-list", "-appStates", "RUNNING,ACCEPTED"],
    ...     [Option("list"), Option("appStates", values=MANY, commas=True)])
    >>> found.values("appStates"), "list" in found
    (('RUNNING', 'ACCEPTED'), True)
    """
    known = {name: option for option in options for name in (option.name, option.other) if name}
    values: dict[str, tuple[str, ...]] = {}
    rest: list[str] = []
    waiting = list(words)
    while waiting:
        word = waiting.pop(0)
        name, divider, inline = word.lstrip("-").partition("=")
        if not _is_option(word):
            rest.append(word)
            continue
        option = known.get(name)
        if option is None or (divider and not option.values):
            raise WrongUsage(f"Unrecognized option: {word}")
        taken = [inline] if divider else []
        while waiting and (option.values == MANY or len(taken) < option.values):
            if _is_option(waiting[0]):
                break
            taken.append(waiting.pop(0))
        if option.values and len(taken) < option.needs:
            raise WrongUsage("Missing argument for options")
        if option.commas:
            taken = [part for word in taken for part in word.split(",")]
        values[option.name] = (*values.get(option.name, ()), *taken)
    return Arguments(values, tuple(rest))


def _is_option(word: str) -> bool:
    """Whether a word is an option: it starts with a dash, and is not a negative number.

    >>> _is_option("-list"), _is_option("-5"), _is_option("-")
    (True, False, False)
    """
    return word.startswith("-") and len(word.strip("-")) > 0 and not word[1:].isdigit()


def usage(title: str, options: Sequence[Option]) -> str:
    """The usage message of a command.

    >>> options = [Option("list", "Lists all."), Option("status", "Shows one.", 1, "ID")]
    >>> print(usage("demo", options))
    usage: demo
     -list          Lists all.
     -status <ID>   Shows one.
    """
    names = {}
    for option in sorted(options, key=lambda one: one.name.lower()):
        shown = f"-{option.name}" + (f",--{option.other}" if option.other else "")
        names[shown + (f" <{option.argument or 'arg'}>" if option.values else "")] = option.help
    width = max(map(len, names))
    return "\n".join([f"usage: {title}", *(f" {n:{width}}   {text}" for n, text in names.items())])


FAILED = 255
"""The exit code for `return -1` in Hadoop's commands: a wrong call, or an unknown name."""

_HELP = Option("help", "Displays help for all commands.", other="h")


class Call(msgspec.Struct):
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
        fields: Fields = manager.get(path)
    except RemoteRefusal as refusal:
        if refusal.status != NOT_FOUND:
            raise
        for exception, words in parents.items():
            what = words if exception in refusal.exception else what
        say(f"{what} with id '{identifier}' doesn't exist in RM or Timeline Server.")
        return None
    return fields


class Command:
    """The name and the options of a command; each has `-help` too."""

    def __init__(self, title: str, *options: Option) -> None:
        self._title = title
        self._options = (*options, _HELP)

    def arguments(self, words: Sequence[str]) -> Arguments:
        """The arguments. Raises click's Exit after printing help or a usage error."""
        try:
            arguments = read_arguments(words, self._options)
        except WrongUsage as wrong:
            raise click.exceptions.Exit(self.wrong_usage(str(wrong))) from wrong
        if "help" in arguments:
            say(usage(self._title, self._options))
            raise click.exceptions.Exit(0)
        if arguments.rest:
            message = f"Unrecognized argument: {arguments.rest[0]}"
            raise click.exceptions.Exit(self.wrong_usage(message))
        return arguments

    def wrong_usage(self, message: str = "", code: int = FAILED) -> int:
        """Print an error on stderr, and the usage; returns the exit code."""
        print_error(message or "Invalid Command Usage : ")
        say(usage(self._title, self._options))
        return code
