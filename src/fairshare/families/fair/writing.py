"""Owns the writing of the allocation file: settings to the one canonical fair-scheduler.xml.

What is written reads as equal settings again. Knows no place to write it to, and keeps neither
comments nor spellings of a file that the settings came from.
"""

from collections.abc import Iterator

from fairshare.config.xml import escaped
from fairshare.families.fair.element_values import ElementTexts
from fairshare.families.fair.file_settings import SETTINGS as FILE_SETTINGS
from fairshare.families.fair.queue_elements import ROOT
from fairshare.families.fair.queue_settings import SETTINGS
from fairshare.model.queues import parent_name
from fairshare.model.resources import ResourceTypes
from fairshare.schedulers.fair.settings import AllocationSettings, QueueSettings, RuleSettings


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
            yield _element(setting.name, setting.write(texts, value))
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
            yield _element(setting.name, setting.write(texts, value))
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
