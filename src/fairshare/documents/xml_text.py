"""Owns the text of an XML file as it is written: where each element begins and ends, and
changes that leave everything else, comments and blanks too, as it is.

Knows nothing of what the elements mean. What is larger or deeper than `config.xml` reads is
refused.
"""

from collections.abc import Iterable
from functools import cached_property

from fairshare.documents.problems import Place, Problems
from fairshare.documents.xml import Builder, Element, build, escaped

Change = tuple[int, int, str]
"""Bytes from here to there become this text."""


class Span(Element):
    """One element in a text. `start` to `end` are its bytes, `inner` and `inner_end` what is
    between its tags; both are -1 for `<name/>`. `last_line` is that of its end tag."""

    __slots__ = ("end", "inner", "inner_end", "last_line", "start")

    def __init__(self, name: str, attributes: dict[str, str], place: Place, start: int) -> None:
        super().__init__(name, attributes, place)
        self.start = start
        self.inner = self.inner_end = self.end = -1
        self.last_line = place.line

    def last(self, *names: str) -> "Span | None":
        """The last child of these names: where there are several, that one counts."""
        return next((c for c in reversed(self.children) if c.name in names), None)


class _Spans(Builder):
    def __init__(self, text: str) -> None:
        super().__init__("text", Problems())
        self._text = text

    @cached_property
    def _document(self) -> bytes:
        return self._text.encode()  # possible once the parser has accepted the characters

    def element(self, name: str, attributes: dict[str, str]) -> Span:
        at = self.parser.CurrentByteIndex
        found = Span(name, attributes, self.here(), at)
        closing = _end_of_tag(self._document, at)
        if self._document[closing - 1 : closing] != b"/":
            found.inner = closing + 1
        else:
            found.end = closing + 1
        return found

    def end(self, name: str) -> None:
        found = self.open[-1]
        super().end(name)
        assert isinstance(found, Span)
        found.last_line = self.parser.CurrentLineNumber
        if found.inner >= 0:
            found.inner_end = self.parser.CurrentByteIndex
            found.end = self._document.index(b">", found.inner_end) + 1


def read_spans(text: str) -> Span | None:
    """The top element of a text; None if it is not XML, which `config.xml.parse` explains."""
    found = build(text, _Spans(text))
    assert found is None or isinstance(found, Span)
    return found


def _end_of_tag(document: bytes, at: int) -> int:
    """The position of the `>` of a start tag; one between quotes is part of a value."""
    quote = 0
    for index in range(at, len(document)):
        byte = document[index]
        if quote:
            quote = 0 if byte == quote else quote
        elif byte in b"\"'":
            quote = byte
        elif byte == 0x3E:
            return index
    raise AssertionError("the parser has read the whole tag")


def changed(text: str, changes: Iterable[Change]) -> str:
    """The text with some of its bytes replaced; the places are those of the text as it was.

    >>> changed("<a>1</a>", [(3, 4, "2")])
    '<a>2</a>'
    """
    document = text.encode()
    for start, end, new in sorted(changes, reverse=True):
        document = document[:start] + new.encode() + document[end:]
    return document.decode()


def with_value(text: str, parent: Span, name: str, value: str) -> Change:
    """The change that gives a parent's child a text; one that is not there is made.

    Raises ValueError for a text that XML cannot hold.
    """
    element = f"<{name}>{escaped(value)}</{name}>"
    child = parent.last(name)
    if child is not None and child.inner >= 0 and not child.children:
        return child.inner, child.inner_end, escaped(value)
    if child is not None:
        return child.start, child.end, element
    return with_child(text, parent, element)


def with_child(text: str, parent: Span, element: str) -> Change:
    """The change that puts a new element behind all that stand in a parent."""
    document = text.encode()
    margin = indentation(document, parent.start)
    inside = margin + "  "
    lines = "\n".join(inside + line for line in element.split("\n"))
    if parent.inner < 0:
        tag = document[parent.start : parent.end - 2].decode().rstrip()
        return parent.start, parent.end, f"{tag}>\n{lines}\n{margin}</{parent.name}>"
    if parent.children:
        last = parent.children[-1]
        return last.end, last.end, f"\n{lines}"
    if document[parent.inner : parent.inner_end].strip():
        return parent.inner, parent.inner, f"\n{lines}"
    return parent.inner, parent.inner_end, f"\n{lines}\n{margin}"


def without(text: str, element: Span) -> Change:
    """The change that takes an element away, and with it the line that it had for itself."""
    document = text.encode()
    start, end = element.start, element.end
    before = start
    while before and document[before - 1] in b" \t":
        before -= 1
    behind = end
    while behind < len(document) and document[behind] in b" \t\r":
        behind += 1
    alone = before and document[before - 1 : before] == b"\n"
    if alone and document[behind : behind + 1] == b"\n":
        return before, behind + 1, ""
    return start, end, ""


def indentation(document: bytes, at: int) -> str:
    """The blanks at the beginning of the line of a byte."""
    line = document[document.rfind(b"\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip())].decode()
