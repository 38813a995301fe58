"""The kinds of values in documents: how each is read from a located node, its JSON Schema, and its
name in a reference page.

Each kind reports what is wrong with its place and yields None, so that one run names every mistake
of a file. Schemas are in draft 7, the newest that every editor's YAML support reads.
"""

import difflib
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from math import isfinite
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from fairshare.documents.durations import Unit, parse_duration, parse_duration_ms
from fairshare.documents.located import Node
from fairshare.documents.problems import Place, Problems
from fairshare.documents.sizes import MEMORY, parse_size

_WORDS: Final = {
    "true": True,
    "yes": True,
    "on": True,
    "false": False,
    "no": False,
    "off": False,
}
_LONGEST: Final = 40


def parse_boolean(text: str) -> bool:
    """Parse a boolean; raises ValueError with a message that says what to write.

    >>> parse_boolean("true"), parse_boolean("Off")
    (True, False)
    """
    value = _WORDS.get(text.strip().lower())
    if value is None:
        raise ValueError(f"{text[:_LONGEST]!r} is neither true nor false: write true or false")
    return value


T = TypeVar("T")
Number = TypeVar("Number", int, float)
Schema = dict[str, Any]

LARGEST: Final = 2**53
"""The largest whole number that every JSON reader keeps as it is."""

READ_AS_ANY: Final = object()
"""Marks that an empty value is read as any other."""

_SPAN: Final = r"([0-9]+(\.[0-9]+)?|\.[0-9]+)\s*([mM][sS]|[sSmMhHdD])\s*"
_NUMBER: Final = r"([0-9]+(\.[0-9]+)?|\.[0-9]+)"
_SIZE: Final = r"^\s*([0-9]+(\.[0-9]+)?|\.[0-9]+)\s*([kKmMgGtT]([iI]?[bB])?)?\s*$"
_BOOLEAN: Final = (
    "^([tT][rR][uU][eE]|[yY][eE][sS]|[oO][nN]|[fF][aA][lL][sS][eE]|[nN][oO]|[oO][fF]{2})$"
)


UNITS: Final[dict[str, Callable[[str], int]]] = {
    "ms": lambda text: parse_duration(text, "ms"),
    "s": lambda text: parse_duration(text, "s"),
    "hours": lambda text: parse_duration(text, "h"),
    "days": lambda text: parse_duration(text, "d"),
    "kb": lambda text: parse_size(text, "KB"),
    "mb": parse_size,
}
"""How a text is read as a number, by the unit with which a name ends."""


