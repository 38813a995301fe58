"""The units of resource amounts and their conversion."""

import re
from fractions import Fraction
from typing import Final

from fairshare.documents import literals

_FACTORS: Final = {
    "p": Fraction(1, 10**12),
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 10**3),
    "": Fraction(1),
    "k": Fraction(10**3),
    "M": Fraction(10**6),
    "G": Fraction(10**9),
    "T": Fraction(10**12),
    "P": Fraction(10**15),
    "Ki": Fraction(2**10),
    "Mi": Fraction(2**20),
    "Gi": Fraction(2**30),
    "Ti": Fraction(2**40),
    "Pi": Fraction(2**50),
}

_AMOUNT = re.compile(r"([0-9]+) ?([a-zA-Z]*)")


def is_unit(text: str) -> bool:
    """Whether this is a unit (the empty text is one)."""
    return text in _FACTORS


def convert(amount: int, unit: str, target: str) -> int:
    """An amount in another unit, fractions cut off: `convert(1, "Gi", "Mi") == 1024`."""
    return int(amount * _FACTORS[unit] / _FACTORS[target])


def read_amount(text: str, target: str) -> int:
    """`digits[ ]unit?` in the unit `target`, which is also the one that may be left out.

    `read_amount("1 Gi", "Mi") == 1024` (Hadoop: FairSchedulerConfiguration.getIncrementAllocation).
    Raises ValueError.
    """
    trimmed = literals.trim(text)
    match = _AMOUNT.fullmatch(trimmed)
    if not match:
        raise ValueError(f"{trimmed!r} is not a whole number with a unit, such as '1 Gi'")
    amount = literals.long(match.group(1))
    unit = match.group(2)
    if not unit:
        return amount
    if not is_unit(unit):
        known = ", ".join(name for name in _FACTORS if name)
        raise ValueError(f"{trimmed!r} has the unknown unit {unit!r}: the units are {known}")
    return convert(amount, unit, target)
