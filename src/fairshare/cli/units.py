"""Owns the parsers of values in options and job files that have special rules.

Knows neither options nor files. `fairshare.documents` has the grammars of durations and sizes; this
module adds the rules of options. Every function raises ValueError with a sentence that says what to
write instead.
"""

from typing import Final

from fairshare.documents import durations
from fairshare.documents.sizes import MOST

OF_THEIR_OWN = {"memory-mb": "--memory 512m", "vcores": "--vcores 2"}
"""The resource types that every container has."""

MOST_S: Final = 2**40
LONGEST_TAG = 100


def parse_duration_ms(text: str) -> int:
    """A duration in milliseconds, at least 1.

    >>> parse_duration_ms("10m"), parse_duration_ms("1h30m"), parse_duration_ms("1.5s")
    (600000, 5400000, 1500)
    """
    return durations.parse_duration_ms(text, least_ms=1)


def parse_lifetime_s(text: str) -> int:
    """A whole number of seconds, at least 1.

    >>> parse_lifetime_s("90s"), parse_lifetime_s("1h")
    (90, 3600)
    """
    duration_ms = parse_duration_ms(text)
    if duration_ms % 1_000:
        raise ValueError(f"{text!r} is not a whole number of seconds: write 90s, 10m or 2h")
    if duration_ms > MOST_S * 1_000:
        raise ValueError(f"{text!r} is longer than can be counted: leave it out for no limit")
    return duration_ms // 1_000


def parse_name(text: str) -> str:
    """A name that is not blank.

    >>> parse_name("ann")
    'ann'
    """
    if not text.strip():
        raise ValueError("the name is empty: leave the option out, or write a name")
    return text


def parse_tag(text: str) -> str:
    """A tag of an application, of 1 to 100 characters.

    >>> parse_tag("nightly")
    'nightly'
    """
    if not text or len(text) > LONGEST_TAG:
        raise ValueError(f"a tag has 1 to {LONGEST_TAG} characters, and this one has {len(text)}")
    return text


def parse_amount(text: str) -> tuple[str, int]:
    """A resource type and an amount.

    >>> parse_amount("yarn.io/gpu=2")
    ('yarn.io/gpu', 2)
    """
    name, _, amount = text.partition("=")
    if not name or not (amount.isascii() and amount.isdigit()):
        raise ValueError(f"{text!r} is not an amount: write NAME=N, such as yarn.io/gpu=1")
    if name in OF_THEIR_OWN:
        raise ValueError(f"{name} has an option of its own: write {OF_THEIR_OWN[name]}")
    if int(amount) == 0:
        raise ValueError(f"{text!r} is zero: write 1 or more, or leave the option out")
    if int(amount) > MOST:
        raise ValueError(f"{text!r} is more than can be counted: no machine has that")
    return name, int(amount)


def parse_variable(text: str) -> tuple[str, str]:
    """An environment variable and its value.

    >>> parse_variable("MODE=a=b")
    ('MODE', 'a=b')
    """
    name, sign, value = text.partition("=")
    if not name or not sign:
        raise ValueError(f"{text!r} does not set a variable: write NAME=VALUE")
    return name, value