class Reader:
    """Reads one kind of document: what its values have in common, and the mistakes in them.

    `rule` is that of all mistakes, `bare_unit` the unit of durations without one. `typed`: texts
    are in quotation marks and not empty, as in TOML. `untyped`: every word is a text, a number may
    be in quotation marks, and a key or a text that is empty is a mistake. `types` are the known
    resource types; None: any. Relative paths in the document start from `folder`.
    """

    def __init__(
        self,
        problems: Problems,
        rule: str,
        *,
        bare_unit: Unit | None = None,
        typed: bool = False,
        untyped: bool = False,
        types: Collection[str] | None = None,
        folder: Path = Path(),
    ) -> None:
        self.problems = problems
        self.rule = rule
        self.bare_unit = bare_unit
        self.typed = typed
        self.untyped = untyped
        self.types = types
        self.folder = folder
        self.mistakes = 0

    def wrong(self, place: Place, message: str) -> None:
        """Report a mistake."""
        self.mistakes += 1
        self.problems.error(place, self.rule, message)

    def is_unwritten(self, node: Node) -> bool:
        """Whether a key has no value; where texts are verbatim, `null` is a text."""
        return node.empty and not (self.untyped and node.text)

    def text(self, node: Node, what: str) -> str | None:
        """A scalar as it is written."""
        if not node.is_scalar:
            self.wrong(node.place, f"{what} must be a text, found {node.kind}")
        elif self.typed and not isinstance(node.scalar, str):
            self.wrong(node.place, f"{what} must be a text: write {node.text} in quotation marks")
        elif self.typed and not node.text.strip():
            self.wrong(node.place, f"{what} must not be empty")
        elif self.untyped and not node.text:
            self.wrong(node.place, f"{what} is empty: leave the key out, or give it a value")
        else:
            return node.text
        return None

    def filled_text(self, node: Node, what: str) -> str | None:
        """A text that is not empty."""
        if node.is_scalar and not node.text:
            self.wrong(node.place, f"{what} must not be empty")
            return None
        return self.text(node, what)

    def items(self, node: Node, what: str) -> list[Node]:
        """The elements of a list."""
        if node.items is None:
            self.wrong(node.place, f"{what} must be a list, found {node.kind}")
        elif self.typed and not node.items:
            self.wrong(node.place, f"{what} must not be empty")
        return node.items or []

    def entries(self, node: Node, what: str) -> dict[str, Node]:
        """The entries of a mapping."""
        if node.entries is None:
            self.wrong(node.place, f"{what} must be a mapping (name: value), found {node.kind}")
        return node.entries or {}

    def whole(
        self, node: Node, what: str, minimum: int | None = None, maximum: int | None = None
    ) -> int | None:
        """A whole number within bounds."""
        value = node.scalar
        if self.untyped and isinstance(value, str) and re.fullmatch("-?[0-9]{1,19}", value):
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int):
            self.wrong(node.place, f"{what} must be a whole number, found {node.kind}")
            return None
        return self.bounded(node, what, value, minimum, maximum)

    def number(
        self, node: Node, what: str, minimum: float | None = None, maximum: float | None = None
    ) -> float | None:
        """A number within bounds; with both, a message names them."""
        value = node.scalar
        if self.untyped and isinstance(value, str) and re.fullmatch(_NUMBER, value):
            value = float(value)
        right = isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)
        if minimum is not None and maximum is not None:
            if not right or not minimum <= float(value or 0) <= maximum:
                expected = f"a number from {minimum} to {maximum}"
                self.wrong(node.place, f"{what} must be {expected}, found {node.kind}")
                return None
        elif not right:
            self.wrong(node.place, f"{what} must be a number, found {node.kind}")
            return None
        return self.bounded(node, what, float(value or 0), minimum, maximum)

    def bounded(
        self, node: Node, what: str, value: Number, minimum: float | None, maximum: float | None
    ) -> Number | None:
        """The value of a node if it is within bounds."""
        if minimum is not None and value < minimum:
            self.wrong(node.place, f"{what} is {value}: it must be at least {minimum}")
            return None
        if maximum is not None and value > maximum:
            self.wrong(node.place, f"{what} is {value}: it must be at most {maximum}")
            return None
        return value

    def word(self, node: Node, what: str, words: Collection[str]) -> str | None:
        """One of several words."""
        if node.text not in words or not node.is_scalar:
            known = " or ".join(map(repr, words))
            self.wrong(node.place, f"{what} must be {known}, found {node.kind}")
            return None
        return node.text

    def duration(self, node: Node, what: str) -> int | None:
        """A duration such as `5s`, in milliseconds."""
        if not node.is_scalar:
            self.wrong(node.place, f"{what} must be a duration such as 30s, found {node.kind}")
            return None
        return self.parsed(node, what, partial(parse_duration_ms, bare_unit=self.bare_unit))

    def boolean(self, node: Node, what: str) -> bool | None:
        """A truth value: `true` or `false`."""
        if not node.is_scalar:
            self.wrong(node.place, f"{what} must be true or false, found {node.kind}")
            return None
        return self.parsed(node, what, parse_boolean)

    def parsed(self, node: Node, what: str, parse: Callable[[str], T]) -> T | None:
        """What a function makes of a text; its ValueError says what is wrong."""
        try:
            return parse(node.text)
        except ValueError as error:
            self.wrong(node.place, f"{what}: {error}")
            return None

    def amounts(
        self, node: Node, what: str, minimum: int | None = None, maximum: int | None = None
    ) -> dict[str, int] | None:
        """Whole numbers by the name of a resource type; memory may have a unit."""
        if node.entries is None:
            self.wrong(node.place, f"{what} must be {{memory-mb: …, vcores: …}}, found {node.kind}")
            return None
        amounts = {}
        for name, value in node.entries.items():
            if self.types is not None and name not in self.types:
                unknown = unknown_word("resource type", name, self.types, what)
                self.wrong(node.keys[name], unknown)
                continue
            read = self.memory if name == MEMORY else self.whole
            amount = read(value, f"{what}.{name}", minimum, maximum)
            if amount is not None:
                amounts[name] = amount
        return amounts

    def memory(
        self, node: Node, what: str, minimum: int | None = None, maximum: int | None = None
    ) -> int | None:
        """Memory such as `8g`, in MB, as a bare number is."""
        if not isinstance(node.scalar, str):
            return self.whole(node, what, minimum, maximum)
        return self.parsed(node, what, parse_size)


