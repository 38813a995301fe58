"""Owns the reading of XML into elements that know their line and column.

Knows nothing of what the elements mean. Hadoop's files need no document type, so one is refused,
and with it entities, their expansion and every access to another file or host. Size, depth and the
number of elements are capped: the text may come from a tenant's browser.
"""

import re
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
    found: dict[str, Any] = {}
    for child in element.children:
        value = plain(child, strip=strip)
        if child.name not in found:
            found[child.name] = value
        elif isinstance(found[child.name], list):
            found[child.name].append(value)
        else:
            found[child.name] = [found[child.name], value]
    return found


def escaped(text: str) -> str:
    """A text as it can stand between tags and quotes; raises ValueError if XML has no way."""
    if _UNWRITABLE.search(text):
        raise ValueError(f"{text!r} has a character that XML cannot hold")
    return text.translate(_ENTITIES)
