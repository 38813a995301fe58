"""What YARN's REST interface needs of a server: the state that it reads, and the one way to send
inputs.

No other module of this package knows the server. A test that stops the clock derives a gateway with
an instant of its own.
"""

from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from fairshare.core.model.events import Event
from fairshare.core.model.identifiers import ContainerId, application_of
from fairshare.core.model.inputs import Input
from fairshare.core.schedulers.protocol import Scheduler
from fairshare.documents.problems import Problems
from fairshare.engines.protocol import ContainerFiles
from fairshare.server import mutation
from fairshare.server.server import LiveServer
from fairshare.server.users.groups import own_user
from fairshare.settings.configuration_update import Update
from fairshare.settings.registry import family_of
from fairshare.settings.web import WebSettings
from fairshare.yarn.views.interface import YarnInterface


class MutableConfiguration:
    """The scheduler's configuration, as documents change it. Refusals are InputErrors."""

    def __init__(self, server: LiveServer) -> None:
        self._server = server

    @property
    def mutable(self) -> bool:
        """Whether documents may change it at all."""
        return self._server.configuration.mutable

    def version(self) -> int:
        """The number of changes, plus one."""
        return mutation.version(self._server)

    async def update(self, update: Update, user: str) -> str:
        """Change it; the message for the caller."""
        return (await mutation.update(self._server, update, user)).message

    async def validate(self, update: Update) -> Sequence[tuple[str, str]]:
        """What it would be; nothing is changed."""
        return await mutation.validate(self._server, update)

    async def format(self, user: str) -> str:
        """Return to the file; the message for the caller."""
        return (await mutation.format_store(self._server, user)).message


class Gateway:
    """One cluster, as YARN's REST interface sees it.

    `login_user` is the user who runs the server. `changes` has the last record about each
    application, `yarn` all that the interface says differently for each scheduler.
    """

    def __init__(self, server: LiveServer, secret: bytes) -> None:
        self._server = server
        self._family = family_of(server.scheduler_name)
        self.yarn: YarnInterface = self._family.yarn
        self.health = server.projections.health
        self.activities = server.projections.activities
        self.master_limits = server.projections.master_limits
        self.configuration = MutableConfiguration(server)
        configuration = server.settings.configuration
        self.settings = WebSettings() if configuration is None else configuration.web
        self.attempt_history = server.projections.attempts
        self.changes = server.projections.application_versions
        self.node_history = server.projections.nodes
        self.log_aggregation = server.log_aggregation
        self.login_user = own_user()
        self.secret = secret

    def properties(self) -> Mapping[str, str]:
        """The properties of the scheduler as they are configured; empty if it reads none."""
        configuration = self._server.settings.configuration
        if configuration is None or self._family.own_properties is None:
            return {}
        if self._server.configuration.mutable:
            return self._server.configuration.properties()
        site, problems = configuration.site, Problems()
        _, prefix = self._family.own_properties
        return {name: site.string(name, "", problems) for name in site.names(prefix)}

    @property
    def server(self) -> LiveServer:
        """The server itself."""
        return self._server

    @property
    def scheduler(self) -> Scheduler:
        """The scheduler; its state is read-only, and must not be kept across an `await`."""
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

    @property
    def keeps_state(self) -> bool:
        """Whether records outlive the server: there is a journal."""
        return True

    def last_beat_ms(self, node: str) -> int:
        """When a node was last heard of: now, if it is on this machine."""
        beat_ms = self._server.engine.last_heartbeat_ms(node)
        return self.now_ms() if beat_ms is None else beat_ms

    def now_ms(self) -> int:
        """The instant."""
        return self._server.service.now_ms()

    def node_address(self, node: str) -> str:
        """`host:port` of a node: its identifier. It is the name of a node that registers by itself;
        those of this machine have no ports."""
        if self._server.engine.nodes_register:
            return node
        return f"{node}:{self.address.rpartition(':')[2]}"

    def node_web_address(self, node: str) -> str:
        """`host:port` at which a node shows its containers: its own web server, or this one."""
        return self._server.engine.node_web_address(node) or self.address

    def node_name(self, node_id: str) -> str:
        """The name of a node, there or not, from its identifier. A host without its port names the
        first of its nodes; nodes of this machine have no ports."""
        if not self._server.engine.nodes_register:
            return node_id.rpartition(":")[0] or node_id
        found = self.scheduler.state.node_on(node_id)
        return node_id if found is None else found.name

    def unknown_node_address(self, node: str) -> str:
        """The identifier of a node that has not registered yet."""
        return self.node_address(node)

    def node_of(self, container: ContainerId) -> str | None:
        """The node on which a container runs or ran; None if it is not known."""
        record = self._server.projections.history.container(container)
        return None if record is None else record.node

    def files(self, container: ContainerId) -> ContainerFiles | None:
        """Where a container's logs are, if its application is known."""
        if application_of(container) not in self.scheduler.state.applications:
            return None
        return self._server.container_files(container)

    def signal(self, container: ContainerId, command: str) -> None:
        """Send a container a signal: one of YARN's commands. Raises EngineError."""
        self._server.engine.signal(container, command)

    async def ask(self, input_: Input) -> tuple[Event, ...]:
        """Feed one input; raises InputError if it is refused."""
        return await self._server.service.ask(input_)

    async def groups_of(self, user: str) -> tuple[str, ...]:
        """The groups of a user, the primary one first; a directory service may take its time to
        answer."""
        groups: Sequence[str] = await run_in_threadpool(self._server.groups.of, user)
        return tuple(groups)


def gateway_of(request: Request) -> Gateway:
    """The gateway of the web application that handles a request."""
    gateway: Gateway = request.app.state.gateway
    return gateway
