"""Owns the writing of the allocation file: settings to the one canonical fair-scheduler.xml.

What is written reads as equal settings again. Knows no place to write it to, and keeps neither
comments nor spellings of a file that the settings came from.
"""

import math
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Final

from fairshare.config import literals
from fairshare.config.xml import escaped
from fairshare.families.fair.queue_elements import ROOT
from fairshare.model.queues import parent_name
from fairshare.model.resources import UNBOUNDED, Resource, ResourceTypes
from fairshare.schedulers.fair.settings import (
    NEVER_MS,
    AllocationSettings,
    Amount,
    QueueSettings,
    RuleSettings,
)

_NEVER_S: Final = NEVER_MS // 1000 + 1
"""The fewest seconds that are read as never."""


def write_allocation_file(settings: AllocationSettings, types: ResourceTypes) -> str:
    """The text of an allocation file that says what `settings` say, and no more.

    Whatever has its default is left out. Reading the text gives `settings` again, with `from_file`
    set. Raises ValueError for settings that no file can say, such as a timeout of half a second.

    >>> queue = QueueSettings("root.a", weight=2.0, max_share=Amount(fractions=(0.5, 1.0)))
    >>> print(write_allocation_file(AllocationSettings({"root.a": queue}), ResourceTypes()))
    <?xml version="1.0" encoding="UTF-8"?>
    <allocations>
      <queue name="a">
        <maxResources>memory-mb=50%, vcores=100%</maxResources>
        <weight>2</weight>
      </queue>
    </allocations>
    <BLANKLINE>
    """
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', "<allocations>"]
    lines += (f"  {line}" for line in _top(settings, _Values(types)))
    return "\n".join([*lines, "</allocations>", ""])


class _Values:
    """Texts of values in the resource types of a site."""

    def __init__(self, types: ResourceTypes) -> None:
        self.types = types

    def amount(self, amount: Amount) -> str:
        if amount.absolute is not None:
            return self.maximum(amount.absolute)
        fractions = amount.fractions or ()
        return self._named([f"{percentage(fraction)}%" for fraction in fractions])

    def maximum(self, resource: Resource) -> str:
        """What has no bound is left out, unless nothing has one."""
        if all(amount == UNBOUNDED for amount in resource):
            return self.minimum(resource)
        return self._named(["" if x == UNBOUNDED else str(x) for x in resource])

    def minimum(self, resource: Resource) -> str:
        if any(amount < 0 for amount in resource):
            raise ValueError(f"{resource} is negative, which a file cannot say")
        return self._named([str(amount) for amount in resource])

    def _named(self, texts: list[str]) -> str:
        pairs = zip(self.types.names, texts, strict=True)
        return ", ".join(f"{name}={text}" for name, text in pairs if text)


def _top(settings: AllocationSettings, values: _Values) -> Iterator[str]:
    default = AllocationSettings()
    fields: list[tuple[str, object, object, Callable[..., str]]] = [
        ("userMaxAppsDefault", settings.user_max_applications_default,
         default.user_max_applications_default, str),
        ("queueMaxAppsDefault", settings.queue_max_applications_default,
         default.queue_max_applications_default, str),
        ("queueMaxResourcesDefault", settings.queue_max_share_default, None, values.amount),
        ("queueMaxAMShareDefault", settings.queue_max_master_share_default,
         default.queue_max_master_share_default, number),
        ("defaultFairSharePreemptionTimeout", settings.fair_share_timeout_ms, NEVER_MS, seconds),
        ("defaultMinSharePreemptionTimeout", settings.min_share_timeout_ms, NEVER_MS, seconds),
        ("defaultFairSharePreemptionThreshold", settings.fair_share_threshold,
         default.fair_share_threshold, number),
        ("defaultQueueSchedulingPolicy", settings.default_policy, default.default_policy, str),
    ]  # fmt: skip
    for tag, value, unsaid, text in fields:
        if value != unsaid:
            yield _element(tag, text(value))
    children: dict[str, list[QueueSettings]] = {}
    for queue in settings.queues.values():
        children.setdefault(parent_name(queue.name), []).append(queue)
    for queue in children.get("" if ROOT in settings.queues else ROOT, []):
        yield from _queue(queue, children, values)
    for user, limit in settings.user_max_applications.items():
        yield f'<user name="{escaped(user)}">{_element("maxRunningApps", str(limit))}</user>'
    if settings.rules is not None:
        if not settings.rules:
            raise ValueError("a placement policy without rules is nothing that a file can say")
        yield "<queuePlacementPolicy>"
        for rule in settings.rules:
            yield from (f"  {line}" for line in _rule(rule))
        yield "</queuePlacementPolicy>"


def _queue(
    queue: QueueSettings, children_of: dict[str, list[QueueSettings]], values: _Values
) -> Iterator[str]:
    children = children_of.get(queue.name, [])
    if children and not queue.parent:
        raise ValueError(f"{queue.name} is a leaf with queues in it, which a file cannot say")
    name = escaped(queue.name.rpartition(".")[2])
    kind = ' type="parent"' if queue.parent and not children and not queue.reservable else ""
    inside = [*_fields(queue, values)]
    for child in children:
        inside += _queue(child, children_of, values)
    if not inside:
        yield f'<queue name="{name}"{kind}/>'
        return
    yield f'<queue name="{name}"{kind}>'
    yield from (f"  {line}" for line in inside)
    yield "</queue>"


def _fields(queue: QueueSettings, values: _Values) -> Iterator[str]:
    fields: list[tuple[str, object, Callable[..., str]]] = [
        ("minResources", queue.min_share, values.minimum),
        ("maxResources", queue.max_share, values.amount),
        ("maxChildResources", queue.max_child_share, values.amount),
        ("maxContainerAllocation", queue.max_container, values.maximum),
        ("maxRunningApps", queue.max_running_applications, str),
        ("maxAMShare", queue.max_master_share, number),
        ("weight", None if queue.weight == 1.0 else queue.weight, number),
        ("schedulingPolicy", queue.policy, str),
        ("aclSubmitApps", queue.submit_acl, str),
        ("aclAdministerApps", queue.administer_acl, str),
        ("minSharePreemptionTimeout", queue.min_share_timeout_ms, seconds),
        ("fairSharePreemptionTimeout", queue.fair_share_timeout_ms, seconds),
        ("fairSharePreemptionThreshold", queue.fair_share_threshold, number),
        ("allowPreemptionFrom", None if queue.preemptable else "false", str),
    ]
    for tag, value, text in fields:
        if value is not None:
            yield _element(tag, text(value))
    if queue.reservable:
        yield "<reservation/>"


def _rule(rule: RuleSettings) -> Iterator[str]:
    attributes = f'name="{escaped(rule.name)}"'
    if not rule.create:
        attributes += ' create="false"'
    if rule.queue:
        attributes += f' queue="{escaped(rule.queue)}"'
    if rule.parent is None:
        yield f"<rule {attributes}/>"
        return
    yield f"<rule {attributes}>"
    yield from (f"  {line}" for line in _rule(rule.parent))
    yield "</rule>"


def _element(tag: str, text: str) -> str:
    return f"<{tag}>{escaped(text)}</{tag}>"


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
        raise ValueError(f"{fraction!r} is no percentage")
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
