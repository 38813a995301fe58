"""The path by which callables arrive that are too large for the body of a submission."""

import re

from starlette.requests import Request
from starlette.responses import Response

from fairshare.api import routes
from fairshare.api.applications import Uploaded
from fairshare.core.model.work import Payload
from fairshare.errors import InputError
from fairshare.server.web.actors import identity_of
from fairshare.server.web.answers import answer
from fairshare.server.web.limits import room_for
from fairshare.server.web.openapi.operation import serve
from fairshare.server.web.requests import server_of

_DIGEST = re.compile(r"[0-9a-f]{64}")
_PART_BYTES = 1 << 20


async def upload_payload(request: Request) -> Response:
    """PUT /payloads/DIGEST: 201. The body is a pickled call, as bytes, and DIGEST its SHA-256 in
    hexadecimal digits. A submission of the same caller names it within ten minutes as its
    `payload`."""
    digest = request.path_params["digest"]
    if not _DIGEST.fullmatch(digest):
        raise InputError("bad-request", f"{digest!r} is not a SHA-256 in hexadecimal digits")
    server = server_of(request)
    size = _announced(request, server.settings.limits.payload_mb)
    caller = caller_key(request)
    state = server.directory.path
    async with room_for(server, caller, size):
        draft = await server.uploads.draft(state, digest)
        try:
            received, part = 0, bytearray()
            async for chunk in request.stream():
                received += len(chunk)
                if received > size:
                    raise InputError("bad-request", f"there are more than {size} bytes")
                part += chunk
                if len(part) >= _PART_BYTES:
                    await server.uploads.write(draft, state, bytes(part))
                    part.clear()
            if part:
                await server.uploads.write(draft, state, bytes(part))
            await server.uploads.finish(draft, state, caller, Payload(digest, received))
        finally:
            draft.discard()
    return answer(Uploaded(digest, received), 201)


def caller_key(request: Request) -> str:
    """Whose an upload is: the authenticated user's; without authentication all callers',
    since callers are believed anyway."""
    identity = identity_of(request)
    return "" if identity is None else identity.user


def _announced(request: Request, most_mb: int) -> int:
    """The size that a request announces; raises InputError."""
    text = request.headers.get("content-length", "")
    if not text.isdigit():
        raise InputError("bad-request", "say the size of the upload in Content-Length")
    size = int(text)
    if not 0 < size <= most_mb * 1024 * 1024:
        raise InputError(
            "too-large",
            f"an upload of {size} bytes: there may be 1 to {most_mb * 1024 * 1024}"
            " (payload_mb below [limits] in fairshare.toml); put larger data into a file",
        )
    return size


ROUTES = [serve(routes.UPLOAD_PAYLOAD, upload_payload, "applications")]
