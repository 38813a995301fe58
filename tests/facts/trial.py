"""A cluster in which time passes by heartbeats, as Hadoop's does: for what papers have measured.

Nodes beat one after another, spread over the interval; shares are updated in an interval; a
container runs as long as `duration_ms` says. The decisions are the scheduler's own.
"""

from collections.abc import Callable
from heapq import heappop, heappush

import msgspec

from fairshare.core.manager.resource_manager import ResourceManager
from fairshare.core.model.events import (
    ApplicationEnded,
    ApplicationSubmitted,
    ContainerAllocated,
    Event,
    Locality,
)
from fairshare.core.model.inputs import (
    ContainerExited,
    Input,
    LoadConfiguration,
    NodeBeat,
    NodeJoined,
    SubmitApplication,
    UpdateShares,
)
from fairshare.core.model.resources import Resource
from fairshare.core.schedulers.protocol import Scheduler


class Trial:
    """One run. `ended_ms` has submission and end of each application that is over, in that order;
    `local` and `started` count containers, by the user of their application. With
    `beats_when_free` a node also beats as soon as a container ends."""

    def __init__(
        self,
        scheduler: Scheduler,
        settings: object,
        nodes: int,
        total: Resource,
        duration_ms: Callable[[ContainerAllocated], int],
        *,
        beat_ms: int = 1000,
        update_ms: int = 500,
    ) -> None:
        self.manager = ResourceManager(scheduler)
        self.now_ms = 0
        self.ended_ms: list[tuple[str, int, int]] = []
        self.local: dict[str, int] = {}
        self.started: dict[str, int] = {}
        self.beats_when_free = False
        self._node_of: dict[int, str] = {}
        self.on_end: Callable[[str], None] = lambda user: None
        self._duration_ms = duration_ms
        self._beat_ms, self._update_ms = beat_ms, update_ms
        self._heap: list[tuple[int, int, Input]] = []
        self._count = 0
        self._begun_ms: dict[int, int] = {}
        self.tell(LoadConfiguration(msgspec.json.encode(settings), 1))
        for number in range(nodes):
            self.tell(NodeJoined(f"n{number}", total))
            self._later(1 + number * beat_ms // nodes, NodeBeat(f"n{number}"))
        self._later(0, UpdateShares())

    def _later(self, delay_ms: int, given: Input) -> None:
        self._count += 1
        heappush(self._heap, (self.now_ms + delay_ms, self._count, given))

    def tell(self, given: Input) -> None:
        """One input, and what follows from it."""
        self._follow(self.manager.handle(self.now_ms, given))

    def submit_at(self, at_ms: int, submission: SubmitApplication) -> None:
        """An application that comes later."""
        self._later(at_ms - self.now_ms, submission)

    def _follow(self, events: tuple[Event, ...]) -> None:
        applications = self.manager.state.applications
        for event in events:
            if isinstance(event, ContainerAllocated):
                user = applications[event.application].user
                self.started[user] = self.started.get(user, 0) + 1
                if event.locality == Locality.NODE_LOCAL:
                    self.local[user] = self.local.get(user, 0) + 1
                if self.beats_when_free:
                    self._node_of[event.container] = event.node
                self._later(self._duration_ms(event), ContainerExited(event.container, 0))
            elif isinstance(event, ApplicationSubmitted):
                self._begun_ms[event.application] = self.now_ms
            elif isinstance(event, ApplicationEnded):
                user = applications[event.application].user
                begun_ms = self._begun_ms.pop(event.application)
                self.ended_ms.append((user, begun_ms, self.now_ms))
                self.on_end(user)

    def run(self, until_ms: int) -> None:
        """Let time pass, up to an instant or until nobody has anything left to do."""
        while self._heap and self._heap[0][0] <= until_ms:
            self.now_ms, _, given = heappop(self._heap)
            if isinstance(given, NodeBeat):
                self._later(self._beat_ms, given)
            elif isinstance(given, UpdateShares):
                self._later(self._update_ms, given)
                if not self.manager.scheduler.update_due():
                    continue
            self.tell(given)
            if isinstance(given, ContainerExited) and self.beats_when_free:
                self.tell(NodeBeat(self._node_of.pop(given.container)))
