"""A job's log is followed over a WebSocket, by what a socket sees (RFC 6455)."""

import asyncio
import contextlib
import os
import struct

import httpx
import pytest
from starlette.responses import Response
from starlette.routing import Route
from tests.unit.ray.web.conftest import Ray

from fairshare.server.server import LiveServer
from fairshare.server.web import listener
from fairshare.server.web.app import build_app
from fairshare.server.web.listener import serve
from fairshare.server.web.websocket import CLOSE, PING, PONG, TEXT

pytestmark = pytest.mark.anyio

JOB = {"fairshare.queue": "root.a"}


class Socket:
    """A client's side of a WebSocket."""

    def __init__(self, reader, writer):
        self.reader, self.writer = reader, writer

    @classmethod
    async def open(cls, url, path, *headers):
        """The socket, and the head of the answer."""
        host, port = url.removeprefix("http://").split(":")
        socket = cls(*await asyncio.open_connection(host, int(port)))
        lines = [f"GET {path} HTTP/1.1", f"Host: {host}:{port}", *headers]
        socket.writer.write("\r\n".join([*lines, "", ""]).encode())
        head = await socket.reader.readuntil(b"\r\n\r\n")
        return socket, head.decode().lower()

    async def receive(self):
        """The kind and the content of the next frame."""
        first, length = await self.reader.readexactly(2)
        assert first & 0x80
        if length == 126:
            [length] = struct.unpack(">H", await self.reader.readexactly(2))
        elif length == 127:
            [length] = struct.unpack(">Q", await self.reader.readexactly(8))
        return first & 0x0F, await self.reader.readexactly(length)

    def send(self, kind, payload=b""):
        mask = os.urandom(4)
        masked = bytes(byte ^ mask[at % 4] for at, byte in enumerate(payload))
        self.writer.write(bytes([0x80 | kind, 0x80 | len(payload)]) + mask + masked)

    async def texts(self):
        """All texts until the server says goodbye, and its code."""
        found = ""
        while True:
            kind, payload = await self.receive()
            if kind == CLOSE:
                return found, struct.unpack(">H", payload[:2])[0]
            assert kind == TEXT
            found += payload.decode()


UPGRADE = (
    "Upgrade: websocket",
    "Connection: keep-alive, Upgrade",
    "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
)


class Served:
    """A server on a socket, with a job whose entrypoint runs."""

    def __init__(self, server, engine, ray, order, headers):
        self.server, self.engine, self.ray = server, engine, ray
        self.order, self.headers = order, headers
        self.sockets = []

    async def follow(self, *headers, path="/api/jobs/j/logs/tail"):
        socket, head = await Socket.open(self.server.url, path, *(headers or UPGRADE))
        self.sockets.append(socket)
        return socket, head

    async def close(self):
        for socket in self.sockets:
            socket.writer.close()
            with contextlib.suppress(ConnectionError):
                await socket.writer.wait_closed()

    def write(self, text):
        files = self.engine.files(self.order.application_name, self.order.container_name)
        files.stdout.parent.mkdir(parents=True, exist_ok=True)
        with files.stdout.open("ab") as file:
            file.write(text if isinstance(text, bytes) else text.encode())


class Page:
    """What `Ray` needs of a server on a socket."""

    def __init__(self, server, engine, http):
        self.server, self.engine, self.http = server, engine, http
        self.get, self.post = http.get, http.post

    async def until(self, condition):
        version = -1
        async with asyncio.timeout(10):
            while not condition():
                version = await self.server.service.changed(version, 5)

    async def launched(self, count=1):
        await self.until(lambda: len(self.engine.orders) >= count)


async def sends_101(request):
    """An answer as a page that is passed on could be."""
    return Response(status_code=101, headers={"Upgrade": "websocket"})


