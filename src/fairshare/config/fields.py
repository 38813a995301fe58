"""Owns the typed reading of located nodes: texts, numbers, durations, amounts. Knows no key.

A reader reports what is wrong with its place and goes on with a harmless value, so that one run
names every mistake of a file.
"""

import difflib
from collections.abc import Collection
from math import isfinite
from typing import Final, TypeVar

from fairshare.config.located import Node
from fairshare.config.problems import Place, Problems
from fairshare.documents.booleans import parse_boolean
from fairshare.documents.durations import Unit, parse_duration_ms
from fairshare.documents.sizes import parse_size
from fairshare.model.resources import MEMORY

Number = TypeVar("Number", int, float)

LARGEST: Final = 2**53
"""The largest whole number that every JSON reader keeps as it is."""


class Values:
    """Typed values of single nodes; `what` is how a message names the node."""

    def __init__(self, problems: Problems, rule: str, bare_unit: Unit | None = None) -> None:
        """`rule` is that of all mistakes; `bare_unit` the unit of durations without one."""
        self.problems = problems
        self.rule = rule
        self.bare_unit = bare_unit
        self.mistakes = 0

    def wrong(self, place: Place, message: str) -> None:
        """Report a mistake."""
        self.mistakes += 1
        self.problems.error(place, self.rule, message)

    def text_of(self, node: Node, what: str) -> str:
        """A scalar as it is written."""
        if not node.is_scalar:
            self.wrong(node.place, f"{what} must be a text, found {node.kind}")
        return node.text

    def items_of(self, node: Node, what: str) -> list[Node]:
        """The elements of a list."""
        if node.items is None:
            self.wrong(node.place, f"{what} must be a list, found {node.kind}")
            return []
        return node.items

    def texts_of(self, node: Node, what: str) -> tuple[str, ...]:
        """The texts of a list."""
        return tuple(self.text_of(item, what) for item in self.items_of(node, what))

    def whole_of(
        self, node: Node, what: str, minimum: int | None = None, maximum: int | None = None
    ) -> int:
        """A whole number within bounds."""
        value = node.scalar
        if isinstance(value, bool) or not isinstance(value, int):
            self.wrong(node.place, f"{what} must be a whole number, found {node.kind}")
            return 0
        return self.bounded(node, what, value, minimum, maximum)

    def number_of(
        self, node: Node, what: str, minimum: float | None = None, maximum: float | None = None
    ) -> float:
        """A number within bounds."""
        value = node.scalar
        if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
            self.wrong(node.place, f"{what} must be a number, found {node.kind}")
            return 0.0
        return self.bounded(node, what, float(value), minimum, maximum)

    def bounded(
        self, node: Node, what: str, value: Number, minimum: float | None, maximum: float | None
    ) -> Number:
        """The value of a node if it is within bounds, else the nearest that is: what is made of it
        must not be as large as it is wrong."""
        if minimum is not None and value < minimum:
            self.wrong(node.place, f"{what} is {value}: it must be at least {minimum}")
            return type(value)(minimum)
        if maximum is not None and value > maximum:
            self.wrong(node.place, f"{what} is {value}: it must be at most {maximum}")
            return type(value)(maximum)
        return value

    def word_of(self, node: Node, what: str, words: Collection[str]) -> str:
        """One of several words."""
        if node.text not in words or not node.is_scalar:
            known = " or ".join(map(repr, words))
            self.wrong(node.place, f"{what} must be {known}, found {node.kind}")
        return node.text

    def duration_of(self, node: Node, what: str) -> int:
        """A duration such as `5s`, in milliseconds."""
        if not node.is_scalar:
            self.wrong(node.place, f"{what} must be a duration such as 30s, found {node.kind}")
            return 0
        try:
            return parse_duration_ms(node.text, bare_unit=self.bare_unit)
        except ValueError as error:
            self.wrong(node.place, f"{what}: {error}")
            return 0

    def fraction_of(self, node: Node, what: str) -> float:
        """A number from 0 to 1."""
        value = node.scalar
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
            self.wrong(node.place, f"{what} must be a number from 0.0 to 1.0, found {node.kind}")
            return 0.0
        return float(value)

    def amounts_of(
        self, node: Node, what: str, minimum: int | None = None, maximum: int | None = None
    ) -> dict[str, int]:
        """Whole numbers by the name of a resource type; memory may have a unit."""
        if node.entries is None:
            self.wrong(node.place, f"{what} must be {{memory-mb: …, vcores: …}}, found {node.kind}")
            return {}
        return {
            name: (self.memory_of if name == MEMORY else self.whole_of)(
                value, f"{what}.{name}", minimum, maximum
            )
            for name, value in node.entries.items()
        }

    def memory_of(
        self, node: Node, what: str, minimum: int | None = None, maximum: int | None = None
    ) -> int:
        """Memory such as `8g`, in MB, as a bare number is."""
        if not isinstance(node.scalar, str):
            return self.whole_of(node, what, minimum, maximum)
        try:
            return parse_size(node.scalar)
        except ValueError as error:
            self.wrong(node.place, f"{what}: {error}")
            return 0

    def boolean_of(self, node: Node, what: str) -> bool | None:
        """A truth value; None for what is none, which is reported."""
        if not node.is_scalar:
            self.wrong(node.place, f"{what} must be true or false, found {node.kind}")
            return None
        try:
            return parse_boolean(node.text)
        except ValueError as error:
            self.wrong(node.place, f"{what}: {error}")
            return None


