"""Owns the one step in which time passes by itself: `run`.

At one instant containers end first (by application, the oldest first), then the killing that is
due, then the update pass, then the pass of the monitors, then the heartbeats in the order of the
nodes. Each repeats from the step's start on; the step's end is included. Decides nothing about
containers.
"""

from collections.abc import Callable
from typing import NamedTuple

from fairshare.core.model.events import ContainerCompleted, ContainerMarked, Event
from fairshare.core.model.identifiers import ContainerId
from fairshare.core.model.inputs import (
    ContainerExited,
    NodeBeat,
    PreemptContainers,
    TidyQueues,
    UpdateShares,
)
from fairshare.lab.scenarios.cluster import Cluster
from fairshare.lab.scenarios.masters import Masters

NEVER_MS = 2**63


class Kills:
    """When containers that were chosen for preemption are due."""

    def __init__(self, cluster: Cluster) -> None:
        self._due_ms: dict[ContainerId, int] = {}
        cluster.listeners.append(self._hear)

    def _hear(self, events: tuple[Event, ...]) -> None:
        for event in events:
            if isinstance(event, ContainerMarked):
                self._due_ms[event.container] = event.kill_at_ms
            elif isinstance(event, ContainerCompleted):
                self._due_ms.pop(event.container, None)

    def next_ms(self) -> int:
        """The next instant at which one is due."""
        return min(self._due_ms.values(), default=NEVER_MS)

    def asked(self, now_ms: int) -> None:
        """The manager was asked to kill what is due; it is not asked twice."""
        self._due_ms = {c: at_ms for c, at_ms in self._due_ms.items() if at_ms > now_ms}


class Intervals(NamedTuple):
    """How often what repeats comes, 0: never. `preemption_ms` None: there are no monitors, and what
    was marked is killed when that is due."""

    update_ms: int
    preemption_ms: int | None


class Every:
    """Something that repeats; an interval of 0 never comes."""

    def __init__(self, start_ms: int, interval_ms: int) -> None:
        self._interval_ms = interval_ms
        self.at_ms = start_ms + interval_ms if interval_ms > 0 else NEVER_MS

    def comes(self, now_ms: int) -> bool:
        """Whether it is time; then the next one is an interval away."""
        if self.at_ms != now_ms:
            return False
        self.at_ms += self._interval_ms
        return True


class Passage:
    """Lets time pass. `settle` is what follows every event."""

    def __init__(
        self, cluster: Cluster, masters: Masters, kills: Kills, settle: Callable[[], None]
    ) -> None:
        self._cluster = cluster
        self._masters = masters
        self._kills = kills
        self._settle = settle

    def run(self, duration_ms: int, heartbeat_ms: int, intervals: Intervals) -> None:
        """Until `duration_ms` from now, with heartbeats and passes at these intervals."""
        cluster = self._cluster
        end_ms = cluster.now_ms + duration_ms
        heartbeats = Every(cluster.now_ms, heartbeat_ms)
        updates = Every(cluster.now_ms, intervals.update_ms)
        passes = Every(cluster.now_ms, intervals.preemption_ms or 0)
        monitored = intervals.preemption_ms is not None
        while True:
            ends_ms = min(self._masters.ends_ms.values(), default=NEVER_MS)
            kills_ms = NEVER_MS if monitored else self._kills.next_ms()
            next_ms = min(heartbeats.at_ms, updates.at_ms, passes.at_ms, kills_ms, ends_ms)
            if next_ms > end_ms:
                cluster.now_ms = end_ms
                return
            cluster.now_ms = max(cluster.now_ms, next_ms)
            self._end_containers()
            if not monitored:
                cluster.call(PreemptContainers())
                self._kills.asked(cluster.now_ms)
            self._settle()
            if updates.comes(cluster.now_ms):
                cluster.call(UpdateShares())
                self._settle()
            if passes.comes(cluster.now_ms):
                cluster.call(PreemptContainers())
                self._settle()
                if monitored:  # the monitors of queues made on demand come in the same rounds
                    for more in (UpdateShares(), TidyQueues()):
                        cluster.call(more)
                        self._settle()
            if heartbeats.comes(cluster.now_ms):
                for node in tuple(cluster.state.nodes):
                    cluster.call(NodeBeat(node))
                    self._settle()

    def _end_containers(self) -> None:
        ends_ms = self._masters.ends_ms
        now_ms = self._cluster.now_ms
        for container in sorted(c for c, at_ms in ends_ms.items() if at_ms <= now_ms):
            ends_ms.pop(container, None)
            self._cluster.call(ContainerExited(container, 0))
