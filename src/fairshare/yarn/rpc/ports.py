"""Opens the four ports of a ResourceManager beside the web server, and closes them again.

Puts the parts of this room together; what a call means is theirs.
"""

import contextlib
import logging
import socket
from collections.abc import Set
from functools import lru_cache
from pathlib import Path
from typing import Any

from fairshare.core.model.applications import Application
from fairshare.core.model.identifiers import ApplicationId, ContainerId, application_of
from fairshare.engines.protocol import HostEngine
from fairshare.errors import FairshareError
from fairshare.server.engines import made_local
from fairshare.server.server import LiveServer, RpcActivity
from fairshare.server.settings import LiveSettings
from fairshare.wording import cause
from fairshare.yarn.rest.gateway import Gateway
from fairshare.yarn.rpc.administration import Administration
from fairshare.yarn.rpc.clients import Clients
from fairshare.yarn.rpc.configuration import LOOPBACK, LOOPBACK_HOSTS, HadoopSettings, read_hadoop
from fairshare.yarn.rpc.engine.engine import NodeManagersEngine, Place, Results
from fairshare.yarn.rpc.keys import Kind, MasterKeys, TokenSigner, watch
from fairshare.yarn.rpc.masters import Masters
from fairshare.yarn.rpc.own.engine import ContextEngine
from fairshare.yarn.rpc.own.log_aggregation import OwnLogAggregation
from fairshare.yarn.rpc.own.node_manager import NodePorts
from fairshare.yarn.rpc.registered_nodes import RegisteredNodes
from fairshare.yarn.rpc.tracker import Tracker
from fairshare.yarn.rpc.wire.descriptors import APPLICATION_MASTER, RESOURCE_TRACKER
from fairshare.yarn.rpc.wire.messages import TokenProto
from fairshare.yarn.rpc.wire.server import BACKLOG, RpcServer, TokenLogins, methods_of
from fairshare.yarn.rpc.wire.tokens import AMRM_TOKEN

_log = logging.getLogger("fairshare.yarn.rpc")

SERVICES = {
    "client": "ApplicationClientProtocolService",
    "scheduler": "ApplicationMasterProtocolService",
    "admin": "ResourceManagerAdministrationProtocolService",
    "tracker": "ResourceTrackerService",
}
"""By port the service that Hadoop's metrics name."""


class PortSetup:
    """The ports for Hadoop's clients and nodes, as the configuration wants them.

    `optional`: a port that is in use is logged, and the server goes on without all four. Raises
    ConfigurationError for what cannot be honoured.
    """

    def __init__(self, settings: LiveSettings, *, optional: bool = False) -> None:
        self.hadoop = read_hadoop(settings)
        self._optional = optional
        self._engine: NodeManagersEngine | ContextEngine

    def make_engine(self, settings: LiveSettings, state_directory: Path) -> HostEngine:
        """The engine that the settings name."""
        if settings.engine == "nodemanagers":
            self._engine = NodeManagersEngine(state_directory)
        else:
            self._engine = made_local(ContextEngine, settings, state_directory)
        return self._engine

    def attached_to(self, server: LiveServer) -> "Ports":
        """The ports of a server that is not started yet."""
        return Ports(server, self.hadoop, self._engine, optional=self._optional)


