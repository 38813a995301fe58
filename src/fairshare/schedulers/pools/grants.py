"""Owns the common part of both generations' heartbeats: the node, its slots, and the event that
grants a task."""

from fairshare.model.asks import AskKey
from fairshare.model.events import ContainerAllocated, Locality
from fairshare.model.identifiers import container_id
from fairshare.model.nodes import Node
from fairshare.schedulers.pools import load
from fairshare.schedulers.pools.jobs import Job
from fairshare.schedulers.pools.settings import SLOTS
from fairshare.schedulers.pools.state import PoolsState
from fairshare.schedulers.protocol import Step


class Offer:
    """A node that is ready for tasks. `wanted` counts running and to start, of maps and reduces."""

    def __init__(self, state: PoolsState, step: Step, node: Node, wanted: tuple[int, int]) -> None:
        self.state = state
        self.step = step
        self.node = node
        self.wanted = wanted

    def free(self, kind: int) -> int:
        """Free slots of the node."""
        return self.node.available[self.state.places[kind]]

    def running(self, kind: int) -> int:
        """Tasks of a kind on the node."""
        return self.node.used[self.state.places[kind]]

    def load(self, kind: int) -> load.NodeLoad:
        """The values passed to a load manager."""
        state, place = self.state, self.state.places[kind]
        return load.NodeLoad(
            node=self.node.name,
            slots=SLOTS[kind],
            node_slots=self.node.total[place],
            node_running=self.running(kind),
            total_slots=state.total[place],
            total_running=state.used[place],
            wanted=self.wanted[kind],
            nodes=len(state.nodes),
            largest_difference=state.settings.load_max_difference,
        )

    def may_take(self, kind: int) -> bool:
        """Whether the node has a free slot that the load manager allows to be used."""
        settings = self.state.settings
        return self.free(kind) > 0 and load.may_take(
            settings.load_manager, settings.generation, self.load(kind)
        )

    def grant(self, job: Job, key: AskKey, level: Locality) -> None:
        """Grant a job a task."""
        assert key.anywhere is not None
        self.step.emit(
            ContainerAllocated(
                container_id(job.id, job.number, job.next_container),
                job.id,
                self.node.name,
                key.anywhere.resource,
                *key.order,
                level,
                job.master is None and job.managed,
                False,
                self.step.now_ms,
            )
        )
