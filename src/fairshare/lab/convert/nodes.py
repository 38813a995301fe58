"""Owns which nodes a comparison runs on, and how large a cluster they make.

What the command line says, else the workload, else fairshare.toml, else a cluster made up. Knows no
scheduler.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from fairshare.core.model.inputs import NodeJoined
from fairshare.core.model.resources import Resource, fits
from fairshare.lab.convert.fair_to_capacity.source import Source
from fairshare.lab.simulate.workload import alike
from fairshare.settings.resource_types import cluster_of

MADE_UP: Final = 10
"""The number of nodes, if none is given."""

_NODE_MEMORY_MB: Final = 65_536
_NODE_VCORES: Final = 32
_NODE_FURTHER: Final = 8


def known_cluster(
    source: Source, said: Mapping[str, int] | None, offered: Sequence[NodeJoined]
) -> Resource | None:
    """What all nodes offer together, if anybody says so. Raises UnknownResourceType."""
    if said is not None:
        return cluster_of(said, source.settings.types)
    if offered:
        return total_of(offered)
    return source.cluster


def known_count(
    source: Source, count: int | None, said: bool, offered: Sequence[NodeJoined]
) -> int | None:
    """How many nodes there are, if anybody says so. `said`: the cluster is the command line's."""
    if count is not None:
        return count
    if said:
        return None
    return len(offered) or source.nodes


def total_of(nodes: Sequence[NodeJoined]) -> Resource:
    """What nodes offer together."""
    return tuple(sum(amounts) for amounts in zip(*(node.total for node in nodes), strict=True))


def nodes_for(
    source: Source, cluster: Resource | None, count: int | None, offered: Sequence[NodeJoined]
) -> tuple[NodeJoined, ...]:
    """Nodes alike that make this cluster; those of the workload, if they do.

    Without a given number: at most ten, fewer if the largest container would not fit.
    """
    types = source.settings.types
    if cluster is None:
        further = (_NODE_FURTHER for _ in types.names[2:])
        each: Resource = (_NODE_MEMORY_MB, _NODE_VCORES, *further)
        return alike(count or MADE_UP, each)
    if offered and total_of(offered) == cluster and count in (None, len(offered)):
        return tuple(offered)
    if count is None:
        largest = source.settings.maximum_allocation[:2]
        count = MADE_UP
        while count > 1 and not fits(largest, tuple(amount // count for amount in cluster[:2])):
            count -= 1
    return alike(count, tuple(amount // count for amount in cluster))
