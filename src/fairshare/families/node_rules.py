"""Owns the rules about what fairshare.toml says of nodes, beside the scheduler's own properties.

Only what is the same for every scheduler, or for those of YARN. Reads no file.
"""

from collections.abc import Iterator
from typing import Final

from fairshare.config.findings import Finding
from fairshare.families.configuration import Configuration
from fairshare.families.reservations import RESERVABLE_NODES
from fairshare.model.resources import MEMORY, VCORES

_MINIMUMS: Final = {
    MEMORY: "yarn.scheduler.minimum-allocation-mb",
    VCORES: "yarn.scheduler.minimum-allocation-vcores",
}


def findings(configuration: Configuration) -> Iterator[tuple[str, Finding]]:
    """What all rules of this file find, each with its rule's name."""
    for finding in _types_without_nodes(configuration):
        yield "type-without-nodes", finding
    for finding in _minimums_of_nodes(configuration):
        yield "minimum-above-half-a-node", finding
    for finding in _one_node_reserved(configuration):
        yield "one-node-reserved", finding


def _types_without_nodes(configuration: Configuration) -> Iterator[Finding]:
    """Declared types of which no node has anything: who asks for one waits for ever."""
    if configuration.fair is None and configuration.capacity is None:
        return
    offered = configuration.shell.engine.resources
    for name in configuration.types.names[2:]:
        if not offered.get(name):
            yield Finding(
                configuration.site.place("yarn.resource-types"),
                f"no node has any {name}: a container that asks for it never starts. Name it under"
                f" resources in [engine] of fairshare.toml, or do not declare it",
                "lets such a container wait for ever",
            )


def _minimums_of_nodes(configuration: Configuration) -> Iterator[Finding]:
    """A smallest container of more than half a node: one is all that a node ever holds.

    With nodes of 8192 MB and a minimum of 5120, 3072 MB of each node stay unused.
    """
    settings = configuration.fair or configuration.capacity
    if settings is None:
        return
    engine = configuration.shell.engine
    sizes = {MEMORY: engine.memory_mb, VCORES: engine.vcores}
    for (name, size), least in zip(sizes.items(), settings.minimum_allocation, strict=False):
        if size is None or not size / 2 < least or least == size:
            continue
        what = (
            f"is more than a node has ({size}): no container ever starts"
            if least > size
            else f"is more than half a node ({size}): each holds one container, and"
            f" {size - least} of its {name} stay unused"
        )
        yield Finding(
            configuration.site.place(_MINIMUMS[name]),
            f"the smallest container ({name}={least}) {what}",
            "rounds every ask up to the minimum as well",
        )


def _one_node_reserved(configuration: Configuration) -> Iterator[Finding]:
    """A share of nodes that may be reserved, written down for a cluster of one node."""
    fair, engine = configuration.fair, configuration.shell.engine
    written = fair is not None and RESERVABLE_NODES in configuration.site
    if fair is None or not written or engine.nodes != 1 or engine.reservations != "auto":
        return
    if fair.reservable_nodes > 0:
        yield Finding(
            configuration.site.place(RESERVABLE_NODES),
            f"{RESERVABLE_NODES} lets the only node be reserved: a container that does not fit yet"
            ' stops everybody else. Leave it out, or set reservations = "on" in [engine] of'
            " fairshare.toml if that is meant",
            "reserves the node",
        )
