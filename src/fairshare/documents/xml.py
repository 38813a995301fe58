"""The reading of XML into elements that know their line and column.

Hadoop's files need no document type, so one is refused, and with it entities, their expansion and
every access to another file or host. Size, depth and the number of elements are capped: the text
may come from a tenant's browser.
"""

import re
from collections.abc import Iterable
from functools import cached_property
from typing import Any, Final, Self
from xml.parsers import expat

from fairshare.documents.literals import BLANKS
from fairshare.documents.problems import Place, Problems

MAX_BYTES = 8 * 2**20
MAX_DEPTH = 200
MAX_ELEMENTS = 250_000

RULE = "xml"
_HADOOP = "refuses the file"

_ESCAPES: Final = {
    "&": "&amp;",
    "<": "&lt;",
    ">": "&gt;",
    '"': "&quot;",
    "\r": "&#13;",
    "\n": "&#10;",
    "\t": "&#9;",
}
_ENTITIES: Final = str.maketrans(_ESCAPES)
_UNWRITABLE: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
"""What XML cannot hold, even escaped."""


class Element:
    """One element. `text` is the text before its first child, as it is written (not trimmed).

    `place` is that of the `<`; `text_place` that of the text's first character that is not a blank
    (that of the element, if there is none). `empty` says that there is nothing at all inside.
    """

    __slots__ = ("attributes", "children", "empty", "name", "place", "text", "text_place")

    def __init__(self, name: str, attributes: dict[str, str], place: Place) -> None:
        self.name = name
        self.attributes = attributes
        self.place = place
        self.children: list[Self] = []
        self.text = ""
        self.text_place = place
        self.empty = True

    @property
    def trimmed(self) -> str:
        """The text without blanks around it."""
        return self.text.strip(BLANKS)


class _Refused(Exception):
    """Ends the parser from inside one of its handlers; the problem is already reported."""


class Builder:
    """Makes elements while a document is parsed; a derived class may make its own."""

    def __init__(self, file: str, problems: Problems) -> None:
        self.file = file
        self.problems = problems
        self.root: Element | None = None
        self.open: list[Element] = []
        self.chunks: list[str] = []
        self.count = 0
        self.parser = expat.ParserCreate()
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.parser.CharacterDataHandler = self.characters
        self.parser.StartDoctypeDeclHandler = self.document_type

    def element(self, name: str, attributes: dict[str, str]) -> Element:
        """A new element, whose start tag was read."""
        return Element(name, attributes, self.here())

    def here(self) -> Place:
        """Where the parser is."""
        return Place(self.file, self.parser.CurrentLineNumber, self.parser.CurrentColumnNumber + 1)

    def refuse(self, message: str) -> None:
        self.problems.error(self.here(), RULE, message, _HADOOP)
        raise _Refused

    def document_type(self, *_: object) -> None:
        self.refuse("a document type (<!DOCTYPE ...>) is not allowed: remove it")

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self.count += 1
        if len(self.open) >= MAX_DEPTH:
            self.refuse(f"elements are nested deeper than {MAX_DEPTH} levels")
        if self.count > MAX_ELEMENTS:
            self.refuse(f"there are more than {MAX_ELEMENTS} elements")
        element = self.element(name, attributes)
        if self.open:
            self.take_text()
            self.open[-1].children.append(element)
            self.open[-1].empty = False
        else:
            self.root = element
        self.open.append(element)

    def end(self, _: str) -> None:
        self.take_text()
        self.open.pop()

    def characters(self, data: str) -> None:
        element = self.open[-1]
        element.empty = False
        if element.children:
            return  # text between and after children is not a value
        self.chunks.append(data)
        content = data.lstrip(BLANKS)
        if content and element.text_place is element.place:
            before = data[: len(data) - len(content)]
            here = self.here()
            lines = before.count("\n")
            column = len(before) - before.rfind("\n") if lines else here.column + len(before)
            element.text_place = Place(self.file, here.line + lines, column)

    def take_text(self) -> None:
        if self.chunks:
            self.open[-1].text = "".join(self.chunks)
            self.chunks.clear()


def parse(document: str | bytes, file: str, problems: Problems) -> Element | None:
    """The root element of a document, or None when a problem says why there is none.

    Bytes are decoded as their XML declaration says (UTF-8 without one). `file` is only the name
    that problems carry.
    """
    return build(document, Builder(file, problems))


