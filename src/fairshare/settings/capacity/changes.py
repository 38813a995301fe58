"""What of the Capacity Scheduler's configuration may change while it runs: what a refresh takes
over, what a change by document makes of the properties, and drafts of the file.

All of capacity-scheduler.xml may change but what is read at the start alone. Whether the tree that
runs can become the new one is for the scheduler to say (Hadoop: CapacityScheduler.reinitialize,
MutableCSConfigurationProvider).
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import msgspec

from fairshare.core.model.queues import LONGEST_NAME, ROOT, parent_name
from fairshare.core.schedulers.capacity.settings import CapacitySettings
from fairshare.documents import literals
from fairshare.documents.problems import Place, Problems
from fairshare.documents.xml import Span, changed, escaped, read_spans, with_child, with_value
from fairshare.documents.xml import without as taken_away
from fairshare.errors import InputError
from fairshare.settings.capacity.mappings import ENGINES
from fairshare.settings.capacity.monitor import ENABLE, POLICIES, PREEMPTION
from fairshare.settings.capacity.names import PREFIX, misplaced
from fairshare.settings.capacity.queue_settings import FORM
from fairshare.settings.capacity.scheduler_settings import CALCULATOR
from fairshare.settings.configuration import Configuration
from fairshare.settings.configuration_update import BAD_UPDATE, QueueChange, Update
from fairshare.settings.draft import EMPTY_PROPERTIES, DraftForm, Edit, Entry, Part, Reading
from fairshare.settings.own_sections import OWN_SECTIONS
from fairshare.settings.site import Site
from fairshare.settings.site_files import include_reader, read_site, report_final

_OF_THE_START: Final = (
    "types",
    "minimum_allocation",
    "maximum_override_delay_ms",
    "maximum_application_priority",
    "acl_enabled",
    "administrators_acl",
    "master_max_attempts",
    "heartbeat_interval_ms",
    "dominant",
    "reservations",
    "workflow_tag_prefix",
    *OWN_SECTIONS,
)
_MONITORS_OF_THE_START: Final = (
    "enabled",
    "monitor_on",
    "auto_removal",
    "legacy_queue_management",
)
_PROPERTIES_OF_THE_START: Final = (CALCULATOR, ENABLE, POLICIES)


def refreshed_capacity(in_force: CapacitySettings, now: CapacitySettings) -> CapacitySettings:
    """The new settings, with what only a restart changes as it is."""
    kept = {name: getattr(in_force, name) for name in _OF_THE_START}
    monitors = {name: getattr(in_force.monitor, name) for name in _MONITORS_OF_THE_START}
    monitor = msgspec.structs.replace(now.monitor, **monitors)
    if not in_force.reservations:
        kept["continue_looking"] = False
    return msgspec.structs.replace(now, monitor=monitor, **kept)


def is_refreshed(name: str) -> bool:
    """Whether a refresh takes over the value of a property."""
    return name.startswith((PREFIX, PREEMPTION, ENGINES)) and name not in _PROPERTIES_OF_THE_START


def apply_update(properties: Mapping[str, str], update: Update) -> dict[str, str]:
    """The properties after an update, in their order; raises InputError (`bad-update`).

    Whether the result makes sense as a whole is not asked here.

    >>> from fairshare.settings.configuration_update import read_json
    >>> old = {"yarn.scheduler.capacity.root.queues": "a"}
    >>> apply_update(old, read_json('{"add-queue": {"queue-name": "root.b"}}'))
    {'yarn.scheduler.capacity.root.queues': 'a,b'}
    """
    changed = dict(properties)
    for queue in update.remove:
        _remove(changed, queue)
    for change in update.add:
        _add(changed, change)
    for change in update.update:
        _put(changed, f"{PREFIX}{change.queue}.", change.entries)
    _put(changed, "", update.globals)
    return changed


def _remove(properties: dict[str, str], queue: str) -> None:
    """Take a queue and all below it out, whatever is written of them."""
    if not _is_below_root(queue):
        raise InputError(BAD_UPDATE, f"Can't remove queue {queue}")
    siblings = _children(properties, parent_name(queue))
    name = queue.rpartition(".")[2]
    if name not in siblings:
        raise InputError(BAD_UPDATE, f"Queue {queue} not found")
    _set_children(properties, parent_name(queue), [one for one in siblings if one != name])
    for key in [key for key in properties if key.startswith(f"{PREFIX}{queue}.")]:
        del properties[key]


def _add(properties: dict[str, str], change: QueueChange) -> None:
    queue = change.queue
    if not _is_below_root(queue):
        raise InputError(BAD_UPDATE, f"Can't add invalid queue {queue}")
    parent = parent_name(queue)
    siblings = _children(properties, parent)
    name = queue.rpartition(".")[2]
    if name in siblings:
        raise InputError(BAD_UPDATE, f"Can't add existing queue {queue}")
    _set_children(properties, parent, [*siblings, name])
    _put(properties, f"{PREFIX}{queue}.", change.entries)
    if not siblings:
        # The parent was a leaf so far: a leaf's ordering policy means nothing to a parent.
        properties.pop(f"{PREFIX}{parent}.ordering-policy", None)


def _put(properties: dict[str, str], prefix: str, entries: Iterable[tuple[str, str]]) -> None:
    for name, value in entries:
        if value:
            properties[prefix + name] = value
        else:
            properties.pop(prefix + name, None)


def _is_below_root(queue: str) -> bool:
    """Whether a text is a full path of a queue other than root."""
    parts = queue.split(".")
    return len(parts) > 1 and parts[0] == ROOT and all(parts)


def _children(properties: Mapping[str, str], parent: str) -> list[str]:
    written = properties.get(f"{PREFIX}{parent}.queues", "")
    return [name for part in written.split(",") if (name := literals.trim(part))]


def _set_children(properties: dict[str, str], parent: str, names: list[str]) -> None:
    key = f"{PREFIX}{parent}.queues"
    if names:
        properties[key] = ",".join(names)
    else:
        properties.pop(key, None)


# Drafts of capacity-scheduler.xml, which has properties instead of elements for queues.


class PropertyDraft(DraftForm):
    """Drafts of a `<configuration>`."""

    def read_spans(self, top: Span) -> Reading:
        spans = list(_properties(top))
        names = {name for name, _, _ in spans}
        queues = _queue_names({name: value for name, value, _ in spans})
        entries: list[Entry] = []
        parts: list[Part] = []
        for name, value, span in spans:
            queue, rest = _queue_of(name, queues) if name in names else ("", name)
            entries.append(Entry(queue, rest, value, (span.last("value") or span).place.line))
            if queue:
                parts.append(Part(queue, span.place.line, span.last_line))
        return Reading(tuple(entries), tuple(parts))

    def edit(self, text: str, top: Span, edit: Edit) -> str:
        before = {name: value for name, value, _ in _properties(top)}
        if edit.action == "add":
            update = Update(add=(QueueChange(edit.queue),))
        elif edit.action == "remove":
            update = Update(remove=(edit.queue,))
        elif edit.queue:
            update = Update(update=(QueueChange(edit.queue, ((edit.name, edit.value or ""),)),))
        else:
            full = edit.name if edit.name.startswith("yarn.") else PREFIX + edit.name
            update = Update(globals=((full, edit.value or ""),))
        after = apply_update(before, update)
        for name in before:
            if name not in after:
                _, spans = _spans_of(text, name)
                text = changed(text, [taken_away(text, span) for span in spans])
        for name, value in after.items():
            if before.get(name) != value:
                text = _with_property(text, name, value)
        return text


DRAFT: Final = PropertyDraft(EMPTY_PROPERTIES, FORM)


def draft_site(text: str, file: str, configuration: Configuration, problems: Problems) -> Site:
    """The properties of a draft before those of all other files, unless those are final."""
    include = include_reader(configuration.directory)
    site = read_site([(file, text)], problems, os.environ, include, misplaced)
    merged = {property_.name: property_ for property_ in configuration.store.base}
    for property_ in site:
        earlier = merged.get(property_.name)
        if earlier is not None and earlier.final:
            place = Place(file, property_.place.line, property_.place.column)
            report_final(place, earlier, problems)
        else:
            merged[property_.name] = property_
    return Site(merged, dict(os.environ), site.misplaced)


def _properties(top: Span) -> Iterator[tuple[str, str, Span]]:
    """Name, value and element of each property; one that is set twice comes twice."""
    for child in top.children:
        if child.name == "configuration":
            yield from _properties(child)
        elif child.name == "property":
            name, value = child.last("name"), child.last("value")
            if name is not None:
                yield name.trimmed, "" if value is None else value.trimmed, child


def _queue_names(properties: Mapping[str, str]) -> frozenset[str]:
    """The queues that the lists of children lead to from root."""
    names = {ROOT}
    waiting = [ROOT]
    while waiting:
        queue = waiting.pop()
        for part in properties.get(f"{PREFIX}{queue}.queues", "").split(","):
            child = f"{queue}.{part.strip()}"
            if part.strip() and child not in names and len(child) <= LONGEST_NAME:
                names.add(child)
                waiting.append(child)
    return frozenset(names)


def _queue_of(name: str, queues: frozenset[str]) -> tuple[str, str]:
    """A property's queue and its name there; of one that is about no queue only the prefix goes."""
    rest = name.removeprefix(PREFIX)
    if rest == name:
        return "", name
    queue = parent_name(rest[:LONGEST_NAME])
    while queue:
        if queue in queues:
            return queue, rest[len(queue) + 1 :]
        queue = parent_name(queue)
    return "", rest


def _spans_of(text: str, name: str) -> tuple[Span, list[Span]]:
    top = read_spans(text)
    assert top is not None, "a change leaves XML"
    return top, [span for found, _, span in _properties(top) if found == name]


def _with_property(text: str, name: str, value: str) -> str:
    top, spans = _spans_of(text, name)
    if spans:
        return changed(text, [with_value(text, spans[-1], "value", value)])
    lines = ("<property>", f"  <name>{escaped(name)}</name>", f"  <value>{escaped(value)}</value>")
    return changed(text, [with_child(text, top, "\n".join((*lines, "</property>")))])
