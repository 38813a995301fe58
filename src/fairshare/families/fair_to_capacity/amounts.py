"""Owns how numbers and amounts are written in the files that come out, and in findings.

Knows no property and no queue.
"""

from decimal import Decimal

from fairshare.families.fair.element_texts import number
from fairshare.model.resources import MEMORY, UNBOUNDED, Resource, ResourceTypes
from fairshare.schedulers.fair.settings import Amount


def plain_number(value: float) -> str:
    """A number of 32 bits without an exponent: `plain_number(10000.0) == '10000'`."""
    return f"{Decimal(number(value)):f}"


def percent_text(fraction: float) -> str:
    """A part of 1 as a percentage with at most six decimals: `percent_text(1 / 3) == '33.333333'`.

    What is more than nothing never becomes 0.
    """
    text = f"{max(fraction * 100, 0.000001 if fraction > 0 else 0):.6f}"
    return text.rstrip("0").rstrip(".")


def type_key(name: str) -> str:
    """What a resource type is called in brackets: memory-mb is `memory` there."""
    return "memory" if name == MEMORY else name


def vector_text(types: ResourceTypes, amounts: Resource) -> str:
    """`[memory=4096,vcores=4]`."""
    pairs = zip(types.names, amounts, strict=True)
    return "[" + ",".join(f"{type_key(name)}={amount}" for name, amount in pairs) + "]"


def resource_text(types: ResourceTypes, amounts: Resource) -> str:
    """For people: `4 GB, 2 vcores`; types without any, or without bound, are left out."""
    parts = []
    for name, amount in zip(types.names, amounts, strict=True):
        if 0 < amount < UNBOUNDED:
            parts.append(_memory(amount) if name == MEMORY else f"{amount} {name}")
    return ", ".join(parts) or "nothing"


def amount_text(types: ResourceTypes, amount: Amount) -> str:
    """For people, also of parts of the cluster: `50% memory-mb, 25% vcores`."""
    if amount.absolute is not None:
        if all(part >= UNBOUNDED for part in amount.absolute):
            return "no limit"
        bounds = zip(types.names, amount.absolute, strict=True)
        limited = [(n, x) for n, x in bounds if x < UNBOUNDED]
        return ", ".join(_memory(x) if n == MEMORY else f"{x} {n}" for n, x in limited)
    fractions = amount.fractions or ()
    if len(set(fractions)) == 1:
        return f"{percent_text(fractions[0])}%"
    pairs = zip(types.names, fractions, strict=True)
    return ", ".join(f"{percent_text(fraction)}% {name}" for name, fraction in pairs)


def _memory(mb: int) -> str:
    return f"{mb // 1024} GB" if mb and mb % 1024 == 0 else f"{mb} MB"
