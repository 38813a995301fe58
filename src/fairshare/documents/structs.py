"""Documents whose form is a struct: the one definition from which a mapping is read, its JSON
Schema made, and its table in a reference page.

    class Node(msgspec.Struct, frozen=True):
        "A node."                                  # the title of its table

        name: Annotated[str, FILLED_TEXT, Doc("its name")]
        count: Annotated[int, Meta(ge=1), Doc("the number of equal nodes")] = 1

The kind of a value follows from the type of its field, or is written beside it, as `FILLED_TEXT`; a
field without a default must be written. A key that is not called like its field has its name by
`msgspec.field(name=...)` or `rename`. What concerns several keys is a method `check(self, at: At)`,
and in the schema the class variable `RULES`.
"""

import json
from collections.abc import Iterable, Iterator
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, TypeVar, Union, get_args, get_origin

import msgspec

from fairshare.documents.located import Node
from fairshare.documents.values import (
    BOOLEAN,
    READ_AS_ANY,
    TEXT,
    TEXTS,
    UNITS,
    Reader,
    Schema,
    Value,
    amount_in,
    by_name,
    list_of,
    number_within,
    one_of,
    unknown_word,
    whole,
)

S = TypeVar("S", bound=msgspec.Struct)


class Doc(msgspec.Struct, frozen=True):
    """What a key means, for readers of the reference.

    `unwritten` says what holds without it, if the default in the code does not; `words` replaces
    those of the kind of its value. `needed`: it must be written, although its field has a default.
    A key without a value counts as unwritten; with `filled` it is refused, and with `empty` it has
    this value.
    """

    meaning: str
    unwritten: str | None = None
    words: str = ""
    needed: bool = False
    filled: bool = False
    empty: Any = None


NOT_A_KEY: Final = "not a key"
"""Marks a field that no key of the document has."""


class KeysNamed(msgspec.Struct, frozen=True):
    """Marks a field with the values of several keys, by their names."""

    names: tuple[str, ...]
    value: Value


class Key(msgspec.Struct, frozen=True):
    """One key of a mapping, and the field that has its value.

    `default` is the value of the field without it, for a needed key an empty one. `gathered`: the
    field has the values of several keys by name.
    """

    name: str
    field: str
    value: Value
    doc: Doc
    needed: bool
    default: Any
    gathered: bool = False


class At(msgspec.Struct, frozen=True):
    """Where a struct was read, for the checks of several of its keys."""

    node: Node
    what: str
    reader: Reader

    def path(self, key: str) -> str:
        """How messages name the value of a key."""
        return f"{self.what}.{key}" if self.what else key

    def has(self, key: str) -> bool:
        """Whether a key has a value, right or wrong."""
        node = (self.node.entries or {}).get(key)
        return node is not None and not self.reader.is_unwritten(node)

    def wrong(self, message: str, *path: str) -> None:
        """Report a mistake, at a key or in the whole."""
        self.reader.wrong(self.node.find(*path), message)


def read(node: Node, cls: type[S], reader: Reader, what: str = "") -> S | None:
    """The struct of a mapping; None if there is none. Messages call it `what`.

    A value that is wrong is reported, and its field has the default or, without one, an empty
    value: the caller refuses the document, after all mistakes in it have been reported.
    """
    name = what or f"a {reader.rule}"
    entries = reader.entries(node, name)
    if node.entries is None:
        return None
    keys, needed = _keys_by_name(cls)
    values: dict[str, Any] = {}
    for written, inner in entries.items():
        key, path = keys.get(written), f"{what}.{written}" if what else written
        value = None
        if key is None:
            reader.wrong(node.keys[written], unknown_word("key", written, keys, what))
            continue
        if not reader.is_unwritten(inner):
            value = key.value.read(reader, inner, path)
        elif key.doc.empty is not None:
            value = key.doc.empty
        elif key.doc.filled:
            reader.wrong(node.keys[written], f"{name} needs a value for {written!r}")
        elif reader.untyped:
            reader.wrong(inner.place, f"{path} is empty: leave the key out, or give it a value")
        if value is not None and key.gathered:
            values.setdefault(key.field, {})[written] = value
        elif value is not None:
            values[key.field] = value
    for key in needed:
        if key.field not in values:
            empty = entries.get(key.name)
            if empty is None or reader.is_unwritten(empty):
                place = node.keys.get(key.name, node.place)
                reader.wrong(place, f"{name} needs a value for {key.name!r}")
            values[key.field] = key.default
    made = cls(**values)
    check = getattr(made, "check", None)
    if check is not None:
        check(At(node, what, reader))
    return made


@cache
def _keys_by_name(cls: type[msgspec.Struct]) -> tuple[dict[str, Key], tuple[Key, ...]]:
    """The keys of a mapping, and those that must be written."""
    keys = keys_of(cls)
    return {key.name: key for key in keys}, tuple(key for key in keys if key.needed)


@cache
def keys_of(cls: type[msgspec.Struct]) -> tuple[Key, ...]:
    """The keys of a mapping, in the order of the struct's fields."""
    keys = []
    for field in msgspec.structs.fields(cls):
        metadata = field.type.__metadata__ if get_origin(field.type) is Annotated else ()
        if NOT_A_KEY in metadata:
            continue
        doc = next((each for each in metadata if isinstance(each, Doc)), Doc(""))
        several = next((each for each in metadata if isinstance(each, KeysNamed)), None)
        if several is not None:
            keys += [
                Key(name, field.name, several.value, doc, False, None, gathered=True)
                for name in several.names
            ]
            continue
        value = _value_of(field.type, field.encode_name)
        default = _empty_of(field.type) if field.required else field.default
        needed = field.required or doc.needed
        keys.append(Key(field.encode_name, field.name, value, doc, needed, default))
    return tuple(keys)


