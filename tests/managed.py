"""A resource manager for tests: it is fed inputs, and its state is checked after each."""

from typing import Any

import msgspec

from fairshare.core.manager.resource_manager import ResourceManager
from fairshare.core.model.events import ContainerLaunched, Event
from fairshare.core.model.inputs import Input, LoadConfiguration, NodeBeat, NodeJoined, UpdateShares
from fairshare.core.model.invariants import check
from fairshare.core.model.resources import ResourceTypes
from fairshare.core.schedulers.capacity.settings import CapacitySettings, Percentage, QueueSettings
from fairshare.core.schedulers.fair.settings import FairSettings
from fairshare.core.schedulers.fifo import FifoSettings
from fairshare.settings.registry import family_of

SETTINGS = {
    "fair": FairSettings(assign_multiple=True, dynamic_max_assign=False),
    "fifo": FifoSettings(),
    "capacity": CapacitySettings(
        queues={
            "root": QueueSettings(children=("default",), capacity=Percentage(100.0)),
            "root.default": QueueSettings(capacity=Percentage(100.0), maximum_master_share=1.0),
        }
    ),
}
"""One queue, root.default, under each scheduler, and several containers for a heartbeat."""


class Managed:
    """A manager with a configuration, and a node n1 if given. Before each input `step_ms` pass."""

    step_ms = 0

    def __init__(self, kind: str, settings: Any, node: tuple[int, ...] | None = None) -> None:
        self.manager = ResourceManager(family_of(kind).create(ResourceTypes()))
        self.state = self.manager.state
        self.now_ms = 0
        self.feed(LoadConfiguration(msgspec.json.encode(settings), 1))
        if node is not None:
            self.feed(NodeJoined("n1", node))

    def feed(self, given: Input) -> tuple[Event, ...]:
        """Handle one input; its events."""
        self.now_ms += self.step_ms
        events = self.manager.handle(self.now_ms, given)
        check(self.state)
        return events

    def beat(self, *nodes: str) -> list[Event]:
        """Update all shares, then a heartbeat of each of these nodes, by default of all; the events
        of the heartbeats."""
        self.feed(UpdateShares())
        names = nodes or tuple(self.state.nodes)
        return [event for name in names for event in self.feed(NodeBeat(name))]

    def launch(self, *nodes: str) -> list[ContainerLaunched]:
        """Let such heartbeats launch what they can; what they launched."""
        return [event for event in self.beat(*nodes) if isinstance(event, ContainerLaunched)]

    def run(self) -> list[ContainerLaunched]:
        """The same until they launch nothing."""
        launched: list[ContainerLaunched] = []
        while new := self.launch():
            launched += new
        return launched

    @property
    def application(self) -> Any:
        """The first application."""
        return self.state.applications[1]
