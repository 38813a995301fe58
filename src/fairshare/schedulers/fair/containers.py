"""Owns the order in which Hadoop goes through containers to end them or to preempt them.

That is the order of its hash maps (`schedulers/hash_order.py`): an application's live containers
are in a ConcurrentHashMap, a node's in a HashMap, both as large as they ever had to be.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from fairshare.model.identifiers import ContainerId
from fairshare.model.nodes import Node
from fairshare.schedulers.fair.applications import FairApplication
from fairshare.schedulers.hash_order import container_code, in_hash_order, table_size

if TYPE_CHECKING:
    from fairshare.schedulers.fair.state import FairState


def containers_of_application(
    state: "FairState", application: FairApplication
) -> list[ContainerId]:
    """The live containers of an application."""
    size = table_size(application.most_containers, concurrent=True)
    return _in_order(state, application.containers, size)


def containers_of_node(state: "FairState", node: Node) -> list[ContainerId]:
    """The live containers on a node."""
    size = table_size(state.most_on_node[node.name], concurrent=False)
    return _in_order(state, node.containers, size)


def _in_order(
    state: "FairState", containers: Iterable[ContainerId], size: int
) -> list[ContainerId]:
    return in_hash_order(containers, lambda one: container_code(state.epoch_ms, one), size)
