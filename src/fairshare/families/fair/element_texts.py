"""Owns the text of a value of the allocation file: the opposite of `element_values.py`.

Knows no element by name.
"""

import math
from decimal import Decimal
from typing import Final

from fairshare.config import literals
from fairshare.model.resources import UNBOUNDED, Resource, ResourceTypes
from fairshare.schedulers.fair.settings import NEVER_MS, Amount

_NEVER_S: Final = NEVER_MS // 1000 + 1
"""The fewest seconds that are read as never."""


class ElementTexts:
    """Texts of values in the resource types of a site."""

    def __init__(self, types: ResourceTypes) -> None:
        self.types = types

    def amount(self, amount: Amount) -> str:
        """Resources, absolute or as percentages."""
        if amount.absolute is not None:
            return self.maximum(amount.absolute)
        fractions = amount.fractions or ()
        return self._named([f"{percentage(fraction)}%" for fraction in fractions])

    def maximum(self, resource: Resource) -> str:
        """Amounts by type; types without a bound are left out, unless all are."""
        if all(amount == UNBOUNDED for amount in resource):
            return self.minimum(resource)
        return self._named(["" if x == UNBOUNDED else str(x) for x in resource])

    def minimum(self, resource: Resource) -> str:
        """Amounts of all types."""
        if any(amount < 0 for amount in resource):
            raise ValueError(f"{resource} is negative, which a file cannot say")
        return self._named([str(amount) for amount in resource])

    def _named(self, texts: list[str]) -> str:
        pairs = zip(self.types.names, texts, strict=True)
        return ", ".join(f"{name}={text}" for name, text in pairs if text)

    def text(self, value: object) -> str:
        """A text, or a whole number."""
        return str(value)

    def boolean(self, value: bool) -> str:
        """`true` or `false`."""
        return "true" if value else "false"

    def number(self, value: float) -> str:
        """The shortest text of a number of 32 bits."""
        return number(value)

    def seconds(self, time_ms: int) -> str:
        """Milliseconds as whole seconds."""
        return seconds(time_ms)


def number(value: float) -> str:
    """The shortest text of a number of 32 bits: `number(0.20000000298023224) == '0.2'`."""
    for digits in range(1, 18):
        text = f"{value:.{digits}g}"
        if literals.to_single(float(text)) == value:
            return text
    raise ValueError(f"{value!r} is not a number of 32 bits")


def percentage(fraction: float) -> str:
    """The text P with `P / 100 == fraction` in doubles: `percentage(0.07) == '7'`."""
    around = fraction * 100
    if not (fraction >= 0 and math.isfinite(around)):
        raise ValueError(f"{fraction!r} is not a percentage")
    below = above = around
    for _ in range(4):
        for candidate in (round(around, 6), below, above):
            if candidate / 100 == fraction:
                return f"{Decimal(repr(candidate)):f}".removesuffix(".0")
        below, above = math.nextafter(below, 0), math.nextafter(above, math.inf)
    raise ValueError(f"no percentage is {fraction!r}")


def seconds(time_ms: int) -> str:
    """Milliseconds as whole seconds; what never ends as the fewest seconds that never do."""
    if abs(time_ms) == NEVER_MS:
        return str(_NEVER_S if time_ms > 0 else -_NEVER_S)
    if time_ms % 1000:
        raise ValueError(f"{time_ms} ms are not whole seconds, which is all that a file can say")
    return str(time_ms // 1000)
