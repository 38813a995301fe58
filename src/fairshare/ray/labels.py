"""Owns what of a Ray node becomes attributes of its node: Ray's labels, its accelerators, and the
partition, by which requests name it. Pure.
"""

from collections.abc import Mapping
from typing import Any, Final

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
