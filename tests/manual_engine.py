"""The engine of tests: it starts nothing, and a test ends each container itself."""

from collections.abc import Callable
from pathlib import Path

from fairshare.core.model.identifiers import ContainerId
from fairshare.core.model.inputs import ContainerExited, ContainerStarted, Input
from fairshare.core.model.work import Command
from fairshare.engines.local.directories import ContainerDirectory
from fairshare.engines.protocol import GpuUse, LaunchOrder, NodeOffer
from fairshare.errors import EngineError

NOWHERE = Path("/nonexistent")
"""For tests that look at no files."""


class ManualEngine:
    """Offers nodes and records what it is asked.

    `launched` are all launches, `orders` the same by container, `live` the containers that have not
    ended. With `refuse` launches fail, for that reason; `witness` sees each order first. Without
    `starts` no start is reported, and without `stops` a stop ends nothing; with it the exit code is
    143. `at_start` is reported when the server starts. The files of containers are below `path`;
    only a test writes any. `exits` are those that an earlier server did not record. With
    `nodes_register` it offers nothing: a test lets the nodes register. `uses` are the GPUs of its
    nodes.
    """

    nodes_register = False

    def __init__(
        self, path: Path = NOWHERE, *offers: NodeOffer, starts: bool = True, stops: bool = True
    ) -> None:
        self.path = path
        self.offers = offers
        self.starts = starts
        self.stops = stops
        self.launched: list[LaunchOrder] = []
        self.orders: dict[ContainerId, LaunchOrder] = {}
        self.refuse = ""
        self.witness: Callable[[LaunchOrder], None] = lambda order: None
        self.live: set[ContainerId] = set()
        self.signals: list[tuple[ContainerId, str]] = []
        self.stopped: list[ContainerId] = []
        self.pruned: list[str] = []
        self.forgotten: list[str] = []
        self.web_addresses: dict[str, str] = {}  # of nodes that keep their files themselves
        self.closed: bool | None = None
        self.at_start: list[Input] = []
        self.exits: dict[ContainerId, ContainerExited] = {}
        self.uses: tuple[GpuUse, ...] = ()
        self.assigned: dict[ContainerId, tuple[str, ...]] = {}
        self.report: Callable[[Input], None] = self.at_start.append

    def nodes(self) -> tuple[NodeOffer, ...]:
        return self.offers

    def trouble(self) -> str:
        return ""

    def start(self, report: Callable[[Input], None], **_: object) -> None:
        self.report = report
        for given in self.at_start:
            report(given)

    def launch(self, order: LaunchOrder) -> None:
        self.witness(order)
        if self.refuse:
            raise EngineError(self.refuse)
        if order.container not in self.orders:
            self.launched.append(order)
            self.orders[order.container] = order
            self.live.add(order.container)
            if self.starts:
                self.report(ContainerStarted(order.container, gpus=self._assign(order)))

    def _assign(self, order: LaunchOrder) -> tuple[str, ...]:
        wanted = order.resources.get("yarn.io/gpu", 0)
        if not wanted:
            return ()
        held = {name for one, names in self.assigned.items() if one in self.live for name in names}
        free = [use.name for use in self.uses if use.node == order.node and use.name not in held]
        self.assigned[order.container] = assigned = tuple(free[:wanted])
        return assigned

    def gpus(self) -> tuple[GpuUse, ...]:
        return self.uses

    def stop(self, container: ContainerId) -> None:
        self.stopped.append(container)
        if self.stops:
            self.end(container, 143, "stopped")

    def end(self, container: ContainerId, exit_code: int = 0, diagnostics: str = "") -> None:
        """Let a container end, as if by itself, after 7 MB of memory and 42 ms of a processor."""
        if container in self.live:
            self.live.remove(container)
            self.report(ContainerExited(container, exit_code, diagnostics, 7, 42))

    def running(self) -> frozenset[ContainerId]:
        return frozenset(self.live)

    def files(self, application_name: str, container_name: str) -> ContainerDirectory | None:
        if self.web_addresses:  # files are on the nodes
            return None
        return ContainerDirectory(self.path / application_name / container_name)

    def node_web_address(self, node: str) -> str:
        return self.web_addresses.get(node, "")

    def last_heartbeat_ms(self, node: str) -> int | None:
        return None

    def exit_of(
        self, container: ContainerId, application_name: str, container_name: str
    ) -> ContainerExited | None:
        return self.exits.get(container)

    def signal(self, container: ContainerId, command: str) -> None:
        self.signals.append((container, command))

    def command_problem(self, user: str, command: Command) -> str:
        return ""

    def account_problem(self, user: str) -> str:
        return ""

    def prune(self, application_name: str) -> None:
        self.pruned.append(application_name)

    def forget_payload(self, digest: str) -> None:
        self.forgotten.append(digest)

    def close(self, *, stop_containers: bool) -> None:
        self.closed = stop_containers
