"""How answers are written: JSON, and refusals.

This module only formats; it computes nothing.
"""

from collections.abc import Iterable, Mapping

import msgspec
from msgspec import UNSET
from starlette.responses import Response

from fairshare.server.slices import sliced

_encoder = msgspec.json.Encoder()


def answer(content: object, status: int = 200) -> Response:
    """JSON of plain data and structures."""
    return Response(encoded(content), status, media_type="application/json")


def encoded(content: object) -> bytes:
    """JSON of plain data and structures, as it is sent."""
    return _encoder.encode(content)


async def listed(name: str, rows: Iterable[msgspec.Struct], **more: object) -> bytes:
    """JSON of an object with a list of rows, which are made and written in slices, and must not
    depend on the state any more; then `more` fields that are not UNSET."""
    written = b",".join([encoded(row) async for row in sliced(rows)])
    rest = encoded({field: value for field, value in more.items() if value is not UNSET})[1:-1]
    return b'{"%b":[%b]%b%b}' % (name.encode(), written, b"," if rest else b"", rest)


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
