"""Owns the three ways in which the allocation file writes resources
(Hadoop: FairSchedulerConfiguration.parseResourceConfigValue).

Knows no element: what a setting may be, and where it is, is the caller's. All functions raise
ValueError with a message that says what is wrong with the text.
"""

import re
from typing import Final

from fairshare.config import literals
from fairshare.model.resources import ResourceTypes
from fairshare.schedulers.fair.settings import Amount

# The search for amounts in a text takes time that grows with the square of its length.
_LONGEST: Final = 2_000

_PERCENT = re.compile(r"(-?[0-9]+(?:\.[0-9]*)?)\s*%", re.ASCII)
_PERCENT_OF = {
    "memory": re.compile(r"(-?[0-9]+(?:\.[0-9]*)?)\s*%\s*memory", re.ASCII),
    "cpu": re.compile(r"(-?[0-9]+(?:\.[0-9]*)?)\s*%\s*cpu", re.ASCII),
}
_AMOUNT_OF = {
    "mb": re.compile(r"(-?[0-9]+)(?:\.[0-9]*)?\s*mb", re.ASCII),
    "vcores": re.compile(r"(-?[0-9]+)(?:\.[0-9]*)?\s*vcores", re.ASCII),
}
_NUMBER_AND_WORD = re.compile(r"-?[0-9]+(?:\.[0-9]*)?\s*[a-z]+\s*", re.ASCII)


def read_resources(text: str, types: ResourceTypes, missing: int) -> Amount:
    """Resources as the allocation file writes them.

    `missing` is what a type gets that a list of absolute amounts does not name.

    >>> read_resources("memory-mb=1024", ResourceTypes(), 0).absolute
    (1024, 0)
    >>> read_resources("2 vcores, 5120 mb", ResourceTypes(), 0).absolute
    (5120, 2)
    >>> read_resources("50% memory, 25% cpu", ResourceTypes(), 0).fractions
    (0.5, 0.25)
    """
    if not literals.trim(text):
        raise ValueError("there is no amount")
    if len(text) > _LONGEST:
        raise ValueError(f"the text is longer than {_LONGEST} characters")
    if "=" in text:
        return _new_style(text, types, missing)
    if "%" in text:
        return _old_percentages(text.lower(), types)
    return _old_amounts(text.lower(), types)


def forbids_further_types(text: str, types: ResourceTypes) -> bool:
    """Whether this text gives 0 to each type but memory and vcores, without saying so.

    Both old styles do that, but for the lone percentage
    (Hadoop: FairSchedulerConfiguration.parseResourceConfigValue).
    """
    return len(types.names) > 2 and "=" not in text and ("%" not in text or "," in text)


def _new_style(text: str, types: ResourceTypes, missing: int) -> Amount:
    percent = "%" in text
    amounts: dict[str, int] = {}
    fractions: dict[str, float] = {}
    for part in _split(text):
        pieces = [literals.trim(piece) for piece in part.split("=")]
        if len(pieces) != 2 or not all(pieces):
            raise ValueError(f"{literals.trim(part)!r} must be of the form name=amount")
        name, value = pieces
        if name not in types.names:
            known = ", ".join(types.names)
            raise ValueError(
                f"there is no resource type {name!r} (there are {known}; further ones are"
                " declared with yarn.resource-types)"
            )
        if percent:
            if not _PERCENT.fullmatch(value):
                raise ValueError(f"either all amounts are percentages or none is: {value!r}")
            fractions[name] = _fraction(_PERCENT, value)
        else:
            amounts[name] = literals.long(value)
            if amounts[name] < 0:
                raise ValueError(f"{literals.trim(part)!r} is negative")
    if percent:
        return Amount(fractions=tuple(fractions.get(name, 1.0) for name in types.names))
    return Amount(absolute=types.vector(amounts, missing))


def _old_percentages(text: str, types: ResourceTypes) -> Amount:
    if "," not in text:
        return Amount(fractions=(_fraction(_PERCENT, text),) * len(types.names))
    parts = _split(text)
    of = [_fraction(_PERCENT_OF[word], _part_with(word, parts)) for word in ("memory", "cpu")]
    return Amount(fractions=(*of, *(0.0,) * (len(types.names) - 2)))


def _old_amounts(text: str, types: ResourceTypes) -> Amount:
    parts = _split(text)
    if len(parts) != 2:
        parts = _NUMBER_AND_WORD.findall(text)
    if len(parts) != 2:
        raise ValueError("two amounts are needed, as in '1024 mb, 2 vcores'")
    amounts = []
    for unit in ("mb", "vcores"):
        part = _part_with(unit, parts)
        match = _AMOUNT_OF[unit].match(part)
        if not match:
            raise ValueError(f"{part!r} does not begin with an amount of {unit}")
        amounts.append(literals.integer(match.group(1)))
        if amounts[-1] < 0:
            raise ValueError(f"{part!r} is negative")
    return Amount(absolute=(*amounts, *(0,) * (len(types.names) - 2)))


def _split(text: str) -> list[str]:
    """The parts between commas, without empty ones at the end."""
    parts = text.split(",")
    while parts and not parts[-1]:
        parts.pop()
    return parts


def _part_with(word: str, parts: list[str]) -> str:
    for part in parts:
        if word in part:
            return literals.trim(part)
    raise ValueError(f"there is no amount of {word!r}")


def _fraction(pattern: re.Pattern[str], part: str) -> float:
    trimmed = literals.trim(part)
    match = pattern.fullmatch(trimmed)
    if not match:
        raise ValueError(f"{trimmed!r} is not a percentage as in '50%' or '50% memory, 25% cpu'")
    fraction = literals.double(match.group(1)) / 100
    if fraction < 0:
        raise ValueError(f"{trimmed!r} is negative")
    return fraction
