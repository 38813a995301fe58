"""Owns the structures of which YARN's documents are made. Knows no field by name, and no format:
`web.yarn.rendering` writes them as JSON and XML.
"""

from collections.abc import Callable
from typing import Any

import msgspec


class Document(msgspec.Struct):
    """A part of an answer: fields in the order in which they are written.

    A field `type_` names the kind of an object whose place could hold others: JSON's natural
    dialect writes it as the first key `type`, XML as an attribute.
    """


class Entries:
    """A Java map. Natural JSON repeats the key `entry`, once for each pair; all parsers take it.

    A plain class, so that the encoder asks its hook what to write.
    """

    __slots__ = ("pairs",)

    def __init__(self, pairs: tuple[tuple[Any, Any], ...] = ()) -> None:
        self.pairs = pairs


class Pair(Document):
    """One pair of a map."""

    key: Any
    value: Any


Written = Callable[[Document], Document | msgspec.Raw]
"""What becomes of a part of a document as soon as it is made: JSON, if the whole will be JSON."""


def unwritten(part: Document) -> Document:
    """The part itself, for documents that become XML, or JSON later."""
    return part
