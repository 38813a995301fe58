"""Owns the options and keys that say when an application starts and must be over."""

from collections.abc import Callable, Mapping
from typing import Any

import click

from fairshare.api.work import Dependency
from fairshare.cli.instants import parse_instant_ms
from fairshare.cli.options import checked
from fairshare.documents.bounds import OUTCOMES

Decorated = Callable[..., Any]


def parse_dependency(text: str) -> Dependency:
    """`17`, `17:failed` or `application_1700000000000_0017:any`; raises ValueError.

    >>> parse_dependency("17:any")
    Dependency(application='17', outcome='any')
    """
    name, colon, outcome = text.strip().partition(":")
    if not name or (colon and outcome not in OUTCOMES):
        raise ValueError(
            f"{text!r}: write an application's id or number, and perhaps :ok, :failed or :any"
        )
    return Dependency(application=name, outcome=outcome if colon else "ok")  # type: ignore[arg-type]


START_KEYS = {"after": "after", "begin": "begin_ms", "deadline": "deadline_ms", "hold": "held"}
"""The fields of a submission, by option or key."""

START_OPTIONS = (
    click.option(
        "--after",
        metavar="APP[:ok|failed|any]",
        type=checked(parse_dependency, "APP"),
        multiple=True,
        help="Start when APP has succeeded (ok), failed or ended (any); repeatable. [default: ok]",
    ),
    click.option(
        "--begin",
        metavar="T",
        type=checked(parse_instant_ms, "TIME"),
        help="Start at this instant or later: 22:30, 2026-11-24T06:00, +2h.",
    ),
    click.option(
        "--deadline",
        metavar="T",
        type=checked(parse_instant_ms, "TIME"),
        help="Kill the application if it has not ended at this instant, written as for --begin.",
    ),
    click.option("--hold", is_flag=True, help="Do not start before `fairshare release`."),
)


def start_options(verb: Decorated) -> Decorated:
    """Add the options for the start to a verb."""
    for option in reversed(START_OPTIONS):
        verb = option(verb)
    return verb


def start_fields(given: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a submission that the given options or keys set."""
    return {field: given[name] for name, field in START_KEYS.items() if name in given}
