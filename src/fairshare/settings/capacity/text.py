"""How values of properties are written: percentages, weights, vectors, largest containers, and the
priorities of users and of workflows.

Knows no property (Hadoop: CapacitySchedulerConfiguration, QueueCapacityConfigParser,
AppPriorityACLsManager). What cannot be read raises ValueError with a message that can follow the
name of the property; what Hadoop passes over is handed to `skipped`.
"""

import re
from collections.abc import Callable
from typing import Final

from fairshare.core.model.resources import MEMORY, ResourceTypes
from fairshare.core.schedulers.access_lists import parts_of
from fairshare.core.schedulers.capacity.settings import (
    Amount,
    Capacity,
    Percentage,
    PriorityRule,
    Unit,
    Vector,
    Weight,
    WorkflowPriority,
)
from fairshare.documents import literals, units

Skipped = Callable[[str], None]

_LARGEST_WEIGHT: Final = 10_000.0
_MEMORY_UNIT: Final = "Mi"
_ABSOLUTE: Final = re.compile(r"\[[\w.,=\ /-]+\]", re.ASCII)
_VECTOR: Final = re.compile(r"\[(?:[\w.,% /-]+=[\w.,% /-]+)+\]", re.ASCII)
_AMOUNT_AND_UNIT: Final = re.compile(r"([0-9.]+)(.*)", re.DOTALL)
_LARGEST: Final = re.compile(r"([^=]+)=([0-9]+)\s?([A-Za-z]*)", re.ASCII)
_LARGEST_UNITS: Final = {"": "", "m": "Mi", "M": "Mi", "g": "Gi", "G": "Gi"}
_NEEDS_MODE: Final = "needs yarn.scheduler.capacity.legacy-queue-mode.enabled=false"
_SHORT_NAMES: Final = {"memory": MEMORY, "gpu": "yarn.io/gpu", "fpga": "yarn.io/fpga"}


def read_capacity_text(
    text: str, types: ResourceTypes, skipped: Skipped, *, legacy: bool = True
) -> Capacity | None:
    """A `capacity`; None for the weight -1, which means that there is none.

    >>> read_capacity_text("12.5", ResourceTypes(), print)
    Percentage(percent=12.5)
    >>> read_capacity_text("3w", ResourceTypes(), print)
    Weight(weight=3.0)
    >>> read_capacity_text("[memory=10240,vcores=12]", ResourceTypes(), print).absolute
    (10240, 12)
    """
    if legacy and _is_newer(text):
        skipped(f"{text!r} {_NEEDS_MODE}, and counts as 0 percent without")
        return Percentage(0.0)
    if _is_vector(text):
        return _vector(text, types, skipped, legacy)
    if text.endswith("w"):
        weight = literals.single(text[: text.index("w")])
        if weight == -1:
            return None
        if not 0 <= weight <= _LARGEST_WEIGHT:
            raise ValueError(
                f"Illegal weight={weight:g}: it must be 0 to {_LARGEST_WEIGHT:g}, or -1 for none"
            )
        return Weight(weight)
    percent = literals.single(text)
    if not 0 <= percent <= 100:
        raise ValueError(f"Illegal capacity of {percent:g}: it must be 0 to 100 percent")
    return Percentage(percent)


def read_maximum_text(
    text: str, types: ResourceTypes, skipped: Skipped, *, legacy: bool = True
) -> Capacity:
    """A `maximum-capacity`: as a capacity, but no weight; -1 means 100."""
    if legacy and _is_newer(text):
        skipped(f"{text!r} {_NEEDS_MODE}, and counts as 100 percent without")
        return Percentage(100.0)
    if _is_vector(text):
        vector = _vector(text, types, skipped, legacy)
        if any(amount.unit == Unit.WEIGHT for amount in vector.amounts):
            raise ValueError(f"{text!r} has a weight, which cannot be a maximum")
        return vector
    if text.endswith("w"):
        raise ValueError(f"{text!r} is a weight, which cannot be a maximum")
    percent = literals.single(text)
    return Percentage(100.0 if percent == -1 else percent)


def read_largest_container(text: str, types: ResourceTypes, skipped: Skipped) -> dict[str, int]:
    """A `maximum-allocation`, by the names of the types that it has.

    >>> read_largest_container("memory-mb=4G,vcores=2", ResourceTypes(), print)
    {'memory-mb': 4096, 'vcores': 2}
    """
    amounts: dict[str, int] = {}
    for part in literals.trim(text).split(","):
        match = _LARGEST.fullmatch(literals.trim(part))
        if match is None:
            raise ValueError(
                f"{literals.trim(part)!r} is not of the form type=amount, such as memory-mb=4096"
            )
        written, digits, unit = match.groups()
        if unit not in _LARGEST_UNITS:
            raise ValueError(f"{literals.trim(part)!r}: the units are M and G")
        amount, unit = literals.long(digits), _LARGEST_UNITS[unit]
        if written == "memory" and not unit:
            skipped(f"{literals.trim(part)!r} counts bytes: write memory-mb, or a unit")
        if written == "memory" or (written == MEMORY and unit):
            amount = units.convert(amount, unit, _MEMORY_UNIT)
        name = _SHORT_NAMES.get(written, written)
        if name not in types.names:
            known = ", ".join(types.names)
            raise ValueError(f"there is no resource type {name!r} (there are {known})")
        amounts[name] = amount
    return amounts


def _is_vector(text: str) -> bool:
    return bool(_ABSOLUTE.fullmatch(text.removesuffix("\n"))) or _is_newer(text)


