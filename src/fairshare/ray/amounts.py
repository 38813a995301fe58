"""How the resources of a Ray node become fairshare's, and what an agent reserves for them.

Ray's CPU are vcores, its memory (bytes) is `memory-mb`, its GPU are `yarn.io/gpu`; any other one is
the type of the same name, if the configuration has it. Only what is free is reserved: what others
hold on the same cluster is seen and not offered.

Ray's labels, its accelerators, and the partition, by which requests name it, become attributes of
the node.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from fairshare.core.model.resources import MEMORY, VCORES
from fairshare.documents.gpus import GPU
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
    found = {
        str(name)[:_LONGEST]: str(labels[name])[:_LONGEST]
        for name in sorted(labels)[:_MOST]
        if name != _OWN
    }
    for resource in node.get("Resources") or {}:
        if resource.startswith(_ACCELERATOR):
            found.setdefault(ACCELERATOR_LABEL, resource.removeprefix(_ACCELERATOR))
    found.pop(PARTITION, None)  # only the label that the configuration names decides
    partition = found.get(partition_label) or labels.get(partition_label)
    if partition:
        found[PARTITION] = str(partition)[:_LONGEST]
    return found


_MEBIBYTE: Final = 1024 * 1024


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
    cpus, memory_mb = int(free.get("CPU", 0)), int(free.get("memory", 0)) // _MEBIBYTE
    if cpus < 1 or memory_mb < 1:
        raise EngineError(f"it has {cpus} CPU and {memory_mb} MB free: others hold the rest")
    gpus = int(free.get("GPU", 0)) if GPU in types else 0
    custom = {name: int(free[name]) for name in types[2:] if name != GPU and int(free.get(name, 0))}
    resources = {MEMORY: memory_mb, VCORES: cpus, **custom}
    if gpus:
        resources[GPU] = gpus
    held = {name: float(amount) for name, amount in custom.items()}
    return Offer(cpus, gpus, memory_mb * _MEBIBYTE, held, resources)


def further(free: Mapping[str, float], types: tuple[str, ...]) -> Offer | None:
    """What is offered of what others have freed since the agent started; None: not one vcore. GPUs
    are not: which ones an agent has is decided when it starts.

    >>> further({"CPU": 2.5, "GPU": 1}, ("memory-mb", "vcores", "yarn.io/gpu")).resources
    {'memory-mb': 0, 'vcores': 2}
    """
    cpus, memory_mb = int(free.get("CPU", 0)), int(free.get("memory", 0)) // _MEBIBYTE
    if cpus < 1:
        return None
    custom = {name: int(free[name]) for name in types[2:] if name != GPU and int(free.get(name, 0))}
    held = {name: float(amount) for name, amount in custom.items()}
    resources = {MEMORY: memory_mb, VCORES: cpus, **custom}
    return Offer(cpus, 0, memory_mb * _MEBIBYTE, held, resources)


def bundle(resources: Mapping[str, int]) -> dict[str, float]:
    """Amounts of our types in Ray's names and units, without those of 0.

    >>> bundle({"memory-mb": 512, "vcores": 2, "yarn.io/gpu": 1, "licence": 0})
    {'memory': 536870912, 'CPU': 2, 'GPU': 1}
    """
    names = {MEMORY: "memory", VCORES: "CPU", GPU: "GPU"}
    return {
        names.get(name, name): amount * _MEBIBYTE if name == MEMORY else amount
        for name, amount in resources.items()
        if amount
    }


def free_on(node: Mapping[str, Any]) -> dict[str, float]:
    """The free amounts of a node that `ray.nodes()` lists, by Ray's names."""
    from ray._private.state import available_resources_per_node

    return dict(available_resources_per_node().get(node["NodeID"], {}))
