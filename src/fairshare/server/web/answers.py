"""How answers are written: JSON, the names of resources, refusals.

Views hold vectors in the order of the resource types; callers see named amounts. This module only
formats; it computes nothing.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any, TypeVar

import msgspec
from starlette.responses import Response

from fairshare.core.model.resources import Resource, ResourceTypes

Form = TypeVar("Form", bound=msgspec.Struct)

_encoder = msgspec.json.Encoder()


def answer(content: object, status: int = 200) -> Response:
    """JSON of plain data and structures."""
    return Response(encoded(content), status, media_type="application/json")


def encoded(content: object) -> bytes:
    """JSON of plain data and structures, as it is sent."""
    return _encoder.encode(content)


def refusal(
    status: int,
    code: str,
    message: str,
    headers: Mapping[str, str] | None = None,
    **more: str,
) -> Response:
    """`{"code": ..., "message": ...}`: the code is stable, the message says what to do."""
    content = _encoder.encode({"code": code, "message": message, **more})
    return Response(content, status, headers, media_type="application/json")


def filled(form: type[Form], view: msgspec.Struct, types: ResourceTypes, **more: Any) -> Form:
    """An answer with the fields of a view, named amounts in place of vectors, and `more` fields,
    which take precedence. A field of the view that the answer lacks raises TypeError."""
    fields = msgspec.structs.asdict(view)
    for name in vectors_of(type(view)):
        if fields[name] is not None and name not in more:
            fields[name] = types.mapping(fields[name])
    fields.update(more)
    return form(**fields)


def named(view: msgspec.Struct, types: ResourceTypes) -> dict[str, Any]:
    """A view's fields; those that hold vectors as mappings from type to amount.

    Of all fields of views only vectors have the type `Resource`.
    """
    fields = msgspec.structs.asdict(view)
    for name in vectors_of(type(view)):
        if fields[name] is not None:
            fields[name] = types.mapping(fields[name])
    return fields


@cache
def vectors_of(view: type[msgspec.Struct]) -> tuple[str, ...]:
    """The names of the fields of a structure that hold vectors."""
    return tuple(
        field.name
        for field in msgspec.structs.fields(view)
        if field.type in (Resource, Resource | None)
    )
