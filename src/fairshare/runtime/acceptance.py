"""Owns the acceptance of inputs: only those that the journal can hold are decided.

A refused input changes nothing and has no record. Must not know what an input means.
"""

from collections.abc import Callable
from typing import Any, Final

import msgspec

from fairshare.errors import UndecidedError
from fairshare.model.events import RequestRefused
from fairshare.model.inputs import Input

GREATEST: Final = 2**53
"""The greatest whole number that an input may hold, up or down: readers of JSON know larger ones
only nearly, and what is computed from this one (a thousand times as much) still has 64 bits."""

GREATEST_APPLICATION: Final = 2**23 - 1
"""The greatest number of an application: the numbers of its containers still have 63 bits."""

_IDENTIFIERS: Final = frozenset(("container", "containers", "application", "applications"))
_MOST_OF: Final = {"number": GREATEST_APPLICATION}


def refusal_of(given: Input, encode: Callable[[Input], object]) -> RequestRefused | None:
    """The reason to refuse an input: a number is out of range, or it cannot be recorded."""
    found = _out_of_range(given, "")
    if found is not None:
        return _refused(given, "number-out-of-range", found)
    try:
        encode(given)
    except Exception as error:
        words = f"this cannot be recorded, and so is not done: {error}"
        return _refused(given, "not-recordable", words)
    return None


def failure_of(given: Input, error: UndecidedError) -> RequestRefused:
    """The refusal of an input that could not be decided because of a bug in fairshare."""
    words = f"a defect of fairshare keeps this from being done ({error}); nothing has changed"
    return _refused(given, "internal-error", words)


def _refused(given: Input, code: str, reason: str) -> RequestRefused:
    application = getattr(given, "application", 0)
    return RequestRefused(application if isinstance(application, int) else 0, code, reason)


def _out_of_range(value: Any, place: str, most: int = GREATEST) -> str | None:
    """The first number that is out of range, in words."""
    kind = type(value)
    if kind is int:
        if -most <= value <= most:
            return None
        return f"{place} is out of range: it is {_short(value)}; {most} is the most"
    if kind is tuple or kind is list:
        for number, one in enumerate(value):
            found = _out_of_range(one, f"{place}[{number}]")
            if found is not None:
                return found
    elif kind is dict:
        for key, one in value.items():
            found = _out_of_range(one, f"{place}[{key}]")
            if found is not None:
                return found
    elif isinstance(value, msgspec.Struct):
        for name in value.__struct_fields__:
            if name not in _IDENTIFIERS:
                within = f"{place}.{name}" if place else name
                one = getattr(value, name)
                found = _out_of_range(one, within, _MOST_OF.get(name, GREATEST))
                if found is not None:
                    return found
    return None


def _short(number: int) -> str:
    """A number as a person reads it; one of thousands of digits is not written out."""
    if abs(number) < 10**21:
        return str(number)
    return f"{'-' if number < 0 else ''}more than 10^{(number.bit_length() - 1) * 30103 // 100000}"
