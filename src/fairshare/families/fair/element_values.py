"""Owns one element of the allocation file as a value of some kind, and the text of such a value.

Knows no element by name. Each method that reads reports what is wrong at the text's place and
returns None.
"""

import math
from collections.abc import Callable, Collection
from decimal import Decimal
from difflib import get_close_matches
from typing import Final, TypeVar

from fairshare.config import literals
from fairshare.config.problems import Problems
from fairshare.config.xml import Element
from fairshare.families.fair.installed_policies import available_policies, class_names
from fairshare.families.fair.resource_text import forbids_further_types, read_resources
from fairshare.model.resources import UNBOUNDED, Resource, ResourceTypes
from fairshare.schedulers.fair.settings import NEVER_MS, Amount

BAD_FILE: Final = "refuses the whole file"

_JAVA_POLICIES: Final = {
    "org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.policies." + name: policy
    for name, policy in (
        ("FairSharePolicy", "fair"),
        ("FifoPolicy", "fifo"),
        ("DominantResourceFairnessPolicy", "drf"),
    )
}

# What a setting is called in the original MapReduce scheduler, or one level further out.
_OLD_NAMES: Final = {
    "maxRunningJobs": "maxRunningApps",
    "userMaxJobsDefault": "userMaxAppsDefault",
    "poolMaxJobsDefault": "queueMaxAppsDefault",
    "defaultPoolSchedulingMode": "defaultQueueSchedulingPolicy",
    "defaultMinSharePreemptionTimeout": "minSharePreemptionTimeout",
    "defaultFairSharePreemptionTimeout": "fairSharePreemptionTimeout",
}

_T = TypeVar("_T")


class ElementValues:
    """Reads elements' texts; names refer to `types`, and to the policies that there are, those
    of installed packages too."""

    def __init__(self, types: ResourceTypes, problems: Problems) -> None:
        self.types = types
        self.problems = problems
        self.policies = available_policies()

    def integer(self, element: Element) -> int | None:
        """A whole number of 32 bits."""
        return self._read(element, literals.integer)

    def single(self, element: Element) -> float | None:
        """A number rounded to 32 bits."""
        return self._read(element, literals.single)

    def share(self, element: Element) -> float | None:
        """A fraction of at most 1; negative ones have a meaning."""
        value = self.single(element)
        return None if value is None else min(value, 1.0)

    def fraction(self, element: Element) -> float | None:
        """A number, moved into 0 to 1."""
        value = self.single(element)
        return None if value is None else min(max(value, 0.0), 1.0)

    def weight(self, element: Element) -> float | None:
        """A number that is not negative."""
        value = self.single(element)
        if value is not None and value < 0:
            self._refuse(
                element, f"a weight must not be negative: {element.trimmed}", "computes with it"
            )
            return None
        return value

    def applications(self, element: Element) -> int | None:
        """A number of running applications."""
        value = self.integer(element)
        if value is not None and value <= 0:
            self.problems.trap(
                element.text_place,
                element.name,
                f"with <{element.name}> {value} no application ever starts",
                "holds every application back",
            )
        return value

    def seconds(self, element: Element) -> int | None:
        """Seconds, as milliseconds: what is too long for 64 bits never ends."""
        value = self._read(element, literals.long)
        if value is None:
            return None
        if value < 0:
            self.problems.trap(
                element.text_place,
                element.name,
                f"<{element.name}> {value} is always over; leave the element out to take the"
                " parent's value",
                "counts it as a time that is always over",
            )
        return max(min(value * 1000, NEVER_MS), -NEVER_MS)

    def boolean(self, element: Element) -> bool | None:
        """True for `true` in any case; any other word is false."""
        text = self.word(element)
        if text is None:
            return None
        value = literals.boolean(text)
        if value is None:
            self.problems.trap(
                element.text_place, element.name, f"{text!r} counts as false", "reads it as false"
            )
        return value is True

    def amount(self, element: Element, missing: int) -> Amount | None:
        """Resources, absolute or fractions."""
        amount = self._read(element, lambda text: read_resources(text, self.types, missing))
        if amount is not None and forbids_further_types(element.text, self.types):
            further = ", ".join(self.types.names[2:])
            self.problems.trap(
                element.text_place,
                element.name,
                f"{element.trimmed!r} means 0 of {further}; write name=amount to set them",
                "gives 0 of them",
            )
        return amount

    def policy(self, element: Element) -> str | None:
        """The name of a policy, in lower case."""
        text = self.word(element)
        if text is None:
            return None
        policy = _JAVA_POLICIES.get(text) or class_names().get(text) or text.lower()
        if policy in self.policies:
            return policy
        known = ", ".join(sorted(self.policies))
        self._refuse(element, f"there is no policy {text!r} (there are {known})", BAD_FILE)
        return None

    def acl(self, element: Element) -> str | None:
        """A list of users and groups, blanks kept: a lone blank means no users."""
        if not element.text:
            message = (
                f"<{element.name}> is empty: write * for all users, one blank for none,"
                " or 'user1,user2 group1,group2'"
            )
            self._refuse(element, message, BAD_FILE)
            return None
        users, blank, groups = element.text.partition(" ")
        if blank and users.endswith(",") and groups:
            self.problems.trap(
                element.text_place,
                element.name,
                f"the blank ends the users: {groups.strip()!r} are groups."
                " Write the list without blanks after commas",
                "takes what follows the blank as groups",
            )
        return element.text

    def word(self, element: Element) -> str | None:
        """A text that is not empty."""
        return self._read(element, literals.trim)

    def unknown(self, element: Element, known: Collection[str], inside: str) -> None:
        """Report an unknown element, with the name that may be meant."""
        near = [_OLD_NAMES.get(element.name, "")]
        if near[0] not in known:
            near = get_close_matches(element.name, known, 1, 0.8)
        guess = f"; is <{near[0]}> meant?" if near else ""
        self.problems.warning(
            element.place,
            "unknown-element",
            f"<{element.name}> is unknown in {inside} and has no effect{guess}",
            "ignores it",
        )

    def attributes(self, element: Element, known: Collection[str]) -> None:
        """Report unknown attributes."""
        for name in element.attributes:
            if name not in known:
                near = get_close_matches(name, known, 1)
                hint = f"; is {near[0]!r} meant?" if near else ""
                self.problems.warning(
                    element.place,
                    "unknown-attribute",
                    f"the attribute {name!r} of <{element.name}> is unknown and has no effect"
                    f"{hint}",
                    "ignores it",
                )

    def repeated(self, element: Element, earlier: Element) -> None:
        """Report an element that is repeated."""
        self.problems.warning(
            element.place,
            "repeated-element",
            f"<{element.name}> is repeated here: line {earlier.place.line} has no effect",
            "takes the last one",
        )

    def _read(self, element: Element, read: Callable[[str], _T]) -> _T | None:
        if not element.trimmed:
            self._refuse(element, f"<{element.name}> is empty", BAD_FILE)
            return None
        try:
            return read(element.text)
        except ValueError as error:
            self._refuse(element, f"<{element.name}>: {error}", BAD_FILE)
            return None

    def _refuse(self, element: Element, message: str, hadoop: str) -> None:
        self.problems.error(element.text_place, element.name, message, hadoop)


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
