"""One element of the allocation file as a value of some kind, with the three ways in which it
writes resources, and the policies that installed packages bring along.

Each method that reads reports what is wrong at the text's place and returns None; functions that
read text raise ValueError with a message that says what is wrong with it (Hadoop:
FairSchedulerConfiguration.parseResourceConfigValue).

A package names its policies in the entry point group `fairshare.policies`. Nothing but what is
installed there is ever imported: a file can choose a policy, and cannot make this process load
code.
"""

import re
from collections.abc import Callable, Collection
from difflib import get_close_matches
from functools import cache
from importlib.metadata import EntryPoint
from typing import Final, TypeVar

from fairshare.core.model.resources import UNBOUNDED, ResourceTypes
from fairshare.core.schedulers.fair.policies import POLICIES, Policy, check_name, register
from fairshare.core.schedulers.fair.settings import NEVER_MS, Amount
from fairshare.documents import literals
from fairshare.documents.problems import Problems
from fairshare.documents.xml import Element
from fairshare.settings.plug_ins import load_plug_ins

GROUP: Final = "fairshare.policies"

RULE: Final = "policy-package"


def available_policies() -> frozenset[str]:
    """The names of all policies, in lower case: the built-in ones, and those of packages.

    The first call imports the packages' policies and registers them for the scheduler. Raises
    ConfigurationError that names every entry point which cannot be used.
    """
    class_names()
    return frozenset(POLICIES)


@cache
def class_names() -> dict[str, str]:
    """The policies of packages by `module.Class`, as Hadoop's files name a class; with their names.

    Raises ConfigurationError as `available_policies` does.
    """
    taken = set(POLICIES)
    names: dict[str, str] = {}

    def load(entry: EntryPoint) -> Policy:
        policy = _policy_of(entry)
        check_name(policy.name)
        if policy.name in taken:
            raise ValueError(f"there is another policy {policy.name!r}")
        taken.add(policy.name)
        names[entry.value.replace(":", ".")] = policy.name
        return policy

    for policy in load_plug_ins(GROUP, RULE, load):
        register(policy)
    return names


def _policy_of(entry: EntryPoint) -> Policy:
    """The policy that an entry point names: an object, or a class that needs no arguments."""
    loaded = entry.load()
    if isinstance(loaded, type) and issubclass(loaded, Policy):
        # What a derived class takes is its own affair; one that needs arguments says so itself.
        loaded = loaded()  # type: ignore[call-arg]
    if not isinstance(loaded, Policy):
        raise TypeError(f"it is not a {Policy.__module__}.Policy, but {type(loaded).__name__}")
    if loaded.name != entry.name:
        raise ValueError(f"the policy calls itself {loaded.name!r}: both names must be the same")
    return loaded


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
    raise ValueError(
        f"an amount of {word!r} is missing: write all of them, as in 8192 mb, 4 vcores"
    )


def _fraction(pattern: re.Pattern[str], part: str) -> float:
    trimmed = literals.trim(part)
    match = pattern.fullmatch(trimmed)
    if not match:
        raise ValueError(f"{trimmed!r} is not a percentage as in '50%' or '50% memory, 25% cpu'")
    fraction = literals.double(match.group(1)) / 100
    if fraction < 0:
        raise ValueError(f"{trimmed!r} is negative")
    return fraction


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

    def amount(self, element: Element, missing: int = UNBOUNDED) -> Amount | None:
        """Resources, absolute or fractions; `missing` as for `read_resources`."""
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

    def unknown(self, element: Element, names: Collection[str], inside: str) -> None:
        """Report an unknown element, with the name that may be meant."""
        near = [_OLD_NAMES.get(element.name, "")]
        if near[0] not in names:
            near = get_close_matches(element.name, names, 1, 0.8)
        guess = f"; is <{near[0]}> meant?" if near else ""
        self.problems.warning(
            element.place,
            "unknown-element",
            f"<{element.name}> is unknown in {inside} and has no effect{guess}",
            "ignores it",
        )

    def attributes(self, element: Element, names: Collection[str]) -> None:
        """Report unknown attributes."""
        for name in element.attributes:
            if name not in names:
                near = get_close_matches(name, names, 1)
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
