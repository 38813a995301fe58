"""Owns long work in steps: a generator with a pause wherever other work may run. Knows neither what
is made nor how long a pause takes."""

from collections.abc import Callable, Generator
from typing import TypeVar

Made = TypeVar("Made")

Steps = Generator[None, None, Made]
"""The making of something, with a pause wherever other work may run, and the state may change."""


def at_once(steps: Steps[Made]) -> Made:
    """What the steps make, without a pause."""
    while True:
        try:
            next(steps)
        except StopIteration as made:
            value: Made = made.value
            return value


def in_one_step(make: Callable[[], Made]) -> Steps[Made]:
    """What takes too little time for a pause."""
    yield from ()
    return make()