class Ports:
    """The four ports of one server. `numbers` has them by name once they are open.

    With the local engine its nodes have a port each, too, on which masters start containers.
    """

    def __init__(
        self,
        server: LiveServer,
        hadoop: HadoopSettings,
        engine: NodeManagersEngine | ContextEngine,
        *,
        optional: bool,
    ) -> None:
        self._server = server
        self._hadoop = hadoop
        self._optional = optional
        self._opened = contextlib.AsyncExitStack()
        self.numbers: dict[str, int] = {}
        service = server.service
        self._keys = MasterKeys.open(server.directory.path, hadoop.keys, service.now_ms())
        self._own_nodes: NodePorts | None = None
        node_of: tuple[Any, ...] = (service_of,)
        if isinstance(engine, ContextEngine):
            self._own_nodes = node_ports = NodePorts(
                [one.node for one in engine.nodes()],
                LOOPBACK,
                server.directory.path,
                hadoop.shuffle_port,
            )
            node_of = (node_ports.service_of, node_ports.node_id)
        self._signer = TokenSigner(
            self._keys,
            server.epoch_ms,
            server.started_ms,
            server.settings.types,
            hadoop.masters.token_life_ms,
            service.now_ms,
            *node_of,
        )
        nodes = RegisteredNodes()
        gateway = Gateway(server, b"")
        self._tracker = Tracker(server, nodes, self._keys, hadoop.nodes)
        self._masters = Masters(
            server, self._keys, self._signer, hadoop.masters, gateway.node_web_address
        )
        self._masters.connect(self._tracker)
        clients = Clients(gateway, self._token_of)
        administration = Administration(gateway, hadoop.host_lists, hadoop.graceful_timeout_s)
        self._servers = {
            "client": RpcServer("client", clients.handlers),
            "scheduler": RpcServer(
                "scheduler",
                methods_of(APPLICATION_MASTER, self._masters.handlers),
                TokenLogins(AMRM_TOKEN, self._masters.key_of),
            ),
            "admin": RpcServer("admin", administration.handlers),
        }
        self._history = RpcServer("history", clients.history_handlers)
        self._engine = engine
        if isinstance(engine, NodeManagersEngine):
            results = self._results()
            engine.connect(
                lambda: service.state, nodes, self._signer, self._tracker.heard_ms, results
            )
            server.log_aggregation.enabled = hadoop.log_aggregation
            server.log_aggregation.timeout_ms = hadoop.log_aggregation_timeout_ms
            handlers = methods_of(RESOURCE_TRACKER, self._tracker.handlers)
            self._servers["tracker"] = RpcServer("tracker", handlers)
        else:
            web = server.settings.host, server.settings.port
            engine.connect(lambda: service.state, self._signer, node_ports.address_of, web)
        self._masters.deliveries.subscribe(server.observers)
        self._tracker.subscribe(server.observers)

    async def start(self) -> None:
        """Open the ports. Raises FairshareError if one of them is in use."""
        async with contextlib.AsyncExitStack() as opened:
            try:
                for name, server in self._servers.items():
                    listener = listen(*self._hadoop.addresses[name])
                    opened.callback(listener.close)
                    await server.start(listener)
                    opened.push_async_callback(server.stop)
                    self.numbers[name] = server.port
            except FairshareError as error:
                if not self._optional:
                    raise
                _log.warning("Hadoop's clients are not served: %s", error)
                return
            if self._hadoop.history is not None:
                await self._open_history(self._hadoop.history, opened)
            self._server.background.start("keys", self._roll_keys)
            if isinstance(self._engine, ContextEngine):
                assert self._own_nodes is not None
                opened.push_async_callback(self._own_nodes.stop)
                await self._own_nodes.start(self._server, self._engine, self._keys)
                self._aggregate_logs(self._engine)
            else:
                self._server.background.start("nodes", self._tracker.watch)
            self._server.background.start("masters", self._masters.watch)
            self._opened = opened.pop_all()
        self._server.rpc_activity = self._activity
        ports = ", ".join(f"{name} {number}" for name, number in self.numbers.items())
        _log.info("Hadoop's clients are served on the ports %s", ports)
        warning = warning_of(
            {host for host, _ in self._hadoop.addresses.values()},
            elsewhere_proven=self._server.authentication.required,
        )
        if warning:
            _log.warning("%s", warning)
        else:
            _log.info("Hadoop's callers say who they are, and are believed")

    async def _open_history(
        self, address: tuple[str, int], opened: contextlib.AsyncExitStack
    ) -> None:
        """Serve those who ask a timeline server, unless one of Hadoop's has the port."""
        try:
            listener = listen(*address)
        except FairshareError as error:
            _log.warning("clients that ask a timeline server are not served: %s", error)
            return
        opened.callback(listener.close)
        await self._history.start(listener)
        opened.push_async_callback(self._history.stop)
        self.numbers["history"] = self._history.port

    def _aggregate_logs(self, engine: ContextEngine) -> None:
        remote = self._hadoop.remote_logs
        if not self._hadoop.log_aggregation:
            return
        if remote.problem:
            _log.warning("logs are not aggregated: %s", remote.problem)
            return
        node_address = Gateway(self._server, b"").node_address
        OwnLogAggregation(self._server, engine, remote, node_address).start()

    def _activity(self) -> list[RpcActivity]:
        return [
            (self.numbers[name], SERVICES[name], server.metrics())
            for name, server in self._servers.items()
        ]

    async def stop(self) -> None:
        """Close the ports."""
        self._server.rpc_activity = tuple
        await self._opened.aclose()
        if self._own_nodes is not None:
            self._own_nodes.release()

    def _results(self) -> Results:
        """What fetches the results of Python calls; nodes keep them until then."""
        server, reports = self._server, self._tracker.reports
        most_bytes = server.settings.limits.result_mb * 1024 * 1024
        results = Results(server.directory.path, most_bytes, self._place_of_call)
        results.on_fetched = self._release
        reports.holds = results.waits
        results.subscribe(server.observers)  # before nodes learn of an end
        return results

    def _place_of_call(self, container: ContainerId) -> Place | None:
        """The place of a container that runs a Python call and whose node is there."""
        server = self._server
        record = server.projections.history.container(container)
        application = server.service.state.applications.get(application_of(container))
        if record is None or application is None:
            return None
        command = application.submission.driver if record.master else None
        if record.group >= 0:
            command = application.tasks.groups[record.group].spec.command
        address = server.engine.node_web_address(record.node)
        if command is None or not command.is_callable or not address:
            return None
        return server.container_names(container), address

    def _release(self, application: ApplicationId) -> None:
        known = self._server.service.state.applications.get(application)
        if known is None or known.over:
            self._tracker.reports.release(application, self._server.epoch_ms)

    def _token_of(self, application: Application) -> TokenProto | None:
        """The token of an unmanaged master, which its client fetches; None: it is over."""
        if not application.active:
            return None
        return self._signer.master(application.id, application.attempt.number).message()

    async def _roll_keys(self) -> None:
        await watch(self._keys, self._server.service.now_ms, self._keys_rolled)

    def _keys_rolled(self, kinds: frozenset[Kind]) -> None:
        for kind in kinds:
            _log.info("the key for tokens of kind %s has rolled", kind)
        if Kind.NODE in kinds:
            self._masters.deliveries.forget_tokens()