def _empty_of(kind: Any) -> Any:
    """An empty value of a type, for a document that is refused."""
    while get_origin(kind) in (Annotated, Union, UnionType):
        kind = get_args(kind)[0]
    kinds = {str: "", int: 0, float: 0.0, bool: False, tuple: (), dict: {}}
    return kinds.get(get_origin(kind) or kind)


def _value_of(kind: Any, name: str = "") -> Value:
    """The kind of value that a type describes, and the unit with which a name ends (`_ms`)."""
    bounds = None
    if get_origin(kind) is Annotated:
        kind, *metadata = get_args(kind)
        for annotation in metadata:
            if isinstance(annotation, Value):
                return annotation
            if isinstance(annotation, msgspec.Meta):
                bounds = annotation
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        (inner,) = (each for each in arguments if each is not NoneType)
        return _value_of(inner if bounds is None else Annotated[inner, bounds], name)
    if origin is Literal:
        return one_of(sorted(arguments))
    if origin is tuple:
        item = _value_of(arguments[0])
        return TEXTS if item is TEXT else list_of(item)
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return struct_value(kind)
    if origin is dict:
        names = get_args(arguments[0]) if get_origin(arguments[0]) is Literal else ()
        item = _value_of(arguments[1])
        words = f"{item.words} by name"
        return by_name(item, words, names, empty="" if item is TEXT else READ_AS_ANY)
    if kind is int:
        least, most = (None if bound is None else int(bound) for bound in _bounds(bounds))
        unit = name.rpartition("_")[2]
        return amount_in(unit, least, most) if unit in UNITS else whole(least, most)
    if kind is float:
        return number_within(*_bounds(bounds))
    return {str: TEXT, bool: BOOLEAN}[kind]


def _bounds(meta: msgspec.Meta | None) -> tuple[float | None, float | None]:
    """The least and the largest value."""
    return (None, None) if meta is None else (meta.ge, meta.le)


def struct_value(cls: type[msgspec.Struct]) -> Value:
    """A mapping that is read as a struct, and has a definition of its own in the schema."""
    title = title_of(cls)
    return Value(
        {"$ref": f"#/definitions/{cls.__name__.lower()}"},
        f"[{title[:1].lower()}{title[1:]}](#{title.lower().replace(' ', '-')})",
        lambda reader, node, what: read(node, cls, reader, what),
        (cls,),
    )


def title_of(cls: type[msgspec.Struct]) -> str:
    """The first sentence of its docstring, which heads its table."""
    return (cls.__doc__ or "").partition(".")[0]


def structs_in(cls: type[msgspec.Struct]) -> Iterator[type[msgspec.Struct]]:
    """A struct, and those within it, in the order of their keys."""
    yield cls
    for key in keys_of(cls):
        for inner in key.value.structs:
            yield from structs_in(inner)


def schema_of(cls: type[msgspec.Struct]) -> Schema:
    """The schema of a mapping: the keys of the struct, and no others."""
    schema: Schema = {
        "type": "object",
        "additionalProperties": False,
        "properties": {key.name: _described(key) for key in keys_of(cls)},
    }
    if needed := [key.name for key in keys_of(cls) if key.needed]:
        schema["required"] = needed
    return schema | getattr(cls, "RULES", {})


def _described(key: Key) -> Schema:
    """A key's schema, with its meaning for an editor to show."""
    schema = key.value.schema
    described: Schema = {"description": key.doc.meaning.replace("`", "")}
    if key.needed or key.doc.filled:
        return {"allOf": [schema]} | described if "$ref" in schema else schema | described
    return {"anyOf": [schema, {"type": "null"}]} | described


def document_schema(title: str, cls: type[msgspec.Struct]) -> Schema:
    """The schema of a whole document."""
    _, *inner = dict.fromkeys(structs_in(cls))
    definitions = {struct.__name__.lower(): schema_of(struct) for struct in inner}
    head = {"$schema": "http://json-schema.org/draft-07/schema#", "title": title}
    return head | schema_of(cls) | {"definitions": definitions}


def schema_text(schema: Schema) -> str:
    """The text of a schema's file."""
    return json.dumps(schema, indent=2) + "\n"


def table_of(cls: type[msgspec.Struct]) -> str:
    """A heading, the note, and a row for each key; the note is what the docstring says after the
    title."""
    return table(title_of(cls), keys_of(cls), note_of(cls))


def note_of(cls: type[msgspec.Struct]) -> str:
    """What its docstring says after the first sentence."""
    return " ".join((cls.__doc__ or "").partition(".")[2].split())


def table(title: str, keys: Iterable[Key], note: str = "") -> str:
    """A heading, the note, and a row for each key."""
    rows = ["| key | value | meaning | default |", "| --- | --- | --- | --- |"]
    for key in keys:
        words = key.doc.words or key.value.words
        rows.append(f"| `{key.name}` | {words} | {key.doc.meaning} | {_unwritten(key)} |")
    return "\n\n".join(part for part in (f"## {title}", note, "\n".join(rows)) if part)


def _unwritten(key: Key) -> str:
    """What holds without a key, in words."""
    if key.needed:
        return "required"
    if key.doc.unwritten is not None:
        return key.doc.unwritten
    match key.default:
        case bool() as truth:
            return f"`{truth}`".lower()
        case int() | float() as number:
            return str(number)
        case str() as text if text:
            return f"`{text}`"
        case _:
            return "none"