class Value(msgspec.Struct, frozen=True):
    """A kind of value: as a schema, in words for a table, and how a node of it is read.

    `read` takes how messages name the node, and yields None for what is wrong and reported.
    `structs` are those to whose definitions the schema refers.
    """

    schema: Schema
    words: str
    read: Callable[[Reader, Node, str], Any]
    structs: tuple[type[msgspec.Struct], ...] = ()


_TEXT: Final = {"type": ["string", "number", "boolean"]}
TEXT: Final = Value(_TEXT, "text", Reader.text)
FILLED_TEXT: Final = Value(_TEXT | {"minLength": 1}, "text", Reader.filled_text)
BOOLEAN: Final = Value(
    {"anyOf": [{"type": "boolean"}, {"type": "string", "pattern": _BOOLEAN}]},
    "`true` or `false`",
    Reader.boolean,
)
FRACTION: Final = Value(
    {"type": "number", "minimum": 0, "maximum": 1},
    "number from 0 to 1",
    lambda reader, node, what: reader.number(node, what, 0.0, 1.0),
)


def whole(minimum: int | None = None, maximum: int | None = None) -> Value:
    """A whole number within bounds."""
    bounds = {"minimum": minimum, "maximum": maximum}
    return Value(
        {"type": "integer"} | {name: at for name, at in bounds.items() if at is not None},
        "whole number" + ("" if minimum is None else f", at least {minimum}"),
        lambda reader, node, what: reader.whole(node, what, minimum, maximum),
    )


def number_within(minimum: float | None, maximum: float | None) -> Value:
    """A number within bounds."""
    bounds = {"minimum": minimum, "maximum": maximum}
    return Value(
        {"type": "number"} | {name: at for name, at in bounds.items() if at is not None},
        "number" if maximum is None else f"number from {minimum} to {maximum}",
        lambda reader, node, what: reader.number(node, what, minimum, maximum),
    )


def amount_in(unit: str, minimum: int | None, maximum: int | None) -> Value:
    """A whole number of a unit, which may be written as a text with another one."""
    parse, plain = UNITS[unit], whole(minimum, maximum)

    def read(reader: Reader, node: Node, what: str) -> int | None:
        if not isinstance(node.scalar, str):
            return reader.whole(node, what, minimum, maximum)
        amount = reader.parsed(node, what, parse)
        return None if amount is None else reader.bounded(node, what, amount, minimum, maximum)

    return Value(plain.schema, plain.words, read)


def duration(bare_unit: Unit | None = None) -> Value:
    """A duration in milliseconds, as `documents/durations.py` reads it."""
    bare: Schema = (
        {"type": "number", "minimum": 0} if bare_unit else {"type": "integer", "enum": [0]}
    )
    words = _NUMBER if bare_unit else r"0+(\.0+)?|\.0+"
    text = {"type": "string", "maxLength": 100, "pattern": rf"^\s*(({_SPAN})+|({words})\s*)$"}
    return Value({"anyOf": [bare, text]}, "duration", Reader.duration)


def amounts(minimum: int | None = None, maximum: int | None = None) -> Value:
    """Whole numbers by resource type, memory also with a unit."""
    amount = whole(minimum, maximum).schema
    memory = {"anyOf": [amount, {"type": "string", "maxLength": 100, "pattern": _SIZE}]}
    return Value(
        {"type": "object", "properties": {"memory-mb": memory}, "additionalProperties": amount},
        "`{memory-mb: 1024, vcores: 1}`",
        lambda reader, node, what: reader.amounts(node, what, minimum, maximum),
    )


