"""What is held of a node besides what its agent reserved at its start: what others have freed
since.

An agent cannot reserve more than at its start. So a placement group without any process holds the
further amounts for it; it outlives the driver, as the agent does.
"""

from collections.abc import Mapping
from typing import Any

from fairshare.ray.amounts import Offer

HOLD_S = 10.0
"""How long Ray may take to reserve what was free."""
LABEL = "ray.io/node-id"


class FreeRoom:
    """What is free on nodes and stays so: between two tasks Ray gives a CPU back and away again."""

    def __init__(self) -> None:
        self._last: dict[str, Mapping[str, float]] = {}

    def lasting(self, free: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, float]]:
        """The amounts per node that were free at the last look and are free now.

        >>> room = FreeRoom()
        >>> room.lasting({"a": {"CPU": 3.0}})
        {'a': {}}
        >>> room.lasting({"a": {"CPU": 2.0}, "b": {"CPU": 1.0}})
        {'a': {'CPU': 2.0}, 'b': {}}
        """
        before, self._last = self._last, dict(free)
        return {
            node: {
                name: min(amount, before[node][name])
                for name, amount in amounts.items()
                if name in before.get(node, {})
            }
            for node, amounts in free.items()
        }


def free_everywhere() -> dict[str, dict[str, float]]:
    """The free amounts of all nodes, by Ray's names; blocks."""
    from ray._private.state import available_resources_per_node

    return {node: dict(free) for node, free in available_resources_per_node().items()}


def hold(cluster: str, node: str, more: Offer) -> bool:
    """Hold further amounts of a node; False if Ray has given them to others meanwhile. Blocks."""
    from ray.util.placement_group import placement_group, remove_placement_group

    bundle: dict[str, float] = {"CPU": more.cpus, **more.custom}
    if more.memory_bytes:
        bundle["memory"] = more.memory_bytes
    made = placement_group(
        [bundle],
        name=f"{_prefix(cluster, node)}{_count(cluster, node)}",
        lifetime="detached",
        bundle_label_selector=[{LABEL: node}],
    )
    if made.wait(HOLD_S):
        return True
    remove_placement_group(made)
    return False


def release(cluster: str, node: str = "") -> None:
    """Give back what is held of a node, or of all; blocks."""
    from ray.util.placement_group import get_placement_group, remove_placement_group

    for name in _held(cluster, node):
        remove_placement_group(get_placement_group(name))


def _count(cluster: str, node: str) -> int:
    numbers = [int(name.rpartition("-")[2]) for name in _held(cluster, node)]
    return max(numbers, default=0) + 1


def _held(cluster: str, node: str) -> list[str]:
    from ray.util.placement_group import placement_group_table

    known: dict[str, dict[str, Any]] = placement_group_table()
    groups = [one for one in known.values() if one["state"] != "REMOVED"]
    return [one["name"] for one in groups if one["name"].startswith(_prefix(cluster, node))]


def _prefix(cluster: str, node: str) -> str:
    return f"room-{cluster}-{node}-" if node else f"room-{cluster}-"
