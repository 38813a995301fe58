"""What a fact is, and how its amounts are read. Knows no kind."""

from collections.abc import Callable, Mapping
from typing import Any

from fairshare.core.model.resources import UNBOUNDED, Resource, ResourceTypes

Fact = Mapping[str, Any]

Evaluator = Callable[[Fact], None]
"""Asks the code what the fact asks; raises Mismatch when the answer is another one."""


class Mismatch(AssertionError):
    """The code's answer is not the fact's."""


class OutOfReach(Exception):
    """What was published cannot come out of the fact's own setup; the message says why."""


def expect(found: object, expected: object, what: str = "") -> None:
    """Raise Mismatch unless both are equal."""
    if found != expected:
        raise Mismatch(f"{what + ': ' if what else ''}expected {expected!r}, found {found!r}")


def amount(value: Any) -> int:
    """A whole number, or `unlimited`."""
    return UNBOUNDED if value == "unlimited" else int(value)


def vector(amounts: Mapping[str, Any], names: tuple[str, ...]) -> Resource:
    """Amounts in the order of names; what is absent is 0."""
    return tuple(amount(amounts.get(name, 0)) for name in names)


def types_of(names: tuple[str, ...]) -> ResourceTypes:
    """Resource types by name, with Hadoop's units."""
    return ResourceTypes(names, ("Mi",) + ("",) * (len(names) - 1))
