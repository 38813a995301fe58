"""Connections of users with containers on Ray's nodes: a terminal, or a command beside it.

The bytes pass from the server through the driver to the agent, whose local engine has the other
end, and understands them (`api.frames`). In each direction the next piece is sent when the last one
has been taken: a side that does not read stops the other one, and nothing grows. When the user, the
server, the driver or the agent is gone, the connection ends, and the container goes on.
"""

import asyncio
import contextlib
import itertools
import logging
import socket
import threading
import time
from collections.abc import Callable
from typing import Any

from fairshare.engines.local.engine import LocalEngine
from fairshare.errors import EngineError, InputError
from fairshare.ray.messages import (
    FromDriver,
    OpenSession,
    SessionBytes,
    SessionOpened,
    SessionTaken,
    ToDriver,
)
from fairshare.ray.troubles import first_line

PIECE_BYTES = 64 * 1024
OPEN_S = 30.0
WAIT_S = 10.0
"""How long an agent waits for output before it answers that there is none."""
FORGOTTEN_S = 30.0
"""An agent closes a connection for whose output no driver has asked for so long."""

_log = logging.getLogger("fairshare.ray")


class _Passage:
    """One connection in the server, or in the driver."""

    def __init__(self) -> None:
        self.taken = asyncio.Event()
        self.incoming = asyncio.Queue[bytes]()  # one piece, and the end: b""
        self.close: Callable[[], None] | None = None  # of the driver's, once it is open
        self.closed = False


class ServerSessions:
    """The server's end."""

    def __init__(self, send: Callable[[ToDriver], None]) -> None:
        self._send = send
        self._calls = itertools.count(1)
        self._opening: dict[int, asyncio.Future[SessionOpened]] = {}
        self._open: dict[int, _Passage] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def open(
        self, node: str, names: tuple[str, str], ended: Callable[[], None], *, terminal: bool
    ) -> socket.socket:
        """A connection with a container (the names of application and container) of a Ray node;
        `ended` is called when it is over, not if this raises InputError or EngineError."""
        call, loop = next(self._calls), asyncio.get_running_loop()
        answer = self._opening[call] = loop.create_future()
        passage = self._open[call] = _Passage()
        self._send(OpenSession(call, node, *names, terminal))
        try:
            opened = await asyncio.wait_for(answer, OPEN_S)
            if opened.error:
                problem = opened.error
                raise InputError(opened.code, problem) if opened.code else EngineError(problem)
            ours, theirs = socket.socketpair()
        except BaseException as error:
            del self._open[call]
            self._send(SessionBytes(call))
            if isinstance(error, TimeoutError):
                raise EngineError("the node does not answer in time") from None
            if isinstance(error, OSError):
                raise EngineError(f"cannot make a connection: {error.strerror}") from error
            raise
        finally:
            del self._opening[call]
        reader, writer = await asyncio.open_unix_connection(sock=ours)
        task = loop.create_task(self._run(call, passage, reader, writer, ended), name="session")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return theirs

    def take(self, message: SessionOpened | SessionBytes | SessionTaken) -> None:
        """What the driver says; of connections that are over nothing is left to do."""
        match message:
            case SessionOpened():
                answer = self._opening.get(message.call)
                if answer is not None and not answer.done():
                    answer.set_result(message)
            case SessionBytes():
                if (passage := self._open.get(message.call)) is not None:
                    passage.incoming.put_nowait(message.content)
            case SessionTaken():
                if (passage := self._open.get(message.call)) is not None:
                    passage.taken.set()

    def lose(self) -> None:
        """The driver is gone, and with it all connections."""
        for answer in self._opening.values():
            if not answer.done():
                answer.set_result(SessionOpened(0, error="the driver of Ray ended"))
        for passage in self._open.values():
            passage.incoming.put_nowait(b"")

    async def _run(
        self,
        call: int,
        passage: _Passage,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        ended: Callable[[], None],
    ) -> None:
        inward = asyncio.ensure_future(self._pass_in(call, passage, reader))
        try:
            # Until the agent's end is closed, also if the user is gone: only then nothing of a
            # command is left.
            while data := await passage.incoming.get():
                with contextlib.suppress(OSError):
                    writer.write(data)
                    await writer.drain()
                self._send(SessionTaken(call))
        finally:
            inward.cancel()
            del self._open[call]
            writer.close()
            ended()

    async def _pass_in(self, call: int, passage: _Passage, reader: asyncio.StreamReader) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(PIECE_BYTES):
                passage.taken.clear()
                self._send(SessionBytes(call, data))
                await passage.taken.wait()
        self._send(SessionBytes(call))


