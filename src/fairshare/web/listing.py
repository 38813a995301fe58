"""Owns the answer that is a list of many rows, written and sent in slices."""

from collections.abc import AsyncIterator, Iterable
from typing import Final

from starlette.responses import Response, StreamingResponse

from fairshare.server.slices import sliced
from fairshare.web.answers import encoded

PIECE_BYTES: Final = 64 * 1024


def listing(name: str, items: Iterable[object]) -> Response:
    """`{"name": [...]}` as JSON, written and sent in slices."""

    async def pieces() -> AsyncIterator[bytes]:
        written, between = bytearray(b'{"%s":[' % name.encode()), b""
        async for item in sliced(items):
            written += between + encoded(item)
            between = b","
            if len(written) >= PIECE_BYTES:
                yield bytes(written)
                written.clear()
        yield bytes(written) + b"]}"

    return StreamingResponse(pieces(), media_type="application/json")
