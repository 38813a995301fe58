"""Owns what `history` and `report` share: which ends are meant."""

import functools
from collections.abc import Callable
from datetime import datetime
from typing import Any

import click

from fairshare.cli.apps import STATES
from fairshare.cli.lists import list_options
from fairshare.cli.moments import parse_moment_ms, parse_month_ms
from fairshare.cli.options import checked

Verb = Callable[..., None]

ENDED = tuple(state for state in STATES if state not in ("PENDING", "RUNNING"))


def filter_options(verb: Verb) -> Verb:
    """Add the options that choose ends; the verb gets them as `filters`."""

    @click.option("--user", metavar="USER", help="Only those of this user.")
    @click.option("--queue", metavar="QUEUE", help="Only those of this queue and those below it.")
    @click.option("--tag", metavar="TAG", help="Only those with this tag.")
    @click.option("--name", metavar="NAME", help="Only those with this name.")
    @click.option(
        "--state",
        "states",
        multiple=True,
        type=click.Choice(ENDED, case_sensitive=False),
        help="Only those that ended like this; repeatable.",
    )
    @click.option(
        "--since", metavar="WHEN", type=checked(_moment), help="Ended at this time or later."
    )
    @click.option("--until", metavar="WHEN", type=checked(_moment), help="Ended before this time.")
    @click.option("--month", metavar="YYYY-MM", type=checked(_month), help="Ended in this month.")
    @list_options
    @functools.wraps(verb)
    def filtered(
        *arguments: Any,
        user: str | None,
        queue: str | None,
        tag: str | None,
        name: str | None,
        states: tuple[str, ...],
        since: int | None,
        until: int | None,
        month: tuple[int, int] | None,
        **options: Any,
    ) -> None:
        if month is not None:
            if since is not None or until is not None:
                raise click.UsageError("--month, and --since with --until: give one of both")
            since, until = month
        if since is not None and until is not None and until <= since:
            raise click.UsageError("--until is not after --since: there is nothing in between")
        filters = {
            "user": user,
            "queue": queue,
            "tag": tag,
            "name": name,
            "state": ",".join(states) or None,
            "since_ms": since,
            "until_ms": until,
        }
        verb(*arguments, filters=filters, **options)

    return filtered


def percent(ratio: float | None) -> str:
    """A ratio as a percentage; a dash if there is none.

    >>> percent(0.256), percent(None)
    ('26%', '-')
    """
    return "-" if ratio is None else f"{ratio:.0%}"


def _moment(text: str) -> int:
    return parse_moment_ms(text, datetime.now().astimezone())


def _month(text: str) -> tuple[int, int]:
    return parse_month_ms(text)
