"""Owns the text of an XML file as it is written: where each element begins and ends, and
changes that leave everything else, comments and blanks too, as it is.

Knows nothing of what the elements mean. What is larger or deeper than `config.xml` reads is
refused.
"""

from collections.abc import Iterable
from xml.parsers import expat

from fairshare.config.literals import BLANKS
from fairshare.config.problems import Problems
from fairshare.config.xml import escaped, parse

Change = tuple[int, int, str]
"""Bytes from here to there become this text."""


class Span:
    """One element in a text. `start` to `end` are its bytes, `inner` and `inner_end` what is
    between its tags; both are -1 for `<name/>`. Lines count from 1."""

    __slots__ = (
        "attributes",
        "children",
        "end",
        "inner",
        "inner_end",
        "last_line",
        "line",
        "name",
        "start",
        "text",
    )

    def __init__(self, name: str, attributes: dict[str, str], start: int, line: int) -> None:
        self.name = name
        self.attributes = attributes
        self.start = start
        self.line = line
        self.inner = self.inner_end = self.end = -1
        self.last_line = line
        self.children: list[Span] = []
        self.text = ""

    @property
    def value(self) -> str:
        """The text without blanks around it."""
        return self.text.strip(BLANKS)

    def last(self, *names: str) -> "Span | None":
        """The last child of these names: where there are several, that one counts."""
        return next((c for c in reversed(self.children) if c.name in names), None)


def read_spans(text: str, file: str = "text") -> Span | None:
    """The top element of a text; None if it is not XML, which `config.xml.parse` explains."""
    if parse(text, file, Problems()) is None:
        return None
    document = text.encode()
    parser = expat.ParserCreate("utf-8")
    open_elements: list[Span] = []
    tops: list[Span] = []

    def start(name: str, attributes: dict[str, str]) -> None:
        at = parser.CurrentByteIndex
        found = Span(name, attributes, at, parser.CurrentLineNumber)
        closing = _end_of_tag(document, at)
        if document[closing - 1 : closing] != b"/":
            found.inner = closing + 1
        else:
            found.end = closing + 1
        (open_elements[-1].children if open_elements else tops).append(found)
        open_elements.append(found)

    def end(_: str) -> None:
        found = open_elements.pop()
        found.last_line = parser.CurrentLineNumber
        if found.inner >= 0:
            found.inner_end = parser.CurrentByteIndex
            found.end = document.index(b">", found.inner_end) + 1

    def characters(data: str) -> None:
        if not open_elements[-1].children:
            open_elements[-1].text += data

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = characters
    parser.Parse(document, True)
    return tops[0]


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
    raise AssertionError("the text was parsed before")


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