def warning_of(hosts: Set[str], *, elsewhere_proven: bool) -> str:
    """What an administrator must know of the callers of these ports, which listen on these hosts;
    empty: nothing but that they are believed. `elsewhere_proven`: web callers need a proof."""
    outside = sorted(hosts - LOOPBACK_HOSTS)
    if outside:
        return (
            f"any caller that reaches {', '.join(outside)} can act as any user, and as a node:"
            " Hadoop's callers say who they are, and are believed"
        )
    if elsewhere_proven:
        return "callers on these ports need no proof, as web callers do: they say who they are"
    return ""


def listen(host: str, port: int) -> socket.socket:
    """A socket bound to a host's address; 0: any free port. Raises FairshareError."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host or LOOPBACK, port, type=socket.SOCK_STREAM
        )[0]
        listener = socket.socket(family, kind, protocol)
    except OSError as error:
        raise FairshareError(f"{host}:{port} has no address: {cause(error)}") from error
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(BACKLOG)
        listener.setblocking(False)
    except OSError as error:
        listener.close()
        raise FairshareError(f"cannot listen on {host}:{port}: {cause(error)}") from error
    return listener


@lru_cache(65_536)
def service_of(node: str) -> str:
    """`IP:port` of a node `host:port`, which tokens for it name (Hadoop: SecurityUtil)."""
    host, _, port = node.rpartition(":")
    try:
        return f"{socket.gethostbyname(host)}:{port}"
    except OSError:
        return f"{host.lower()}:{port}"
