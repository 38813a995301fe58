"""The paths of sessions: a user's connection with a running container, by WebSocket.

The server checks who calls, and passes bytes on in both directions, of which it understands none:
`api/frames.py` describes them. What waits for a slow reader is bounded, as the other side is not
read meanwhile. When the server ends, so do the connections.
"""

import asyncio
import contextlib
import socket
from collections.abc import Callable

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from fairshare.api.frames import LOST, accept_key, close_frame, text_frame
from fairshare.core.model.applications import Application
from fairshare.core.model.identifiers import application_of
from fairshare.engines.protocol import OpensSessions
from fairshare.errors import EngineError, InputError
from fairshare.server.server import LiveServer
from fairshare.server.web.actors import caller_of, groups_of, identity_of
from fairshare.server.web.limits import Sessions
from fairshare.server.web.openapi.operation import Parameter, get
from fairshare.server.web.requests import read_container, read_parameters, server_of
from fairshare.server.web.websocket import SWITCHES, asked_key

ONE = "/containers/{container}"

_PIECE_BYTES = 32 * 1024


class Session(Response):
    """The answer that begins a session, and the session itself, until either side ends it; then
    `ended` is called."""

    def __init__(
        self, server: LiveServer, inner: socket.socket, ended: Callable[[], None] | None = None
    ) -> None:
        super().__init__()
        self._server = server
        self._inner = inner
        self._ended = ended

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with contextlib.ExitStack() as at_end:
            at_end.enter_context(self._inner)
            if self._ended is not None:
                at_end.callback(self._ended)
            headers = (
                (b"upgrade", b"websocket"),
                (b"connection", b"Upgrade"),
                (b"sec-websocket-accept", accept_key(asked_key(scope))),
            )
            scope[SWITCHES] = True
            await send({"type": "http.response.start", "status": 101, "headers": headers})
            try:
                await self._relay(receive, send)
            finally:
                await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _relay(self, receive: Receive, send: Send) -> None:
        self._inner.setblocking(False)
        reader, writer = await asyncio.open_unix_connection(sock=self._inner)
        ends = {
            asyncio.ensure_future(one)
            for one in (
                _pass_in(receive, writer),
                _pass_out(reader, send),
                self._server.stop_requested.wait(),
                self._server.service.ended.wait(),
            )
        }
        try:
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for end in ends:
                end.cancel()
            await asyncio.wait(ends)
            writer.close()


async def _pass_in(receive: Receive, writer: asyncio.StreamWriter) -> None:
    """What the user sends, until the connection is lost."""
    with contextlib.suppress(OSError):
        while (message := await receive())["type"] == "http.request":
            writer.write(message.get("body", b""))
            await writer.drain()


async def _pass_out(reader: asyncio.StreamReader, send: Send) -> None:
    """What the container sends, until it ends the session. If what held the session there ended
    without a last message, as it was killed with the container, the user gets one."""
    end = b""
    with contextlib.suppress(OSError):
        while data := await reader.read(_PIECE_BYTES):
            end = (end + data)[-len(close_frame()) :]
            await send({"type": "http.response.body", "body": data, "more_body": True})
        if end != close_frame():
            words = "the container has ended, or its limit of memory has ended what ran in it"
            frames = text_frame({"problem": words, "code": LOST}) + close_frame()
            await send({"type": "http.response.body", "body": frames, "more_body": True})


async def run_command(request: Request) -> Response:
    """GET /containers/ID/exec: runs a command in a running container, for the application's owner
    and administrators of the cluster.

    A WebSocket: the first message is a text, `{"arguments": ["nvidia-smi"]}`, with a terminal also
    `"terminal": true, "term": "xterm", "rows": 24, "columns": 80`. Then bytes are input,
    `{"eof": true}` its end, and `{"rows": 30, "columns": 90}` a new size. Of each message with
    bytes that comes back, the first one is 1 (stdout) or 2 (stderr); the last text has the `exit`
    code, or a `problem`. The command has the account, environment, directory and limits of the
    container, and ends with it, or when the connection is lost: after 45 s of silence.
    """
    engine, names, ended = await _admitted(request)

    def connection() -> socket.socket:
        return engine.open_command(*names, ended)

    # It ends when no process of it is left, which may be after the connection.
    return Session(server_of(request), await _opened(connection, ended))


async def attach(request: Request) -> Response:
    """GET /containers/ID/terminal: connects with the terminal of a container, for the application's
    owner and administrators of the cluster.

    A WebSocket as of `exec`, without the first message. The last output comes first. The user who
    attaches last has the terminal. When the connection is lost the container runs on for a while.
    """
    engine, names, ended = await _admitted(request)
    connection = await _opened(lambda: engine.open_terminal(*names), ended)
    return Session(server_of(request), connection, ended)


async def _opened(connect: Callable[[], socket.socket], ended: Callable[[], None]) -> socket.socket:
    try:
        return await run_in_threadpool(connect)
    except Exception as error:
        ended()
        if isinstance(error, EngineError):
            raise InputError("no-session", str(error)) from error
        raise


async def _admitted(
    request: Request,
) -> tuple[OpensSessions, tuple[str, str], Callable[[], None]]:
    """The engine, the names of application and container, and what is to be called at the end."""
    parameters = read_parameters(request)
    container = read_container(request)
    server = server_of(request)
    application = server.service.state.applications[application_of(container)]
    user = await _check_owner(request, application, parameters.get("user"))
    if not asked_key(request.scope):
        raise InputError(
            "upgrade-required",
            "this path speaks WebSocket only: `fairshare exec` and `fairshare attach` use it",
        )
    if not isinstance(server.engine, OpensSessions):
        raise InputError(
            "no-session",
            f"the engine {server.settings.engine} runs containers on other machines, which cannot"
            " be entered from here: use ssh",
        )
    if container not in application.attempt.launched:
        raise InputError(
            "not-running", f"nothing runs in {request.path_params['container']} (any more, or yet)"
        )
    sessions: Sessions = request.app.state.sessions
    return server.engine, server.container_names(container), sessions.begin(user, container)


async def _check_owner(request: Request, application: Application, named: str | None) -> str:
    """The calling user. Raises InputError (`access-denied`) unless it is the owner, or administers
    the cluster."""
    user, identity, server = caller_of(request, named), identity_of(request), server_of(request)
    if user == application.user or (identity is not None and identity.administrator):
        return user
    of_a_driver = identity is not None and identity.application is not None
    if server.controls_access and not of_a_driver:
        allowed = server.may_administer("", user, await groups_of(server, user))
        if allowed:
            return user
    raise InputError(
        "access-denied",
        f"you are {user}, and this application is {application.user}'s: only its owner and"
        " administrators of the cluster may enter its containers",
    )


_USER = Parameter("user", "The calling user, where authentication is off.")

ROUTES = [
    get(
        f"{ONE}/exec",
        run_command,
        "containers",
        "application/octet-stream",
        _USER,
        others={101: "The session begins."},
    ),
    get(
        f"{ONE}/terminal",
        attach,
        "containers",
        "application/octet-stream",
        _USER,
        others={101: "The session begins."},
    ),
]