class Fields(Values):
    """The entries of one mapping. Each getter takes a key; `finish` reports the other keys.

    `what` names the mapping in messages (`submit`); the document itself is "".
    """

    def __init__(
        self, node: Node, what: str, problems: Problems, rule: str, bare_unit: Unit | None = None
    ) -> None:
        super().__init__(problems, rule, bare_unit)
        self.node = node
        self.what = what
        self.entries: dict[str, Node] = node.entries or {}
        self._taken: set[str] = set()
        if node.entries is None:
            message = f"{self._name} must be a mapping (name: value), found {node.kind}"
            self.wrong(node.place, message)

    @property
    def _name(self) -> str:
        return self.what or f"a {self.rule}"

    def get(self, key: str) -> Node | None:
        """The node of a key; None when it is missing or empty."""
        self._taken.add(key)
        node = self.entries.get(key)
        return None if node is None or node.empty else node

    def need(self, key: str) -> Node | None:
        """The node of a key that must be there; an empty mapping or list is there."""
        node = self.get(key)
        if node is None and self.node.entries is not None:
            place = self.node.keys.get(key, self.node.place)
            self.wrong(place, f"{self._name} needs a value for {key!r}")
        return node

    def text(self, key: str, default: str = "") -> str:
        """A text; numbers are taken as they are written."""
        node = self.get(key)
        return default if node is None else self.text_of(node, self.path(key))

    def needed_text(self, key: str) -> str:
        """A text that must be there."""
        node = self.need(key)
        return "" if node is None else self.text_of(node, self.path(key))

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of texts."""
        node = self.get(key)
        return () if node is None else self.texts_of(node, self.path(key))

    def whole(
        self, key: str, default: int, minimum: int | None = None, maximum: int | None = None
    ) -> int:
        """A whole number."""
        node = self.get(key)
        return default if node is None else self.whole_of(node, self.path(key), minimum, maximum)

    def optional_whole(self, key: str, minimum: int | None = None) -> int | None:
        """A whole number, or None without one."""
        node = self.get(key)
        return None if node is None else self.whole_of(node, self.path(key), minimum)

    def boolean(self, key: str, default: bool) -> bool:
        """A truth value: `true` or `false`."""
        node = self.get(key)
        value = None if node is None else self.boolean_of(node, self.path(key))
        return default if value is None else value

    def fraction(self, key: str, default: float) -> float:
        """A number from 0 to 1."""
        node = self.get(key)
        return default if node is None else self.fraction_of(node, self.path(key))

    def one_or_several(self, key: str) -> list[Node]:
        """The elements of a list; a single value counts as a list of one."""
        node = self.get(key)
        if node is None:
            return []
        return [node] if node.items is None else node.items

    def optional_duration(self, key: str) -> int | None:
        """A time in milliseconds, or None without one."""
        node = self.get(key)
        return None if node is None else self.duration_of(node, self.path(key))

    def needed_duration(self, key: str) -> int:
        """A time that must be there, in milliseconds."""
        node = self.need(key)
        return 0 if node is None else self.duration_of(node, self.path(key))

    def amounts(
        self, key: str, minimum: int | None = None, maximum: int | None = None
    ) -> dict[str, int]:
        """Whole numbers by the name of a resource type; must be there."""
        node = self.need(key)
        return {} if node is None else self.amounts_of(node, self.path(key), minimum, maximum)

    def finish(self, known: Collection[str] = ()) -> None:
        """Report every key that no getter was asked for. `known` are keys that it may have too."""
        for key in self.entries:
            if key not in self._taken:
                words = self._taken.union(known)
                self.wrong(self.node.keys[key], unknown_word("key", key, words, self.what))

    def path(self, key: str) -> str:
        """How messages name the value of a key."""
        return f"{self.what}.{key}" if self.what else key


def unknown_word(kind: str, word: str, known: Collection[str], where: str = "") -> str:
    """The message for an unknown word, with the nearest known one.

    >>> unknown_word("key", "colour", ("color", "size"), "paint")
    "unknown key 'colour' in paint: did you mean 'color'?"
    """
    message = f"unknown {kind} {word!r}" + (f" in {where}" if where else "")
    near = difflib.get_close_matches(word, sorted(known), n=1)
    if near:
        return f"{message}: did you mean {near[0]!r}?"
    return f"{message}: known are {', '.join(sorted(known))}"