@pytest.fixture
async def served(server_settings, engine, anyio_backend, monkeypatch):
    def build(server):
        app = build_app(server)
        app.router.routes.insert(0, Route("/switch", sends_101))
        return app

    monkeypatch.setattr(listener, "build_app", build)
    server = LiveServer(server_settings, lambda settings, path: engine)
    ready = asyncio.Event()
    serving = asyncio.create_task(serve(server, lambda url: ready.set()))
    async with asyncio.timeout(10):
        await ready.wait()
    async with httpx.AsyncClient(base_url=f"{server.url}/api/v1", trust_env=False) as http:
        ray = Ray(Page(server, engine, http), root=f"{server.url}/api")
        await ray.submit(submission_id="j", metadata=JOB)
        order, headers = await ray.run()
        found = Served(server, engine, ray, order, headers)
        yield found
        await found.close()
    server.request_stop()
    await serving


async def test_a_log_is_followed_until_the_job_has_ended(served):
    served.write("first\n")
    async with asyncio.timeout(10):
        socket, head = await served.follow()
        assert head.startswith("http/1.1 101 ")
        assert "sec-websocket-accept: s3pplmbitxaq9kygzzhzrbk+xoo=" in head
        assert await socket.receive() == (TEXT, b"first\n")
        served.write("größe ".encode()[:3])  # a character in two parts
        served.write("größe ".encode()[3:])
        served.write("x" * 70_000)
        await served.ray.finish(served.order, served.headers)
        text, code = await socket.texts()
        assert (text, code) == ("größe " + "x" * 70_000, 1000)
        socket.send(CLOSE, struct.pack(">H", 1000))
        assert await socket.reader.read() == b""


@pytest.mark.slow
async def test_a_log_that_is_followed_breaks_off_when_the_server_ends(served):
    served.write("first\n")
    async with asyncio.timeout(10):
        socket, _ = await served.follow()
        assert await socket.receive() == (TEXT, b"first\n")
        served.server.request_stop()
        kind, words = await socket.receive()
        assert (kind, b"the server is shut down; the job goes on" in words) == (TEXT, True)
        assert await socket.reader.read() == b""  # without a goodbye: there is more


async def test_pings_are_answered_and_a_goodbye_ends_the_stream(served):
    async with asyncio.timeout(10):
        socket, _ = await served.follow()
        socket.send(PING, b"there?")
        assert await socket.receive() == (PONG, b"there?")
        socket.send(CLOSE, struct.pack(">H", 1000))
        kind, payload = await socket.receive()
        assert (kind, payload[:2]) == (CLOSE, struct.pack(">H", 1000))
        assert await socket.reader.read() == b""


async def test_frames_that_no_client_may_send_end_the_stream(served):
    for wrong in (b"\x81\x01x", b"\x82\xff" + (1 << 40).to_bytes(8, "big") + b"mask"):
        async with asyncio.timeout(10):
            socket, _ = await served.follow()
            socket.writer.write(wrong)
            kind, payload = await socket.receive()
            assert (kind, payload[:2]) == (CLOSE, struct.pack(">H", 1002))


async def test_no_other_answer_switches_the_protocol(served):
    async with asyncio.timeout(10):
        _, head = await served.follow(path="/switch")
        assert head.startswith("http/1.1 502 ")


async def test_a_request_that_is_not_for_a_websocket_is_answered_as_any_other(served):
    async with asyncio.timeout(10):
        _, head = await served.follow("Accept: */*")
        assert head.startswith("http/1.1 426 ")
        _, head = await served.follow(*UPGRADE[:3], "Sec-WebSocket-Key: short")
        assert head.startswith("http/1.1 426 ")
        _, head = await served.follow(path="/api/jobs/other/logs/tail")
        assert head.startswith("http/1.1 404 ")
        _, head = await served.follow(*UPGRADE, "Origin: http://evil.example")
        assert head.startswith("http/1.1 403 ")
        # Another path does not switch.
        _, head = await served.follow(path="/api/v1/cluster")
        assert head.startswith("http/1.1 200 ")
