"""Owns what YARN's REST interface needs of a server: what it reads, and the one way to ask.

The live server is one; whoever drives the core in another way (a test that has time stand still)
is another. Nothing else of this room knows which.
"""

from collections.abc import Sequence
from typing import Protocol
from urllib.parse import urlsplit

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from fairshare.config.web import WebSettings
from fairshare.live.biographies import Biographies
from fairshare.live.node_book import NodeBook
from fairshare.live.server import LiveServer
from fairshare.live.users.identity import own_user
from fairshare.model.events import Event
from fairshare.model.inputs import Input
from fairshare.schedulers.protocol import Scheduler


class Gateway(Protocol):
    """One cluster, as YARN's REST interface sees it.

    `address` is host and port of this server, `started_ms` when it started, `login_user` who runs
    it. `node_port` and `node_web_port` stand in the addresses of nodes that have none of their own.
    """

    settings: WebSettings
    biographies: Biographies
    node_book: NodeBook
    login_user: str
    secret: bytes

    @property
    def scheduler(self) -> Scheduler:
        """The scheduler; its state is for looking at, and not to be kept across an `await`."""

    @property
    def version(self) -> int:
        """Another number means that something is different."""

    @property
    def started_ms(self) -> int:
        """When the server started."""

    @property
    def address(self) -> str:
        """Host and port of this server."""

    @property
    def controls_access(self) -> bool:
        """Whether yarn.acl.enable is true."""

    def now_ms(self) -> int:
        """The instant."""

    def node_address(self, node: str) -> str:
        """`host:port` of a node: its identifier."""

    def node_web_address(self, node: str) -> str:
        """`host:port` at which a node shows its containers."""

    async def ask(self, wish: Input) -> tuple[Event, ...]:
        """Feed one input; raises InputError if it is refused."""

    async def groups_of(self, user: str) -> tuple[str, ...]:
        """The groups of a user, the primary one first."""


class LiveGateway:
    """The gateway to a live server."""

    def __init__(self, server: LiveServer, secret: bytes) -> None:
        self._server = server
        configuration = server.settings.configuration
        self.settings = WebSettings() if configuration is None else configuration.web
        self.biographies = server.biographies
        self.node_book = server.node_book
        self.login_user = own_user()
        self.secret = secret

    @property
    def server(self) -> LiveServer:
        """The server itself."""
        return self._server

    @property
    def scheduler(self) -> Scheduler:
        """The scheduler."""
        return self._server.scheduler

    @property
    def version(self) -> int:
        """The number of the last record."""
        return self._server.service.version

    @property
    def started_ms(self) -> int:
        """When the server started."""
        return self._server.started_ms

    @property
    def address(self) -> str:
        """Host and port of this server."""
        return urlsplit(self._server.url).netloc

    @property
    def controls_access(self) -> bool:
        """Whether yarn.acl.enable is true."""
        return self._server.controls_access

    def now_ms(self) -> int:
        """The instant."""
        return self._server.service.now_ms()

    def node_address(self, node: str) -> str:
        """Nodes of one machine have no ports: they are told apart by their names."""
        return f"{node}:{self.address.rpartition(':')[2]}"

    def node_web_address(self, node: str) -> str:
        """This server shows what the containers of its nodes write."""
        return self.address

    async def ask(self, wish: Input) -> tuple[Event, ...]:
        """Feed one input; raises InputError if it is refused."""
        return await self._server.service.ask(wish)

    async def groups_of(self, user: str) -> tuple[str, ...]:
        """The groups of a user; a directory service may take its time to answer."""
        groups: Sequence[str] = await run_in_threadpool(self._server.groups.of, user)
        return tuple(groups)


def gateway_of(request: Request) -> Gateway:
    """The gateway behind the application that a request came to."""
    gateway: Gateway = request.app.state.gateway
    return gateway
