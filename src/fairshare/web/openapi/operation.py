"""Owns the description of one operation beside its path: its body, its answer, its parameters."""

from typing import Any, Final

import msgspec

TEXT: Final[dict[str, Any]] = {"type": "string"}
NUMBER: Final[dict[str, Any]] = {"type": "integer", "minimum": 0}
SECONDS: Final[dict[str, Any]] = {"type": "number", "minimum": 0}


class Parameter(msgspec.Struct, frozen=True):
    """A query parameter, or a header."""

    name: str
    text: str
    form: dict[str, Any] = msgspec.field(default_factory=lambda: dict(TEXT))
    place: str = "query"


class Operation(msgspec.Struct, frozen=True):
    """The description of one operation. Summary and description come from the function's docstring.

    `answer` is the type of the JSON, or a media type in place of JSON. `others` are further
    statuses other than refusals, and their meaning.
    """

    tag: str
    answer: Any = None
    body: type[msgspec.Struct] | None = None
    parameters: tuple[Parameter, ...] = ()
    status: int = 200
    others: dict[int, str] = {}
