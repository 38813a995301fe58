"""The command line options that verbs share: the server, typed values, JSON and its output.

Opens the client for a verb and closes it. Must not load what draws tables: that takes longer than
all else that most verbs do.
"""

import functools
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from fairshare.cli.units import parse_duration_ms, parse_name, parse_tag, parse_variable
from fairshare.client import Client
from fairshare.client.discovery import STATE_VARIABLE
from fairshare.documents.gpus import parse_gpus
from fairshare.documents.sizes import MOST, parse_memory_mb

Value = TypeVar("Value")
Verb = Callable[..., None]


def checked(parse: Callable[[str], Value], metavar: str = "TEXT") -> Callable[[str], Value]:
    """The type of an option that is parsed by a function: its ValueError is a usage error.

    `metavar` is for the help of options without one of their own.
    """

    @functools.wraps(parse)
    def parsed(text: str) -> Value:
        try:
            return parse(text)
        except ValueError as error:
            raise click.BadParameter(str(error)) from error

    parsed.__name__ = metavar  # click's name of the type
    return parsed


class Whole(click.ParamType[int]):
    """A whole number between bounds, which the messages name; `most` None: no upper bound."""

    name = "N"

    def __init__(self, least: int, most: int | None = None) -> None:
        self.least = least
        self.most = most

    def convert(
        self, value: object, parameter: click.Parameter | None, context: click.Context | None
    ) -> int:
        """Parse the number; a usage error says what to write instead."""
        text = str(value).strip()
        if not re.fullmatch(r"[+-]?[0-9]{1,4000}", text):
            self.fail(f"{text!r} is not a whole number: write digits, such as {max(1, self.least)}")
        number = int(text)
        if number < self.least:
            self.fail(f"{text} is too small: write {self.least} or more")
        if number > (MOST if self.most is None else self.most):
            least = "no machine has so much" if self.most is None else f"{self.most} is the most"
            self.fail(f"{text} is too large: {least}")
        return number


class Number(click.ParamType[float]):
    """A number from `least` to `most`, which the message names; without `zero` not 0 itself."""

    name = "N"

    def __init__(self, least: float, most: float, *, zero: bool = True) -> None:
        self.least = least
        self.most = most
        self.zero = zero

    def convert(
        self, value: object, parameter: click.Parameter | None, context: click.Context | None
    ) -> float:
        """Parse the number; a usage error says what to write instead."""
        text = str(value).strip()
        number = float(text) if re.fullmatch(r"[+-]?[0-9]{0,300}\.?[0-9]{1,300}", text) else None
        if (
            number is None
            or not self.least <= number <= self.most
            or (number == 0 and not self.zero)
        ):
            least = f"{self.least:g}" if self.zero else f"more than {self.least:g}"
            self.fail(
                f"{text!r} is not a number that is possible here: from {least} to {self.most:g}"
            )
        return number


MEMORY = checked(parse_memory_mb, "MEMORY")
DURATION = checked(parse_duration_ms, "TIME")
NAME = checked(parse_name, "NAME")
TAG = checked(parse_tag, "TAG")
VARIABLE = checked(parse_variable, "NAME=VALUE")
GPUS = checked(parse_gpus, "G")
PRIORITY = Whole(-(2**31), 2**31 - 1)
"""Hadoop's range of priorities."""

MOST_NODES = 10_000
"""The maximum number of nodes of one machine or a simulation, which catches typing errors."""

MOST_TASKS = 1_000_000
MOST_ATTEMPTS = 1_000
"""The maximum numbers of tasks of a group, and of attempts of a task."""


def default_directory() -> Path:
    """Where `init` writes a configuration, and `serve` looks for one."""
    return Path("/etc/fairshare" if os.geteuid() == 0 else "~/.config/fairshare/conf").expanduser()


STATE_DEFAULT: Final = "[default: FAIRSHARE_STATE, or that of `fairshare serve` without options]"


def server_state() -> Path:
    """The state directory of a server that was started without options: FAIRSHARE_STATE, else what
    the configuration in its place says, else the one in the home directory."""
    if named := os.environ.get(STATE_VARIABLE):
        return Path(named).expanduser()
    # What reads configurations takes long to import.
    from fairshare.server.settings import state_directory_of

    return state_directory_of(default_directory())


state_option = click.option(
    "--state",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    default=server_state,
    help=f"The server's state directory. {STATE_DEFAULT}",
)


def with_client(verb: Verb) -> Verb:
    """Add `--url` to a verb, and pass it an open client as its first argument.

    If the outermost context has an object, it is the function that opens the client, called with
    the URL or None.
    """

    @click.option("--url", metavar="URL", help="The server's URL, instead of the one found.")
    @functools.wraps(verb)
    def opened(*arguments: object, url: str | None, **options: object) -> None:
        open_client: Callable[[str | None], Client]
        open_client = click.get_current_context().find_root().obj or Client
        with open_client(url) as client:
            verb(client, *arguments, **options)

    return opened


class SchedulerChoice(click.Choice[str]):
    """Schedulers by their public names: `mapreduce` is the scheduler named `pools`."""

    def __init__(self, names: Sequence[str]) -> None:
        # Clients of a server do without the schedulers, and start faster.
        from fairshare.settings.registry import family_of

        self._public = {name: family_of(name).public_name for name in names}
        self._names = {public: name for name, public in self._public.items()}
        super().__init__(list(self._names))

    def convert(
        self, value: Any, parameter: click.Parameter | None, context: click.Context | None
    ) -> str:
        """The scheduler's internal name, which is also accepted."""
        chosen = super().convert(self._public.get(value, value), parameter, context)
        return self._names[chosen]


def scheduler_option(names: Sequence[str]) -> Callable[[Verb], Verb]:
    """The option `--scheduler`, which overrides the configured scheduler."""
    return click.option(
        "--scheduler",
        type=SchedulerChoice(names),
        help="The scheduler, instead of the configured one.",
    )


json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON, for scripts.")

tags_option = click.option(
    "--tag",
    "tags",
    metavar="T",
    type=TAG,
    multiple=True,
    help="A tag, by which to find the application; repeatable.",
)


def without_dashes(command_line: tuple[str, ...], after: str = "") -> tuple[str, ...]:
    """The words of a command without the `--` before them.

    Raises UsageError if they begin with an option, which belongs before the argument `after`.
    """
    if command_line[:1] == ("--",):
        return command_line[1:]
    if after and command_line and command_line[0].startswith("-"):
        raise click.UsageError(f"options come before {after}: move {command_line[0]} to there")
    return command_line


def print_json(answer: object) -> None:
    """Print a server's answer as JSON, for scripts. JSON escapes texts from users."""
    import json  # which only output for scripts needs

    click.echo(json.dumps(answer, indent=2))
