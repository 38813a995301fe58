"""`Node`: a value of a document with its line and column, whether YAML, JSON or TOML.

`yaml_tree.py` and `toml_tree.py` make nodes of texts, `fields.py` reads typed values from them.
"""

from typing import Any

from fairshare.documents.problems import Place

Plain = bool | int | float | str | list[Any] | dict[str, Any] | None
"""The values of a document, without places."""


class Node:
    """One value and its place. `text` is a scalar as it was written.

    `items` holds the elements of a sequence, `entries` the values of a mapping by the text of
    their keys; both are None for what is neither. `keys` has the place of each key.
    """

    __slots__ = ("entries", "items", "keys", "place", "scalar", "text")

    def __init__(self, place: Place) -> None:
        self.place = place
        self.items: list[Node] | None = None
        self.entries: dict[str, Node] | None = None
        self.keys: dict[str, Place] = {}
        self.scalar: bool | int | float | str | None = None
        self.text = ""

    @property
    def plain(self) -> Plain:
        """The value without places."""
        if self.items is not None:
            return [item.plain for item in self.items]
        if self.entries is not None:
            return {name: value.plain for name, value in self.entries.items()}
        return self.scalar

    @property
    def is_scalar(self) -> bool:
        """Whether it is neither a list nor a mapping."""
        return self.items is None and self.entries is None

    @property
    def empty(self) -> bool:
        """Whether there is nothing (an empty list or mapping is something)."""
        return self.is_scalar and self.scalar is None

    @property
    def kind(self) -> str:
        """What it is, in words for an error message."""
        if self.items is not None:
            return "a list"
        if self.entries is not None:
            return "a mapping"
        return "nothing" if self.scalar is None else repr(self.text)

    def find(self, *path: str) -> Place:
        """The place of a key, or of the nearest that is there above it; the last part is a key."""
        place, node = self.place, self
        for key in path:
            if key not in node.keys:
                break
            place, node = node.keys[key], (node.entries or {})[key]
        return place
