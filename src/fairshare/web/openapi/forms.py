"""Owns the types of answers: the form of a view in JSON.

A view has vectors in the order of the resource types, an answer has named amounts. So the type of
an answer is derived from the view's own fields, and cannot diverge from them.
"""

from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import msgspec

from fairshare.model.resources import Resource

Amounts = Annotated[
    dict[str, int],
    msgspec.Meta(title="Amounts", description="By resource type: memory-mb in MB, vcores, ..."),
]


@cache
def shown(view: type[msgspec.Struct]) -> type[msgspec.Struct]:
    """The type of a view in an answer: the same fields, with named amounts for vectors."""
    return extended(view, view.__name__)


def extended(view: type[msgspec.Struct], name: str, /, **more: Any) -> type[msgspec.Struct]:
    """`shown`, with further or replaced fields. All fields are required."""
    hints = get_type_hints(view, include_extras=True)
    fields = {
        field: more.pop(field) if field in more else _form(hint) for field, hint in hints.items()
    }
    fields.update(more)
    return form(name, view.__doc__ or "", **fields)


def form(name: str, text: str, /, **fields: Any) -> type[msgspec.Struct]:
    """The form of an answer that has these fields."""
    return msgspec.defstruct(name, list(fields.items()), namespace={"__doc__": text})


def _form(hint: Any) -> Any:
    if hint == Resource:
        return Amounts
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return Union[tuple(_form(one) for one in arguments)]  # noqa: UP007 - made at run time
    if origin is tuple and len(arguments) == 2 and arguments[1] is Ellipsis:
        return list[_form(arguments[0])]  # type: ignore[misc]
    if origin is dict:
        return dict[str, _form(arguments[1])]  # type: ignore[misc]
    if isinstance(hint, type) and hint is not NoneType and issubclass(hint, msgspec.Struct):
        return shown(hint)
    return hint
