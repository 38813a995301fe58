"""Owns the reading of a mapping into a struct: names, types and bounds are those of its fields.

A field of a text, a whole number, a truth value, one of several words, a list of texts or a table
of numbers is read by its type; `Annotated` with `msgspec.Meta` gives bounds. Knows no field by
name.
"""

from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Any, Final, TypeVar

import msgspec
from msgspec import inspect

from fairshare.config.fields import Fields
from fairshare.config.located import Node
from fairshare.documents.durations import parse_duration
from fairshare.documents.sizes import parse_size

Number = TypeVar("Number", int, float)

Reader = Callable[[Fields, Node, str], Any]
"""Reads the node of one field; the text is how messages name it."""

_UNITS: Final[dict[str, Callable[[str], int]]] = {
    "ms": lambda text: parse_duration(text, "ms"),
    "s": lambda text: parse_duration(text, "s"),
    "hours": lambda text: parse_duration(text, "h"),
    "days": lambda text: parse_duration(text, "d"),
    "kb": lambda text: parse_size(text, "KB"),
    "mb": parse_size,
}
"""How a text is read as a number, by the unit with which the name of its field ends."""


def read_struct(
    fields: Fields, cls: type[msgspec.Struct], readers: Mapping[str, Reader] | None = None
) -> dict[str, Any]:
    """The values of the fields that are written; what is wrong is reported and left out.

    `readers` are those of fields that their types do not describe, by name.
    """
    described = inspect.type_info(cls)
    assert isinstance(described, inspect.StructType)
    found = {}
    for field in described.fields:
        node = fields.get(field.name)
        if node is None:
            continue
        before, what = fields.mistakes, fields.path(field.name)
        reader = (readers or {}).get(field.name)
        if reader is None:
            value = _read(fields, node, what, field.type)
        else:
            value = reader(fields, node, what)
        if fields.mistakes == before:
            found[field.name] = value
    fields.finish()
    return found


def _read(fields: Fields, node: Node, what: str, kind: inspect.Type) -> Any:
    match kind:
        case inspect.UnionType():  # of one type and None, which is not written
            return _read(fields, node, what, kind.types[0])
        case inspect.IntType():
            return _whole(fields, node, what, kind)
        case inspect.BoolType():
            return fields.boolean_of(node, what)
        case inspect.LiteralType():
            return fields.word_of(node, what, [str(word) for word in kind.values])
        case inspect.VarTupleType():
            return read_words(fields, node, what)
        case inspect.DictType():
            names = kind.key_type
            known = names.values if isinstance(names, inspect.LiteralType) else ()
            read = partial(_number, fields, kind.value_type)
            return read_numbers(fields, node, what, read, list(map(str, known)))
        case _:
            return _text(fields, node, what)


def _text(fields: Fields, node: Node, what: str) -> str:
    text = fields.text_of(node, what)
    if node.is_scalar and not isinstance(node.scalar, str):
        fields.wrong(node.place, f"{what} must be a text: write {node.text} in quotation marks")
    elif node.is_scalar and not text.strip():
        fields.wrong(node.place, f"{what} must not be empty")
    return text


def _number(fields: Fields, kind: inspect.Type, node: Node, what: str) -> float:
    if isinstance(kind, inspect.IntType):
        return fields.whole_of(node, what, kind.ge, kind.le)
    assert isinstance(kind, inspect.FloatType)
    return fields.number_of(node, what, kind.ge, kind.le)


def _whole(fields: Fields, node: Node, what: str, kind: inspect.IntType) -> int:
    """A whole number; as a text with a unit, where the name of the field has one."""
    parse = _UNITS.get(what.rpartition("_")[2])
    if parse is not None and isinstance(node.scalar, str):
        try:
            return fields.bounded(node, what, parse(node.scalar), kind.ge, kind.le)
        except ValueError as error:
            fields.wrong(node.place, f"{what}: {error}")
            return 0
    return fields.whole_of(node, what, kind.ge, kind.le)


def read_words(fields: Fields, node: Node, what: str) -> tuple[str, ...]:
    """Texts, at least one."""
    if node.items == []:
        fields.wrong(node.place, f"{what} must not be empty")
    return tuple(_text(fields, item, what) for item in fields.items_of(node, what))


def read_numbers(
    fields: Fields,
    node: Node,
    what: str,
    read: Callable[[Node, str], Number],
    names: Collection[str] = (),
) -> dict[str, Number]:
    """Numbers by name, which are any names or one of `names`; what is wrong is reported and left
    out, not the others."""
    before, found = fields.mistakes, {}
    if node.entries is None:
        fields.wrong(node.place, f"{what} must be a table of numbers by name, found {node.kind}")
        return {}
    for name, value in node.entries.items():
        wrong = fields.mistakes
        if names and name not in names:
            message = f"{what}: there is no {name!r} (there are {', '.join(names)})"
            fields.wrong(node.keys[name], message)
        elif value.entries is not None:
            message = f"{what}: {name}: write a name with a period in quotation marks"
            fields.wrong(node.keys[name], message)
        else:
            number = read(value, f"{what}.{name}")
            if fields.mistakes == wrong:
                found[name] = number
    fields.mistakes = before  # those were reported, and the rest can be used
    return found
