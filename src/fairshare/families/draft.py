"""Owns a draft of a scheduler's file: what it says of which queue in which line, and what becomes
of its text when somebody sets one value, adds a queue or takes one away.

The Fair Scheduler's and the pools' files have elements for queues, the Capacity Scheduler's has
properties. `families.draft_linting` says whether a draft makes sense; the server applies it.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Final, Literal

import msgspec

from fairshare.config.xml import escaped
from fairshare.config.xml_text import Change, Span, changed, read_spans, with_child, with_value
from fairshare.config.xml_text import without as taken_away
from fairshare.errors import InputError
from fairshare.families.capacity.mutation import QueueChange, Update, apply_update
from fairshare.families.capacity.names import PREFIX
from fairshare.model.queues import LONGEST_NAME, ROOT, parent_name

Kind = Literal["fair", "capacity", "pools"]

EMPTY: Final[dict[Kind, str]] = {
    "fair": '<?xml version="1.0" encoding="UTF-8"?>\n<allocations>\n</allocations>\n',
    "pools": '<?xml version="1.0" encoding="UTF-8"?>\n<allocations>\n</allocations>\n',
    "capacity": '<?xml version="1.0" encoding="UTF-8"?>\n<configuration>\n</configuration>\n',
}
"""What a draft begins with where there is no file."""

_QUEUES: Final = ("queue", "pool")
_NOT_OF_A_QUEUE: Final = ("user", "queuePlacementPolicy", "reservation")


class Entry(msgspec.Struct, frozen=True):
    """One value that a file says of a queue; `queue` is empty for what holds for all."""

    queue: str
    name: str
    value: str
    line: int


class Edit(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One change: a value (None takes it away), a new queue, or a queue that goes."""

    action: Literal["set", "add", "remove"]
    queue: Annotated[str, msgspec.Meta(max_length=1_000)] = ""
    name: Annotated[str, msgspec.Meta(max_length=1_000)] = ""
    value: Annotated[str, msgspec.Meta(max_length=10_000)] | None = None


class Part(msgspec.Struct, frozen=True):
    """The lines in which a file speaks of a queue."""

    queue: str
    first: int
    last: int


class Reading(msgspec.Struct, frozen=True):
    """What a draft says, in the order of its lines. Without XML there is nothing."""

    entries: tuple[Entry, ...] = ()
    parts: tuple[Part, ...] = ()

    def queue_at(self, line: int) -> str:
        """The innermost queue that a line speaks of; empty for none.

        >>> Reading(parts=(Part("root.a", 2, 9), Part("root.a.b", 4, 6))).queue_at(5)
        'root.a.b'
        """
        around = [part for part in self.parts if part.first <= line <= part.last]
        return min(around, key=lambda part: part.last - part.first).queue if around else ""


def read_draft(kind: Kind, text: str) -> Reading:
    """What a text says of queues."""
    top = read_spans(text)
    if top is None:
        return Reading()
    if kind == "capacity":
        return _read_properties(top)
    entries: list[Entry] = []
    parts: list[Part] = []
    for queue, span in _queues(kind, top):
        if queue:
            parts.append(Part(queue, span.line, span.last_line))
        for child in span.children:
            if child.name not in (*_QUEUES, *_NOT_OF_A_QUEUE) and not child.children:
                entries.append(Entry(queue, child.name, child.value, child.line))
    return Reading(tuple(entries), tuple(parts))


def edited(kind: Kind, text: str, edits: Sequence[Edit]) -> str:
    """The text after some changes, one after the other.

    Raises InputError (`bad-edit`): no XML, no such queue, or a queue that is there already.
    """
    for edit in edits:
        top = read_spans(text)
        if top is None:
            raise InputError("bad-edit", "the draft is no XML any more: correct its text first")
        try:
            if kind == "capacity":
                text = _edited_properties(text, top, edit)
            else:
                text = changed(text, [_edit_of_elements(kind, text, top, edit)])
        except ValueError as error:
            raise InputError("bad-edit", str(error)) from error
    return text


# Elements for queues.


def _queues(kind: Kind, top: Span) -> Iterator[tuple[str, Span]]:
    """All queues by full name, parents first; the file itself is called ''."""
    yield "", top
    for child in top.children:
        if child.name in _QUEUES:
            name = child.attributes.get("name", "").strip()
            wraps = kind == "fair" and name == ROOT
            above = "" if wraps or kind == "pools" else ROOT
            yield from _below(above, name, child)


def _below(above: str, name: str, span: Span) -> Iterator[tuple[str, Span]]:
    # A name that is too long is told where the file is judged.
    full = (f"{above}.{name}" if above else name)[:LONGEST_NAME]
    yield full, span
    for child in span.children:
        if child.name in _QUEUES:
            yield from _below(full, child.attributes.get("name", "").strip(), child)


def _edit_of_elements(kind: Kind, text: str, top: Span, edit: Edit) -> Change:
    found = dict(_queues(kind, top))
    if edit.action == "add":
        if edit.queue in found:
            raise InputError("bad-edit", f"the file has a queue {edit.queue} already")
        above = parent_name(edit.queue)
        holder = found.get(above)
        if holder is None and above in (ROOT, ""):
            holder = found.get(ROOT, top)
        if holder is None:
            raise InputError("bad-edit", f"the file has no queue {above} to put {edit.queue} into")
        name = escaped(edit.queue.rpartition(".")[2])
        tag = "pool" if kind == "pools" else "queue"
        return with_child(text, holder, f'<{tag} name="{name}"/>')
    span = found.get(edit.queue)
    if span is None and edit.queue == ROOT and edit.action == "set":
        raise InputError(
            "bad-edit", "the file has no element for root: write one around all queues in the text"
        )
    if span is None:
        raise InputError("bad-edit", f"the file does not speak of the queue {edit.queue}")
    if edit.action == "remove":
        return taken_away(text, span)
    if not edit.name.isidentifier():
        raise InputError("bad-edit", f"{edit.name!r} is not the name of a setting")
    if edit.value is not None:
        return with_value(text, span, edit.name, edit.value)
    child = span.last(edit.name)
    return (0, 0, "") if child is None else taken_away(text, child)


# Properties.


def _properties(top: Span) -> Iterator[tuple[str, str, Span]]:
    """Name, value and element of each property; one that is set twice comes twice."""
    for child in top.children:
        if child.name == "configuration":
            yield from _properties(child)
        elif child.name == "property":
            name, value = child.last("name"), child.last("value")
            if name is not None:
                yield name.value, "" if value is None else value.value, child


def _read_properties(top: Span) -> Reading:
    found = list(_properties(top))
    names = {name for name, _, _ in found}
    queues = _queue_names({name: value for name, value, _ in found})
    entries: list[Entry] = []
    parts: list[Part] = []
    for name, value, span in found:
        queue, rest = _queue_of(name, queues) if name in names else ("", name)
        entries.append(Entry(queue, rest, value, (span.last("value") or span).line))
        if queue:
            parts.append(Part(queue, span.line, span.last_line))
    return Reading(tuple(entries), tuple(parts))


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


def _edited_properties(text: str, top: Span, edit: Edit) -> str:
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


def properties_text(properties: Mapping[str, str]) -> str:
    """A `<configuration>` file of these properties: what a draft begins with where no file holds
    them."""
    text = EMPTY["capacity"]
    lines = [
        f"  <property>\n    <name>{escaped(name)}</name>\n    <value>{escaped(value)}</value>\n"
        "  </property>\n"
        for name, value in properties.items()
    ]
    return text.replace("</configuration>", "".join(lines) + "</configuration>")
