"""How the resources of a Ray node become fairshare's, and what is reserved and held for them.

Ray's CPU are vcores, its memory (bytes) is `memory-mb`, its GPU are `yarn.io/gpu`; any other one is
the type of the same name, if the configuration has it. Only what is free is reserved: what others
hold on the same cluster is seen and not offered. What others free later is held by a placement
group without any process, since an agent cannot reserve more than at its start; the group outlives
the driver, as the agent does.

Ray's labels, its accelerators, and the partition, by which requests name it, become attributes of
the node.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from fairshare.core.model.resources import MEMORY, VCORES
from fairshare.documents.gpus import GPU
from fairshare.documents.sizes import MEBIBYTE
from fairshare.errors import EngineError

PARTITION: Final = "partition"
ACCELERATOR_LABEL: Final = "ray.io/accelerator-type"
_ACCELERATOR: Final = "accelerator_type:"
_OWN: Final = "ray.io/node-id"
_LONGEST: Final = 256
_MOST: Final = 64


def attributes_of(node: Mapping[str, Any], partition_label: str) -> dict[str, str]:
    """The attributes of a node that `ray.nodes()` lists; the value of the label
    `partition_label` is its partition. Of more than 64 labels the first are kept, and of each 256
    characters.

    >>> attributes_of({"Labels": {"tier": "spot"}, "Resources": {"accelerator_type:A100": 1}},
    ...               "ray.io/accelerator-type")
    {'tier': 'spot', 'ray.io/accelerator-type': 'A100', 'partition': 'A100'}
    """
    labels = node.get("Labels") or {}
    attributes = {
        str(name)[:_LONGEST]: str(labels[name])[:_LONGEST]
        for name in sorted(labels)[:_MOST]
        if name != _OWN
    }
    for resource in node.get("Resources") or {}:
        if resource.startswith(_ACCELERATOR):
            attributes.setdefault(ACCELERATOR_LABEL, resource.removeprefix(_ACCELERATOR))
    attributes.pop(PARTITION, None)  # only the label that the configuration names decides
    partition = attributes.get(partition_label) or labels.get(partition_label)
    if partition:
        attributes[PARTITION] = str(partition)[:_LONGEST]
    return attributes


class Offer(msgspec.Struct, frozen=True):
    """What an agent reserves, in Ray's units, and what its node offers, in fairshare's."""

    cpus: int
    gpus: int
    memory_bytes: int
    custom: dict[str, float]
    resources: dict[str, int]


def offer(free: Mapping[str, float], types: tuple[str, ...]) -> Offer:
    """What is offered of what is free. Raises EngineError if that is not one vcore.

    >>> offer({"CPU": 4.5, "memory": 2 * 2**30, "GPU": 1}, ("memory-mb", "vcores")).resources
    {'memory-mb': 2048, 'vcores': 4}
    """
    cpus, memory_mb = int(free.get("CPU", 0)), int(free.get("memory", 0)) // MEBIBYTE
    if cpus < 1 or memory_mb < 1:
        raise EngineError(f"it has {cpus} CPU and {memory_mb} MB free: others hold the rest")
    gpus = int(free.get("GPU", 0)) if GPU in types else 0
    custom = {name: int(free[name]) for name in types[2:] if name != GPU and int(free.get(name, 0))}
    resources = {MEMORY: memory_mb, VCORES: cpus, **custom}
    if gpus:
        resources[GPU] = gpus
    held = {name: float(amount) for name, amount in custom.items()}
    return Offer(cpus, gpus, memory_mb * MEBIBYTE, held, resources)


def further(free: Mapping[str, float], types: tuple[str, ...]) -> Offer | None:
    """What is offered of what others have freed since the agent started; None: not one vcore. GPUs
    are not: which ones an agent has is decided when it starts.

    >>> further({"CPU": 2.5, "GPU": 1}, ("memory-mb", "vcores", "yarn.io/gpu")).resources
    {'memory-mb': 0, 'vcores': 2}
    """
    cpus, memory_mb = int(free.get("CPU", 0)), int(free.get("memory", 0)) // MEBIBYTE
    if cpus < 1:
        return None
    custom = {name: int(free[name]) for name in types[2:] if name != GPU and int(free.get(name, 0))}
    held = {name: float(amount) for name, amount in custom.items()}
    resources = {MEMORY: memory_mb, VCORES: cpus, **custom}
    return Offer(cpus, 0, memory_mb * MEBIBYTE, held, resources)


def bundle(resources: Mapping[str, int]) -> dict[str, float]:
    """Amounts of our types in Ray's names and units, without those of 0.

    >>> bundle({"memory-mb": 512, "vcores": 2, "yarn.io/gpu": 1, "licence": 0})
    {'memory': 536870912, 'CPU': 2, 'GPU': 1}
    """
    names = {MEMORY: "memory", VCORES: "CPU", GPU: "GPU"}
    return {
        names.get(name, name): amount * MEBIBYTE if name == MEMORY else amount
        for name, amount in resources.items()
        if amount
    }


def free_on(node: Mapping[str, object]) -> dict[str, float]:
    """The free amounts of a node that `ray.nodes()` lists, by Ray's names."""
    from ray._private.state import available_resources_per_node

    return dict(available_resources_per_node().get(node["NodeID"], {}))


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

    numbers = [int(name.rpartition("-")[2]) for name in _held(cluster, node)]
    bundle: dict[str, float] = {"CPU": more.cpus, **more.custom}
    if more.memory_bytes:
        bundle["memory"] = more.memory_bytes
    made = placement_group(
        [bundle],
        name=f"{_prefix(cluster, node)}{max(numbers, default=0) + 1}",
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


def _held(cluster: str, node: str) -> list[str]:
    from ray.util.placement_group import placement_group_table

    known: dict[str, dict[str, Any]] = placement_group_table()
    groups = [one for one in known.values() if one["state"] != "REMOVED"]
    return [one["name"] for one in groups if one["name"].startswith(_prefix(cluster, node))]


def _prefix(cluster: str, node: str) -> str:
    return f"room-{cluster}-{node}-" if node else f"room-{cluster}-"
