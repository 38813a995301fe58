"""Owns how the form of a YAML file is described: as a JSON Schema, as Markdown, and how it is read.

A form says what a reader takes, with a meaning for each key; tests hold both equal. Knows no key.
The schema is in draft 7, the newest that every editor's YAML support reads.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Final

import msgspec

from fairshare.config.fields import Values
from fairshare.config.located import Node
from fairshare.documents.durations import Unit

Schema = dict[str, Any]

Reading = Callable[[Values, Node, str], Any]
"""The value of a node; the text is how messages name it. None for what is wrong and reported."""

_SPAN: Final = r"([0-9]+(\.[0-9]+)?|\.[0-9]+)\s*([mM][sS]|[sSmMhHdD])\s*"
_NUMBER: Final = r"([0-9]+(\.[0-9]+)?|\.[0-9]+)"
_SIZE: Final = r"^\s*([0-9]+(\.[0-9]+)?|\.[0-9]+)\s*([kKmMgGtT]([iI]?[bB])?)?\s*$"
_BOOLEAN: Final = (
    "^([tT][rR][uU][eE]|[yY][eE][sS]|[oO][nN]|[fF][aA][lL][sS][eE]|[nN][oO]|[oO][fF]{2})$"
)


class Value(msgspec.Struct, frozen=True):
    """What a key may hold: as a schema, in words for a table, and as a reader reads it."""

    schema: Schema
    words: str
    read: Reading | None = None


class Key(msgspec.Struct, frozen=True):
    """One key of a mapping. `unwritten` says what holds without it; a needed key has none.

    An empty value counts as none, except with `filled`: then it is refused. `field` is the name of
    the value in what a reader makes, if it is another one.
    """

    name: str
    value: Value
    meaning: str
    unwritten: str = ""
    needed: bool = False
    filled: bool = False
    field: str = ""


class Form(msgspec.Struct, frozen=True):
    """One mapping: its keys. `title` heads its table; `note` is the text below the heading."""

    title: str
    keys: tuple[Key, ...]
    note: str = ""
    more: Schema | None = None  # rules for several keys together

    @property
    def schema(self) -> Schema:
        """The mapping's schema: the keys of the form, and no others."""
        schema: Schema = {
            "type": "object",
            "additionalProperties": False,
            "properties": {key.name: _described(key) for key in self.keys},
        }
        needed = [key.name for key in self.keys if key.needed]
        if needed:
            schema["required"] = needed
        return schema | (self.more or {})

    @property
    def table(self) -> str:
        """A heading, the note, and a row for each key."""
        rows = ["| key | value | meaning | default |", "| --- | --- | --- | --- |"]
        for key in self.keys:
            unwritten = "required" if key.needed else key.unwritten
            rows.append(f"| `{key.name}` | {key.value.words} | {key.meaning} | {unwritten} |")
        return "\n\n".join(
            part for part in (f"## {self.title}", self.note, "\n".join(rows)) if part
        )


def _described(key: Key) -> Schema:
    """A key's schema, with its meaning for an editor to show."""
    schema = key.value.schema
    described: Schema = {"description": key.meaning.replace("`", "")}
    if key.needed or key.filled:
        return {"allOf": [schema]} | described if "$ref" in schema else schema | described
    return {"anyOf": [schema, {"type": "null"}]} | described


_TEXT: Final = {"type": ["string", "number", "boolean"]}
TEXT: Final = Value(_TEXT, "text", Values.text_of)
NOT_EMPTY: Final = Value(_TEXT | {"minLength": 1}, "text")
TEXTS: Final = Value(
    {"type": "array", "items": {"not": {"type": ["array", "object"]}}},
    "list of texts",
    Values.texts_of,
)
BOOLEAN: Final = Value(
    {"anyOf": [{"type": "boolean"}, {"type": "string", "pattern": _BOOLEAN}]},
    "`true` or `false`",
    Values.boolean_of,
)
FRACTION: Final = Value({"type": "number", "minimum": 0, "maximum": 1}, "number from 0 to 1")


def whole(minimum: int | None = None, maximum: int | None = None) -> Value:
    """A whole number within bounds."""
    bounds = {"minimum": minimum, "maximum": maximum}
    schema = {"type": "integer"} | {name: one for name, one in bounds.items() if one is not None}
    words = "whole number" + ("" if minimum is None else f", at least {minimum}")
    return Value(schema, words, partial(Values.whole_of, minimum=minimum, maximum=maximum))


def duration(bare_unit: Unit | None = None) -> Value:
    """A duration, as `documents/durations.py` reads it."""
    bare: Schema = (
        {"type": "number", "minimum": 0} if bare_unit else {"type": "integer", "enum": [0]}
    )
    words = _NUMBER if bare_unit else r"0+(\.0+)?|\.0+"
    text = {"type": "string", "maxLength": 100, "pattern": rf"^\s*(({_SPAN})+|({words})\s*)$"}
    return Value({"anyOf": [bare, text]}, "duration", Values.duration_of)


def amounts(minimum: int | None = None, maximum: int | None = None) -> Value:
    """Whole numbers by resource type, memory also with a unit."""
    number = whole(minimum, maximum).schema
    memory = {"anyOf": [number, {"type": "string", "maxLength": 100, "pattern": _SIZE}]}
    schema = {"type": "object", "properties": {"memory-mb": memory}, "additionalProperties": number}
    read = partial(Values.amounts_of, minimum=minimum, maximum=maximum)
    return Value(schema, "`{memory-mb: 1024, vcores: 1}`", read)


def one_of(words: Iterable[str | int | float]) -> Value:
    """One of a few words."""
    listed = list(words)
    return Value({"enum": listed}, ", ".join(f"`{word}`" for word in listed))


def list_of(value: Value, words: str = "") -> Value:
    """A list; what is wrong in it is reported and left out."""
    schema = {"type": "array", "items": value.schema}

    def read(values: Values, node: Node, what: str) -> tuple[Any, ...]:
        assert value.read is not None, f"nothing reads the elements of {what}"
        found = [value.read(values, item, what) for item in values.items_of(node, what)]
        return tuple(one for one in found if one is not None)

    return Value(schema, words or f"list of: {value.words}", read)


def one_or_several(value: Value, words: str) -> Value:
    """One value, or a list of them."""
    return Value({"anyOf": [value.schema, {"type": "array", "items": value.schema}]}, words)


def by_name(value: Value, words: str) -> Value:
    """Values by names that the file chooses; an empty value is none."""
    inner = {"anyOf": [value.schema, {"type": "null"}]}
    return Value({"type": "object", "additionalProperties": inner}, words)


def form_named(name: str, words: str, read: Reading | None = None) -> Value:
    """A mapping that has a form of its own in the schema's definitions."""
    return Value({"$ref": f"#/definitions/{name}"}, words, read)


def either(*values: Value, words: str, read: Reading | None = None) -> Value:
    """Any of several values."""
    return Value({"anyOf": [value.schema for value in values]}, words, read)


def document(title: str, root: Schema, definitions: Mapping[str, Schema]) -> Schema:
    """A whole schema."""
    head = {"$schema": "http://json-schema.org/draft-07/schema#", "title": title}
    return head | root | {"definitions": dict(definitions)}


def schema_text(schema: Schema) -> str:
    """The text of a schema's file."""
    return json.dumps(schema, indent=2) + "\n"
