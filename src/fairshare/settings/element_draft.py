"""Owns drafts of files with an element for each queue: <queue>, or <pool>."""

from collections.abc import Iterator
from typing import Final

from fairshare.core.model.queues import LONGEST_NAME, ROOT, parent_name
from fairshare.documents.xml import escaped
from fairshare.documents.xml_text import Change, Span, changed, with_child, with_value
from fairshare.documents.xml_text import without as taken_away
from fairshare.errors import InputError
from fairshare.settings.draft import DraftForm, Edit, Entry, Field, Part, Reading

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
        """As `DraftForm.read_spans`."""
        entries: list[Entry] = []
        parts: list[Part] = []
        for queue, span in self._queues(top):
            if queue:
                parts.append(Part(queue, span.place.line, span.last_line))
            for child in span.children:
                if child.name not in (*_QUEUES, *_NOT_OF_A_QUEUE) and not child.children:
                    entries.append(Entry(queue, child.name, child.trimmed, child.place.line))
        return Reading(tuple(entries), tuple(parts))

    def edit(self, text: str, top: Span, edit: Edit) -> str:
        """As `DraftForm.edit`."""
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
        found = dict(self._queues(top))
        if edit.action == "add":
            if edit.queue in found:
                raise InputError("bad-edit", f"the file has a queue {edit.queue} already")
            above = parent_name(edit.queue)
            holder = found.get(above)
            if holder is None and above in (ROOT, ""):
                holder = found.get(ROOT, top)
            if holder is None:
                raise InputError(
                    "bad-edit", f"the file has no queue {above} to put {edit.queue} into"
                )
            name = escaped(edit.queue.rpartition(".")[2])
            return with_child(text, holder, f'<{self._tag} name="{name}"/>')
        span = found.get(edit.queue)
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
