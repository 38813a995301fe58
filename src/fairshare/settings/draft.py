"""A draft of a scheduler's file: what it says of each queue in which line, and how its text changes
with one value, a new queue, or a queue that goes.

`DraftForm` is what a family defines for its kind of file. Whether a draft makes sense is for
`settings.linting`; the server applies it.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Final, Literal

import msgspec

from fairshare.core.model.queues import LONGEST_NAME, ROOT, parent_name
from fairshare.documents.xml import (
    Change,
    Span,
    changed,
    escaped,
    read_spans,
    with_child,
    with_value,
)
from fairshare.documents.xml import without as taken_away
from fairshare.errors import InputError

EMPTY_PROPERTIES: Final = (
    '<?xml version="1.0" encoding="UTF-8"?>\n<configuration>\n</configuration>\n'
)


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
    """The lines in which a file speaks of a queue. `marked`: it says that the queue takes no
    applications, even without queues in it."""

    queue: str
    first: int
    last: int
    marked: bool = False


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


class Field(msgspec.Struct, frozen=True):
    """One setting. `hint` is an example of a value; `choices` are all values, if there are few."""

    name: str
    title: str
    unwritten: str
    hint: str = ""
    choices: tuple[str, ...] = ()
    where: Literal["any", "leaf", "parent"] = "any"


class DraftForm(ABC):
    """How one scheduler's file is read and edited as text.

    `empty` is the text of a new file; `fields` are the settings of a queue that a form offers.
    """

    def __init__(self, empty: str, fields: tuple[Field, ...]) -> None:
        self.empty = empty
        self.fields = fields

    @abstractmethod
    def read_spans(self, top: Span) -> Reading:
        """What a text says of queues, from its top element."""

    @abstractmethod
    def edit(self, text: str, top: Span, edit: Edit) -> str:
        """The text after one change; raises InputError (`bad-edit`), or ValueError."""

    def read(self, text: str) -> Reading:
        """What a text says of queues."""
        top = read_spans(text)
        return Reading() if top is None else self.read_spans(top)

    def edited(self, text: str, edits: Sequence[Edit]) -> str:
        """The text after some changes, one after the other.

        Raises InputError (`bad-edit`): no XML, no such queue, or a queue that is there already.
        """
        for edit in edits:
            top = read_spans(text)
            if top is None:
                raise InputError("bad-edit", "the draft is not XML any more: correct its text")
            try:
                text = self.edit(text, top, edit)
            except ValueError as error:
                raise InputError("bad-edit", str(error)) from error
        return text


def properties_text(properties: Mapping[str, str]) -> str:
    """A `<configuration>` file of these properties: what a draft begins with where no file holds
    them."""
    text = EMPTY_PROPERTIES
    lines = [
        f"  <property>\n    <name>{escaped(name)}</name>\n    <value>{escaped(value)}</value>\n"
        "  </property>\n"
        for name, value in properties.items()
    ]
    return text.replace("</configuration>", "".join(lines) + "</configuration>")


# Drafts of files with an element for each queue: <queue>, or <pool>.


_EMPTY: Final = '<?xml version="1.0" encoding="UTF-8"?>\n<allocations>\n</allocations>\n'
_QUEUES: Final = ("queue", "pool")
_NOT_OF_A_QUEUE: Final = ("user", "queuePlacementPolicy", "reservation")


class ElementDraft(DraftForm):
    """`tag` is that of a new queue; `parent` the full name that top-level queues are below: ROOT,
    for which a file may have an element of its own, or empty."""

    def __init__(self, fields: tuple[Field, ...], tag: str, parent: str) -> None:
        super().__init__(_EMPTY, fields)
        self._tag = tag
        self._parent = parent

    def read_spans(self, top: Span) -> Reading:
        entries: list[Entry] = []
        parts: list[Part] = []
        for queue, span in self._queues(top):
            if queue:
                marked = span.attributes.get("type", "").strip() == "parent"
                parts.append(Part(queue, span.place.line, span.last_line, marked))
            for child in span.children:
                if child.name not in (*_QUEUES, *_NOT_OF_A_QUEUE) and not child.children:
                    entries.append(Entry(queue, child.name, child.trimmed, child.place.line))
        return Reading(tuple(entries), tuple(parts))

    def edit(self, text: str, top: Span, edit: Edit) -> str:
        return changed(text, [self._change(text, top, edit)])

    def _queues(self, top: Span) -> Iterator[tuple[str, Span]]:
        """All queues by full name, parents first; the file itself is called ''."""
        yield "", top
        for child in top.children:
            if child.name in _QUEUES:
                name = child.attributes.get("name", "").strip()
                above = "" if name == self._parent else self._parent
                yield from _below(above, name, child)

    def _change(self, text: str, top: Span, edit: Edit) -> Change:
        queues = dict(self._queues(top))
        if edit.action == "add":
            if edit.queue in queues:
                raise InputError("bad-edit", f"the file has a queue {edit.queue} already")
            above = parent_name(edit.queue)
            holder = queues.get(above)
            if holder is None and above in (ROOT, ""):
                holder = queues.get(ROOT, top)
            if holder is None:
                raise InputError(
                    "bad-edit", f"the file has no queue {above} to put {edit.queue} into"
                )
            name = escaped(edit.queue.rpartition(".")[2])
            return with_child(text, holder, f'<{self._tag} name="{name}"/>')
        span = queues.get(edit.queue)
        if span is None and edit.queue == ROOT and edit.action == "set":
            raise InputError(
                "bad-edit",
                "the file has no element for root: write one around all queues in the text",
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


def _below(above: str, name: str, span: Span) -> Iterator[tuple[str, Span]]:
    # The linter of the file reports a name that is too long.
    full = (f"{above}.{name}" if above else name)[:LONGEST_NAME]
    yield full, span
    for child in span.children:
        if child.name in _QUEUES:
            yield from _below(full, child.attributes.get("name", "").strip(), child)
