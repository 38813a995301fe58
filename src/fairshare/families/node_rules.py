"""Owns the rules about what fairshare.toml says of nodes, beside the scheduler's own properties.

They hold for schedulers that grant any resource type, and at least the minimum allocation of each
(`SchedulerFamily.grants_minimum`). Reads no file.
"""

from collections.abc import Iterator
from typing import Final

from fairshare.config.engines import runs_here
from fairshare.config.findings import Finding
from fairshare.documents.gpus import GPU
from fairshare.families.configuration import Configuration
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


def _types_without_nodes(configuration: Configuration) -> Iterator[Finding]:
    """Declared types of which no node has anything: who asks for one waits for ever."""
    if not runs_here(configuration.shell.engine.kind):
        return  # nodes say themselves what they have
    offered = configuration.shell.engine.resources
    assigned = configuration.shell.engine.gpus != "none"  # the machine says how many there are
    for name in configuration.types.names[2:]:
        if assigned and (name == GPU or name.startswith(f"{GPU}-")):
            continue
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
    engine = configuration.shell.engine
    if not runs_here(engine.kind):
        return
    sizes = {MEMORY: engine.memory_mb, VCORES: engine.vcores}
    for (name, size), least in zip(
        sizes.items(), configuration.settings.minimum_allocation, strict=False
    ):
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
