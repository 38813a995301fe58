"""Owns the options and keys that say when an application starts and must be over, and the verbs
`hold`, `release` and `requeue`."""

from collections.abc import Callable, Mapping
from typing import Any

import click

from fairshare.api.work import Dependency
from fairshare.cli.batches import act_on_each
from fairshare.cli.instants import parse_instant_ms
from fairshare.cli.options import checked, json_option, with_client
from fairshare.client import Client
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


def _verb(name: str, done: str, help_text: str) -> click.Command:
    @click.command(name, help=help_text)
    @click.argument("applications", metavar="APP...", nargs=-1, required=True)
    @with_client
    @json_option
    def command(client: Client, applications: tuple[str, ...], as_json: bool) -> None:
        act = getattr(client, name)
        act_on_each(applications, act, kind="applications", done=done, as_json=as_json)

    return command


hold = _verb(
    "hold",
    "held",
    "Hold applications: they start no further tasks until they are released; running tasks"
    " continue.",
)
release = _verb("release", "released", "Release held applications.")
requeue = _verb(
    "requeue", "requeued", "Stop all containers of applications, and run the applications again."
)
