"""Verbs that act on several objects: they act on all that they can, and report the others."""

import re
from collections.abc import Callable, Sequence

import click

from fairshare.cli.options import print_json
from fairshare.cli.verbs import Failure
from fairshare.client import Refused
from fairshare.errors import InputError


def act_on_each(
    names: Sequence[str], act: Callable[[str], None], *, kind: str, done: str, as_json: bool
) -> None:
    """Call `act` with each name, and print `killed application_...` for each success.

    Raises Failure with all refusals at the end. As JSON: `{kind: [{"id": ..., done: true}, ...]}`,
    with `done` false and a `message` for each refusal.
    """
    outcomes: list[dict[str, str | bool]] = []
    refused: list[str] = []
    for name in names:
        try:
            act(name)
        except (Refused, InputError, Failure) as error:
            refused.append(_named(name, str(error)))
            outcomes.append({"id": name, done: False, "message": str(error)})
            continue
        outcomes.append({"id": name, done: True})
        if not as_json:
            click.echo(f"{done} {name}")
    if as_json:
        print_json({kind: outcomes})
    if refused:
        raise Failure("\n".join(refused))


def _named(name: str, message: str) -> str:
    """The message of a refusal, with the name prefixed unless it contains it."""
    if re.search(rf"(?<![\w/]){re.escape(name)}(?!\w)", message):
        return message
    return f"{name}: {message}"
