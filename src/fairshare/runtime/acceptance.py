"""The acceptance of inputs: only those that the journal can hold are decided.

A refused input changes nothing and has no record.
"""

from collections.abc import Callable
from functools import cache
from operator import attrgetter
from typing import Any, Final, get_args

import msgspec

from fairshare.core.model.events import RequestRefused
from fairshare.core.model.inputs import ContainerExited, ContainerStarted, Input, SubmitApplication
from fairshare.errors import UndecidedError

GREATEST: Final = 2**53
"""The greatest whole number that an input may hold, up or down: readers of JSON know larger ones
only nearly, and what is computed from this one (a thousand times as much) still has 64 bits."""

GREATEST_APPLICATION: Final = 2**23 - 1
"""The greatest number of an application: the numbers of its containers still have 63 bits."""

_GREATEST_CONTAINER: Final = 2**63 - 1

_IDENTIFIERS: Final = frozenset(("container", "containers", "application", "applications"))
_MOST_OF: Final = {"number": GREATEST_APPLICATION}
_WIDE: Final = (b"\xcf", b"\xd3")
"""How MessagePack marks whole numbers of 64 bits, without and with a sign."""

_WITHOUT_NUMBERS: Final = frozenset((str, bytes, bool, float, type(None)))


def refusal_of(input_: Input, encode: Callable[[Input], bytes]) -> RequestRefused | None:
    """The reason to refuse an input: a number is out of range, or it cannot be recorded.

    `encode` writes MessagePack, which marks each number of more than 32 bits with one of two bytes:
    where neither occurs, no number is out of range, and none is looked for.
    """
    if _is_plain_report(input_):
        return None
    unrecordable: Exception | None = None
    try:
        encoded = encode(input_)
    except Exception as error:
        unrecordable = error
    else:
        # The limit of a new application's number is one that 32 bits may exceed.
        numbered = type(input_) is SubmitApplication and input_.number is not None
        if not (_WIDE[0] in encoded or _WIDE[1] in encoded or numbered):
            return None
    found = _out_of_range(input_)
    if found is not None:
        place, wrong = found
        return _refused(input_, "number-out-of-range", f"{place} is out of range: {wrong}")
    if unrecordable is not None:
        words = f"this cannot be recorded, and so is not done: {unrecordable}"
        return _refused(input_, "not-recordable", words)
    return None


def _is_plain_report(input_: Input) -> bool:
    """Whether it says only that a container has started or ended, with numbers in range: the most
    frequent inputs, whose container has more than 32 bits whatever else is there."""
    if type(input_) is ContainerStarted:
        plain = not input_.gpus
    elif type(input_) is ContainerExited:
        plain = (
            not input_.diagnostics
            and -GREATEST <= input_.exit_code <= GREATEST
            and -GREATEST <= input_.peak_memory_mb <= GREATEST
            and -GREATEST <= input_.cpu_ms <= GREATEST
        )
    else:
        return False
    container = input_.container
    return plain and type(container) is int and 0 <= container <= _GREATEST_CONTAINER


def failure_of(input_: Input, error: UndecidedError) -> RequestRefused:
    """The refusal of an input that could not be decided because of a bug in fairshare."""
    words = f"a defect of fairshare keeps this from being done ({error}); nothing has changed"
    return _refused(input_, "internal-error", words)


def _refused(input_: Input, code: str, reason: str) -> RequestRefused:
    application = getattr(input_, "application", 0)
    return RequestRefused(application if isinstance(application, int) else 0, code, reason)


def _out_of_range(value: Any, most: int = GREATEST) -> tuple[str, str] | None:
    """The first number that is out of range: its place within the value, and what is wrong.

    The place is put together on the way back, since nearly always no number is out of range.
    """
    kind: Any = type(value)
    if kind is int:
        if -most <= value <= most:
            return None
        return "", f"it is {_short(value)}; {most} is the most"
    if kind is tuple or kind is list:
        for number, element in enumerate(value):
            held = type(element)
            if held is int and -GREATEST <= element <= GREATEST:
                continue
            if held not in _WITHOUT_NUMBERS and (place := _out_of_range(element)) is not None:
                return _within(f"[{number}]", place)
    elif kind is dict:
        for key, element in value.items():
            if (
                type(element) not in _WITHOUT_NUMBERS
                and (place := _out_of_range(element)) is not None
            ):
                return _within(f"[{key}]", place)
    else:
        fields, values_of = _numbered_fields(kind)
        for (name, default, limit), element in zip(fields, values_of(value), strict=True):
            if not element or element is default:  # nothing has no number
                continue
            held = type(element)
            if held is int and -limit <= element <= limit:
                continue
            if held not in _WITHOUT_NUMBERS:
                place = _out_of_range(element, limit)
                if place is not None:
                    return _within(name, place)
    return None


@cache
def _numbered_fields(
    kind: type,
) -> tuple[tuple[tuple[str, object, int], ...], Callable[[Any], tuple[Any, ...]]]:
    """The fields of a record that may have numbers, with the default, which is in range, and the
    greatest number of each, and a function for their values; none of another class."""
    declared = msgspec.structs.fields(kind) if issubclass(kind, msgspec.Struct) else ()
    fields = tuple(
        (one.name, one.default, _MOST_OF.get(one.name, GREATEST))
        for one in declared
        if one.name not in _IDENTIFIERS and not _is_text(one.type)
    )
    names = [name for name, _, _ in fields]
    if len(names) > 1:
        return fields, attrgetter(*names)
    return fields, lambda value: tuple(getattr(value, name) for name in names)


def _is_text(declared: object) -> bool:
    """Whether all values of a declared type are texts: `str | None`, `tuple[str, ...]`."""
    parts = get_args(declared) or (declared,)
    return all(one in {str, bytes, bool, type(None), ...} for one in parts)


def _within(outer: str, found: tuple[str, str]) -> tuple[str, str]:
    """What was found inside of `outer`."""
    inner, words = found
    return (f"{outer}.{inner}" if inner and inner[0] != "[" else outer + inner), words


def _short(number: int) -> str:
    """A number as a person reads it; one of thousands of digits is not written out."""
    if abs(number) < 10**21:
        return str(number)
    return f"{'-' if number < 0 else ''}more than 10^{(number.bit_length() - 1) * 30103 // 100000}"
