"""Owns drafts of capacity-scheduler.xml, which has properties instead of elements for queues."""

import os
from collections.abc import Iterator, Mapping
from typing import Final

from fairshare.core.model.queues import LONGEST_NAME, ROOT, parent_name
from fairshare.documents.problems import Place, Problems
from fairshare.documents.xml import escaped
from fairshare.documents.xml_text import Span, changed, read_spans, with_child, with_value
from fairshare.documents.xml_text import without as taken_away
from fairshare.settings.capacity.changes import apply_update
from fairshare.settings.capacity.names import PREFIX, misplaced
from fairshare.settings.capacity.queue_settings import FORM
from fairshare.settings.configuration import Configuration
from fairshare.settings.configuration_update import QueueChange, Update
from fairshare.settings.draft import EMPTY_PROPERTIES, DraftForm, Edit, Entry, Part, Reading
from fairshare.settings.site import Site
from fairshare.settings.site_files import include_reader, read_site


class PropertyDraft(DraftForm):
    """Drafts of a `<configuration>`."""

    def read_spans(self, top: Span) -> Reading:
        """As `DraftForm.read_spans`."""
        found = list(_properties(top))
        names = {name for name, _, _ in found}
        queues = _queue_names({name: value for name, value, _ in found})
        entries: list[Entry] = []
        parts: list[Part] = []
        for name, value, span in found:
            queue, rest = _queue_of(name, queues) if name in names else ("", name)
            entries.append(Entry(queue, rest, value, (span.last("value") or span).place.line))
            if queue:
                parts.append(Part(queue, span.place.line, span.last_line))
        return Reading(tuple(entries), tuple(parts))

    def edit(self, text: str, top: Span, edit: Edit) -> str:
        """As `DraftForm.edit`."""
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
                text = _without_property(text, name)
        for name, value in after.items():
            if before.get(name) != value:
                text = _with_property(text, name, value)
        return text


DRAFT: Final = PropertyDraft(EMPTY_PROPERTIES, FORM)


def draft_site(text: str, file: str, configuration: Configuration, problems: Problems) -> Site:
    """The properties of a draft before those of all other files, unless those are final."""
    include = include_reader(configuration.directory)
    own = read_site([(file, text)], problems, os.environ, include, misplaced)
    merged = {found.name: found for found in configuration.store.base}
    for found in own:
        earlier = merged.get(found.name)
        if earlier is not None and earlier.final:
            problems.warning(
                Place(file, found.place.line, found.place.column),
                "final",
                f"{found.name} is final in {earlier.place.file}:{earlier.place.line}:"
                " this value has no effect",
                "ignores this value",
            )
        else:
            merged[found.name] = found
    return Site(merged, dict(os.environ), own.misplaced)


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
    found = {ROOT}
    waiting = [ROOT]
    while waiting:
        queue = waiting.pop()
        for part in properties.get(f"{PREFIX}{queue}.queues", "").split(","):
            child = f"{queue}.{part.strip()}"
            if part.strip() and child not in found and len(child) <= LONGEST_NAME:
                found.add(child)
                waiting.append(child)
    return frozenset(found)


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


def _without_property(text: str, name: str) -> str:
    _, spans = _spans_of(text, name)
    return changed(text, [taken_away(text, span) for span in spans])


def _with_property(text: str, name: str, value: str) -> str:
    top, spans = _spans_of(text, name)
    if spans:
        return changed(text, [with_value(text, spans[-1], "value", value)])
    lines = ("<property>", f"  <name>{escaped(name)}</name>", f"  <value>{escaped(value)}</value>")
    return changed(text, [with_child(text, top, "\n".join((*lines, "</property>")))])