class DriverSessions:
    """The driver's part: `agent_of` finds the agent of a Ray node, None: it does not answer."""

    def __init__(self, agent_of: Callable[[str], Any], send: Callable[[FromDriver], None]) -> None:
        self._agent_of = agent_of
        self._send = send
        self._open: dict[int, _Passage] = {}
        self._agents: dict[int, tuple[Any, int]] = {}

    def begin(self, message: OpenSession) -> Any:
        """What is to run as a task, until the connection is over."""
        self._open[message.call] = _Passage()  # at once: it may be closed before it is open
        return self._run(message)

    async def _run(self, message: OpenSession) -> None:
        call, passage = message.call, self._open[message.call]
        try:
            agent = self._agent_of(message.node)
            if agent is None:
                self._send(SessionOpened(call, error="its node does not answer now"))
                return
            place = message.application_name, message.container_name, message.terminal
            reference = agent.open_session.remote(*place)
            number, code, error = await asyncio.wait_for(_result(reference), OPEN_S)
            self._send(SessionOpened(call, code, error))
            if error:
                return
            self._agents[call] = agent, number
            if passage.closed:
                agent.close_session.remote(number)
            while (data := await _result(agent.session_output.remote(number))) != b"":
                if data is not None and not passage.closed:
                    passage.taken.clear()
                    self._send(SessionBytes(call, data))
                    await passage.taken.wait()
        except Exception as error:
            _log.warning("a session ended: %s", first_line(error))
            self._send(SessionOpened(call, error=first_line(error)))  # if it is not open yet
        finally:
            self._agents.pop(call, None)
            del self._open[call]
            self._send(SessionBytes(call))

    async def take(self, message: SessionBytes | SessionTaken) -> None:
        """What the server says."""
        passage = self._open.get(message.call)
        if passage is None:
            return
        if isinstance(message, SessionTaken):
            passage.taken.set()
            return
        agent, number = self._agents.get(message.call, (None, 0))
        if not message.content:
            passage.closed = True
            passage.taken.set()
            if agent is not None:
                agent.close_session.remote(number)
        elif agent is not None:
            try:
                await _result(agent.session_input.remote(number, message.content))
            except Exception as error:
                _log.warning("a session took no input: %s", first_line(error))
            self._send(SessionTaken(message.call))


async def _result(reference: Any) -> Any:
    return await reference


class _Connection:
    """One connection in the agent."""

    def __init__(self, connection: socket.socket, over: threading.Event) -> None:
        connection.setblocking(False)
        self.socket = connection
        self.over = over
        self.asked_s = time.monotonic()
        self.reading: asyncio.Future[bytes] | None = None

    def close(self) -> None:
        """Both directions, so that a reader notices."""
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)


class AgentSessions:
    """The agent's end."""

    def __init__(self, engine: LocalEngine) -> None:
        self._engine = engine
        self._numbers = itertools.count(1)
        self._open: dict[int, _Connection] = {}
        self._looking: asyncio.Task[None] | None = None

    async def open(self, names: tuple[str, str], *, terminal: bool) -> tuple[int, str, str]:
        """The number of a new connection, or the code and the words of what is wrong."""
        over = threading.Event()
        try:
            if terminal:
                connection = await asyncio.to_thread(self._engine.open_terminal, *names)
                over.set()
            else:
                connection = await asyncio.to_thread(self._engine.open_command, *names, over.set)
        except InputError as error:
            return 0, error.code, str(error)
        except EngineError as error:
            return 0, "", str(error)
        number = next(self._numbers)
        self._open[number] = _Connection(connection, over)
        if self._looking is None or self._looking.done():
            self._looking = asyncio.ensure_future(self._look())
        return number, "", ""

    async def output(self, number: int) -> bytes | None:
        """The next output; None: not yet, empty: it is over, and no process of a command left."""
        opened = self._open.get(number)
        if opened is None:
            return b""
        opened.asked_s = time.monotonic()
        loop = asyncio.get_running_loop()
        if opened.reading is None:
            opened.reading = asyncio.ensure_future(loop.sock_recv(opened.socket, PIECE_BYTES))
        await asyncio.wait((opened.reading,), timeout=WAIT_S)
        opened.asked_s = time.monotonic()
        if not opened.reading.done():
            return None
        failed = opened.reading.exception() is not None
        data = b"" if failed else opened.reading.result()
        opened.reading = None
        if not data:
            opened.socket.close()
            while not await asyncio.to_thread(opened.over.wait, WAIT_S):
                opened.asked_s = time.monotonic()
            self._open.pop(number, None)
        return data

    async def input(self, number: int, content: bytes) -> None:
        """Pass input on; returns when it is taken, or the connection is over."""
        if (opened := self._open.get(number)) is not None:
            with contextlib.suppress(OSError):
                await asyncio.get_running_loop().sock_sendall(opened.socket, content)

    def close(self, number: int) -> None:
        """The user is gone."""
        if (opened := self._open.get(number)) is not None:
            opened.close()

    async def _look(self) -> None:
        """Close the connections that a driver has forgotten."""
        while self._open:
            await asyncio.sleep(WAIT_S)
            for number, opened in tuple(self._open.items()):
                if time.monotonic() - opened.asked_s > FORGOTTEN_S:
                    opened.close()
                    asyncio.ensure_future(self.output(number))  # noqa: RUF006 - ends at once
