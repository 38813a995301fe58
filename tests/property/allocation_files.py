"""Writes settings as an allocation file, so that tests can compare them with what is read of it."""

import math
from collections.abc import Iterator
from decimal import Decimal

from fairshare.core.model.queues import ROOT, parent_name
from fairshare.core.model.resources import UNBOUNDED, Resource, ResourceTypes
from fairshare.core.schedulers.fair.settings import (
    NEVER_MS,
    AllocationSettings,
    Amount,
    QueueSettings,
    RuleSettings,
)
from fairshare.documents.xml import escaped
from fairshare.lab.convert.fair_to_capacity.texts import number
from fairshare.settings.fair.allocation_file import SETTINGS as FILE_SETTINGS
from fairshare.settings.fair.queue_settings import SETTINGS

_NEVER_S = NEVER_MS // 1000 + 1
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


WRITERS = {
    "userMaxAppsDefault": ElementTexts.text,
    "queueMaxAppsDefault": ElementTexts.text,
    "queueMaxResourcesDefault": ElementTexts.amount,
    "queueMaxAMShareDefault": ElementTexts.number,
    "defaultFairSharePreemptionTimeout": ElementTexts.seconds,
    "defaultMinSharePreemptionTimeout": ElementTexts.seconds,
    "defaultFairSharePreemptionThreshold": ElementTexts.number,
    "defaultQueueSchedulingPolicy": ElementTexts.text,
    "weight": ElementTexts.number,
    "minResources": ElementTexts.minimum,
    "maxResources": ElementTexts.amount,
    "maxRunningApps": ElementTexts.text,
    "maxAMShare": ElementTexts.number,
    "schedulingPolicy": ElementTexts.text,
    "maxContainerAllocation": ElementTexts.maximum,
    "maxChildResources": ElementTexts.amount,
    "fairSharePreemptionThreshold": ElementTexts.number,
    "fairSharePreemptionTimeout": ElementTexts.seconds,
    "minSharePreemptionTimeout": ElementTexts.seconds,
    "allowPreemptionFrom": ElementTexts.boolean,
    "aclSubmitApps": ElementTexts.text,
    "aclAdministerApps": ElementTexts.text,
}
"""How the value of an element is written."""


def write_allocation_file(settings: AllocationSettings, types: ResourceTypes) -> str:
    """The text of an allocation file that says what `settings` say, and no more.

    Settings that have their defaults are left out. Reading the text gives `settings` again, with
    `from_file` set. Raises ValueError for settings that no file can express, such as a timeout of
    half a second.

    >>> queue = QueueSettings("root.a", weight=2.0, max_running_applications=5)
    >>> print(write_allocation_file(AllocationSettings({"root.a": queue}), ResourceTypes()))
    <?xml version="1.0" encoding="UTF-8"?>
    <allocations>
      <queue name="a">
        <weight>2</weight>
        <maxRunningApps>5</maxRunningApps>
      </queue>
    </allocations>
    <BLANKLINE>
    """
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', "<allocations>"]
    lines += (f"  {line}" for line in _top(settings, ElementTexts(types)))
    return "\n".join([*lines, "</allocations>", ""])


def _top(settings: AllocationSettings, texts: ElementTexts) -> Iterator[str]:
    unwritten = AllocationSettings()
    for setting in FILE_SETTINGS:
        value = getattr(settings, setting.field)
        if value != getattr(unwritten, setting.field):
            yield _element(setting.name, WRITERS[setting.name](texts, value))
    children: dict[str, list[QueueSettings]] = {}
    for queue in settings.queues.values():
        children.setdefault(parent_name(queue.name), []).append(queue)
    for queue in children.get("" if ROOT in settings.queues else ROOT, []):
        yield from _queue(queue, children, texts)
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
    queue: QueueSettings, children_of: dict[str, list[QueueSettings]], texts: ElementTexts
) -> Iterator[str]:
    children = children_of.get(queue.name, [])
    if children and not queue.parent:
        raise ValueError(f"{queue.name} is a leaf with queues in it, which a file cannot say")
    name = escaped(queue.name.rpartition(".")[2])
    kind = ' type="parent"' if queue.parent and not children and not queue.reservable else ""
    inside = [*_fields(queue, texts)]
    for child in children:
        inside += _queue(child, children_of, texts)
    if not inside:
        yield f'<queue name="{name}"{kind}/>'
        return
    yield f'<queue name="{name}"{kind}>'
    yield from (f"  {line}" for line in inside)
    yield "</queue>"


def _fields(queue: QueueSettings, texts: ElementTexts) -> Iterator[str]:
    unwritten = QueueSettings(queue.name)
    for setting in SETTINGS:
        value = getattr(queue, setting.field)
        if value != getattr(unwritten, setting.field):
            yield _element(setting.name, WRITERS[setting.name](texts, value))
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
