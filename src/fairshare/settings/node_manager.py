"""The properties of the node manager that a local engine can honour (yarn-site.xml)."""

import msgspec

from fairshare.documents.problems import Problems
from fairshare.settings.node_labels import read_node_partition
from fairshare.settings.site import Site

MEMORY_CHECK = "yarn.nodemanager.pmem-check-enabled"
STRICT_CPU = "yarn.nodemanager.linux-container-executor.cgroups.strict-resource-usage"
VCORES_PER_CORE = "yarn.nodemanager.resource.pcores-vcores-multiplier"
GRACE_MS = "yarn.nodemanager.sleep-delay-before-sigkill.ms"

DEFAULT_GRACE_MS = 10_000
"""Hadoop's is 250, in which no program saves its work."""


class NodeManagerSettings(msgspec.Struct, frozen=True):
    """How a node treats containers.

    `memory_check`: a container above its memory is ended. `strict_cpu`: no container gets
    more CPU than its vcores, also when others idle. `grace_ms`: from the request to end to the end
    by force. `vcores_per_core`: the worth of a processor where the vcores of a node
    are not given. `partition`: the label that its nodes report of themselves; empty: none.
    """

    memory_check: bool = True
    strict_cpu: bool = False
    grace_ms: int = DEFAULT_GRACE_MS
    vcores_per_core: float = 1.0
    partition: str = ""


def read_node_manager(site: Site, problems: Problems) -> NodeManagerSettings:
    """Read them, with Hadoop's defaults except for the grace time."""
    return NodeManagerSettings(
        memory_check=site.boolean(MEMORY_CHECK, True, problems),
        strict_cpu=site.boolean(STRICT_CPU, False, problems),
        grace_ms=site.integer(GRACE_MS, DEFAULT_GRACE_MS, problems, minimum=0),
        vcores_per_core=_vcores_per_core(site, problems),
        partition=read_node_partition(site, problems),
    )


def _vcores_per_core(site: Site, problems: Problems) -> float:
    found = site.single(VCORES_PER_CORE, 1.0, problems)
    if found > 0:
        return found
    message = f"Illegal value for {VCORES_PER_CORE}: {found:g} must be greater than 0"
    problems.error(site.place(VCORES_PER_CORE), "property-value", message, "does not start")
    return 1.0