def parse_as(
    name: str, document: str | bytes, file: str, problems: Problems, hadoop: str
) -> Element | None:
    """As `parse`, and the root element has this name; `hadoop` is what Hadoop does otherwise."""
    root = parse(document, file, problems)
    if root is None or root.name == name:
        return root
    message = f"the top element is <{root.name}>, it must be <{name}>"
    problems.error(root.place, name, message, hadoop)
    return None


def build(document: str | bytes, builder: Builder) -> Element | None:
    """As `parse`, with the elements of a builder."""
    file, problems = builder.file, builder.problems
    if len(document) > MAX_BYTES:
        problems.error(
            Place(file), RULE, f"the file is larger than {MAX_BYTES // 2**20} MiB: split it"
        )
        return None
    try:
        builder.parser.Parse(_decoded(document), True)
    except _Refused:
        return None
    except expat.ExpatError as error:
        message = f"bad XML: {expat.ErrorString(error.code)}"
        if builder.open:
            inner = builder.open[-1]
            message += f"; <{inner.name}> of line {inner.place.line} is still open"
        problems.error(Place(file, error.lineno, error.offset + 1), RULE, message, _HADOOP)
        return None
    except (LookupError, ValueError) as error:
        # The declaration names an encoding that the parser cannot read, or the text holds halves
        # of characters.
        message = f"the characters cannot be decoded ({error}): save the file as UTF-8"
        problems.error(Place(file, 1, 1), RULE, message)
        return None
    return builder.root


_DECLARED: Final = re.compile(rb"<\?xml[^>]*?encoding\s*=\s*[\"']([A-Za-z0-9._-]+)[\"']")
_MULTI_BYTE: Final = {
    "big5": "big5",
    "big5-hkscs": "big5hkscs",
    "cp949": "cp949",
    "euc-jp": "euc_jp",
    "euc-kr": "euc_kr",
    "gb18030": "gb18030",
    "gb2312": "gb2312",
    "gbk": "gbk",
    "ms949": "cp949",
    "shift_jis": "shift_jis",
    "windows-31j": "cp932",
}
"""Charsets with characters of several bytes, which Java reads and the parser does not."""


def _decoded(document: str | bytes) -> str | bytes:
    """A document in one of these charsets as text; any other as it is. Raises ValueError."""
    if isinstance(document, str):
        return document
    declared = _DECLARED.match(document)
    codec = _MULTI_BYTE.get(declared.group(1).decode().lower()) if declared else None
    return document if codec is None else document.decode(codec)


def plain(element: Element, *, strip: bool = False) -> Any:
    """An element as its JSON form: its text, stripped if wanted, or its children by name; what is
    there more than once is a list.

    `<a><b>1</b><b>2</b></a>` is `{"b": ["1", "2"]}`.
    """
    if not element.children:
        return element.text.strip() if strip else element.text
    fields: dict[str, Any] = {}
    for child in element.children:
        value = plain(child, strip=strip)
        if child.name not in fields:
            fields[child.name] = value
        elif isinstance(fields[child.name], list):
            fields[child.name].append(value)
        else:
            fields[child.name] = [fields[child.name], value]
    return fields


def escaped(text: str) -> str:
    """A text as it can stand between tags and quotes; raises ValueError if XML has no way."""
    if _UNWRITABLE.search(text):
        raise ValueError(f"{text!r} has a character that XML cannot hold")
    return text.translate(_ENTITIES)


# The text of a file as it is written, and changes that leave all else as it is.


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
        span = Span(name, attributes, self.here(), at)
        closing = _end_of_tag(self._document, at)
        if self._document[closing - 1 : closing] != b"/":
            span.inner = closing + 1
        else:
            span.end = closing + 1
        return span

    def end(self, name: str) -> None:
        span = self.open[-1]
        super().end(name)
        assert isinstance(span, Span)
        span.last_line = self.parser.CurrentLineNumber
        if span.inner >= 0:
            span.inner_end = self.parser.CurrentByteIndex
            span.end = self._document.index(b">", span.inner_end) + 1


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
    """The change that puts a new element after all others in a parent."""
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