def _is_newer(text: str) -> bool:
    """Whether it has brackets as only the newer mode knows them, with percentages."""
    without_blanks = text.replace(" ", "").removesuffix("\n")
    return "%" in text and bool(_VECTOR.fullmatch(without_blanks))


def _vector(text: str, types: ResourceTypes, skipped: Skipped, legacy: bool) -> Vector:
    """The amounts of a text in brackets, in the order of the types; 0 of what it does not name."""
    body = text.strip("[]\n") if legacy else text.replace(" ", "").strip("[]\n")
    amounts: dict[str, Amount] = {}
    for part in body.split(","):
        name, separator, written = part.partition("=")
        if not separator or not written:
            continue
        name = literals.trim(name)
        resource = _SHORT_NAMES["memory"] if name == "memory" else name
        if resource not in types.names:
            skipped(f"there is no resource type {name!r}: this part has no effect")
            continue
        amount = _legacy_amount(written, skipped) if legacy else _amount(written, skipped)
        if amount is not None:
            amounts[resource] = amount
    if amounts.get(MEMORY, Amount(0)).value == 0:
        skipped(f"{literals.trim(text)!r} has no memory: it counts as if it were not there")
    return Vector(tuple(amounts.get(name, Amount(0)) for name in types.names))


def _legacy_amount(written: str, skipped: Skipped) -> Amount | None:
    """A whole number with a unit, which counts in MiB whatever the type
    (Hadoop: CapacitySchedulerConfiguration.getMinimumResourceRequirement)."""
    # The letters at the end: `_unit("10Gi") == "Gi"`.
    match = re.search(r"[A-Za-z]+$", written)
    unit = match.group() if match else ""
    if not units.is_unit(unit):
        skipped(f"{written!r} has the unknown unit {unit!r}: this part has no effect")
        return None
    digits = written[: len(written) - len(unit)]
    if digits != literals.trim(digits):
        raise ValueError(f"{written!r} is not a whole number: there must be no blank in it")
    amount = literals.long(digits)
    return Amount(units.convert(amount, unit, _MEMORY_UNIT) if unit else amount)


def _amount(written: str, skipped: Skipped) -> Amount:
    """An amount with a unit, `%` or `w` (Hadoop: QueueCapacityConfigParser)."""
    match = _AMOUNT_AND_UNIT.fullmatch(written)
    if match is None:
        raise ValueError(f"{written!r} is not an amount such as 4, 50% or 2w")
    value, suffix = literals.single(match.group(1)), match.group(2)
    if suffix == "%":
        return Amount(value, Unit.PERCENTAGE)
    if suffix == "w":
        return Amount(value, Unit.WEIGHT)
    if not units.is_unit(suffix):
        skipped(f"{written!r} has the unknown unit {suffix!r}: it counts as if it had none")
        suffix = ""
    return Amount(units.convert(int(value), suffix, _MEMORY_UNIT) if suffix else int(value))


_GROUP: Final = re.compile(r"\[([^\]]+)")
_KEYS: Final = ("user", "group", "max_priority", "default_priority")


def read_priority_rules(text: str, cluster_maximum: int) -> tuple[tuple[PriorityRule, ...], bool]:
    """Groups `[user=ann group=dev max_priority=7 default_priority=4]`, the lowest maximum first.

    A maximum above the cluster's is lowered to it; whether one was is the second answer. A text
    without groups, such as `*`, restricts no users.
    """
    rules, lowered = [], False
    for match in _GROUP.finditer(text):
        body = literals.trim(match.group(1))
        if body:
            rule = _rule(body)
            lowered |= rule.maximum_priority > cluster_maximum
            most = min(rule.maximum_priority, cluster_maximum)
            rules.append(PriorityRule(rule.acl, most, rule.default_priority))
    rules.sort(key=lambda rule: rule.maximum_priority)
    return tuple(rules), lowered


def _rule(body: str) -> PriorityRule:
    names: list[str] = []
    maximum: int | None = None
    default = 0
    for part in re.split(" +", body):
        key, _, value = part.partition("=")
        if not value:
            continue
        match literals.trim(key).lower():
            case "user" | "group":
                # As in Hadoop, the first of both names users, whatever it is called
                # (Hadoop: AppPriorityACLConfigurationParser).
                names = ["*", *names] if literals.trim(value) == "*" else [*names, value]
            case "max_priority":
                maximum = literals.integer(value)
            case "default_priority":
                default = max(literals.integer(value), 0)
            case other:
                known = ", ".join(_KEYS)
                raise ValueError(f"there is no key {other!r} in '[{body}]' (there are {known})")
    if not names:
        raise ValueError(f"'[{body}]' names no users: user= or group= is missing")
    if maximum is None:
        raise ValueError(f"'[{body}]' has no max_priority=")
    acl = "*" if names[0] == "*" else " ".join(names[:2])
    return PriorityRule(acl, maximum, default)


def read_workflow_priorities(text: str) -> tuple[WorkflowPriority, ...]:
    """Entries `workflow:queue:priority`, separated by commas; a workflow in any case of letters."""
    priorities = []
    for entry in dict.fromkeys(part for part in parts_of(text) if part):
        parts = [piece for part in entry.split(":") if (piece := literals.trim(part))]
        if len(parts) != 3:
            raise ValueError(
                f"Illegal workflow priority mapping {entry!r}: it must be workflow:queue:priority"
            )
        try:
            priority = literals.integer(parts[2])
        except ValueError as error:
            raise ValueError(f"Illegal workflow priority for mapping {entry!r}: {error}") from error
        priorities.append(WorkflowPriority(parts[0].lower(), parts[1], priority))
    return tuple(priorities)