def parsed(parse: Callable[[str], object], words: str = "text") -> Value:
    """What a function makes of a text; its ValueError says what is wrong."""

    def read(reader: Reader, node: Node, what: str) -> Any:
        text = reader.text(node, what)
        return None if text is None else reader.parsed(node, what, parse)

    return Value(_TEXT, words, read)


def one_of(words: Iterable[str | int | float]) -> Value:
    """One of a few words."""
    listed = list(words)
    return Value(
        {"enum": listed},
        ", ".join(f"`{word}`" for word in listed),
        lambda reader, node, what: reader.word(node, what, [str(word) for word in listed]),
    )


def choice(words: Sequence[str]) -> Value:
    """One of several words, of which a message suggests the nearest."""

    def read(reader: Reader, node: Node, what: str) -> str | None:
        word = reader.text(node, what)
        if word is None or word in words:
            return word
        where, _, key = what.rpartition(".")
        reader.wrong(node.place, unknown_word(key, word, words, where))
        return None

    return msgspec.structs.replace(one_of(words), read=read)


def _read_items(value: Value, reader: Reader, node: Node, what: str) -> tuple[Any, ...]:
    """The elements of a list; those that are wrong are left out."""
    items = enumerate(reader.items(node, what))
    values = (value.read(reader, item, f"{what}[{number}]") for number, item in items)
    return tuple(item for item in values if item is not None)


def list_of(value: Value) -> Value:
    """A list of values."""
    return Value(
        {"type": "array", "items": value.schema},
        f"list of: {value.words}",
        lambda reader, node, what: _read_items(value, reader, node, what),
        value.structs,
    )


TEXTS: Final = Value(
    {"type": "array", "items": {"not": {"type": ["array", "object"]}}},
    "list of texts",
    list_of(TEXT).read,
)


def one_or_several(value: Value, words: str) -> Value:
    """A list of values, of which one may be written without a list."""

    def read(reader: Reader, node: Node, what: str) -> tuple[Any, ...] | None:
        if node.items is not None:
            return _read_items(value, reader, node, what)
        single = value.read(reader, node, what)
        return None if single is None else (single,)

    return Value({"anyOf": [value.schema, {"type": "array", "items": value.schema}]}, words, read)


def one_or_each(value: Value, words: str) -> Value:
    """One value for all tasks, or a list with one for each."""

    def read(reader: Reader, node: Node, what: str) -> Any:
        if node.items is None:
            return value.read(reader, node, what)
        each = _read_items(value, reader, node, what)
        return each if len(each) == len(node.items) else None

    return Value({"anyOf": [value.schema, {"type": "array", "items": value.schema}]}, words, read)


def by_name(
    value: Value, words: str, names: Collection[str] = (), empty: object = READ_AS_ANY
) -> Value:
    """Values by names that the file chooses, or by some of `names`, in their order. `empty` is the
    value of a name that is written without one."""

    def read(reader: Reader, node: Node, what: str) -> dict[str, Any]:
        values = {}
        for name, inner in reader.entries(node, what).items():
            if names and name not in names:
                reader.wrong(node.keys[name], unknown_word("key", name, names, what))
            elif reader.typed and inner.entries is not None and not value.structs:
                message = f"{what}: {name}: write a name with a period in quotation marks"
                reader.wrong(node.keys[name], message)
            elif empty is not READ_AS_ANY and reader.is_unwritten(inner):
                values[name] = empty
            elif (inner_value := value.read(reader, inner, f"{what}.{name}")) is not None:
                values[name] = inner_value
        return {name: values[name] for name in names if name in values} if names else values

    inner = {"anyOf": [value.schema, {"type": "null"}]}
    schema: Schema = {"type": "object", "additionalProperties": inner}
    if names:
        properties = dict.fromkeys(names, inner)
        schema = {"type": "object", "additionalProperties": False, "properties": properties}
    return Value(schema, words, read, value.structs)


def either(*values: Value, words: str, read: Callable[[Reader, Node, str], object]) -> Value:
    """Any of several kinds, between which `read` decides."""
    structs = tuple(struct for value in values for struct in value.structs)
    return Value({"anyOf": [value.schema for value in values]}, words, read, structs)


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
