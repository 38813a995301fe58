"""A workload made up from a configuration, which loads every leaf queue from a seed, and the nodes
on which a comparison runs: what the command line says, else the workload, else fairshare.toml, else
a cluster made up.

Each leaf is given more work than its share of the cluster can do in ten minutes, in applications of
several users that come at random times; the first of them alone wants more than that share. Some
queues begin late, so that they find others using their share. On a large cluster tasks take longer,
so that there need not be too many; nodes that take one container at each heartbeat are filled only
by tasks that last. The same seed gives the same workload.
"""

import math
import random
from collections.abc import Mapping, Sequence
from typing import Final

from fairshare.core.model.inputs import NodeJoined, SubmitApplication
from fairshare.core.model.resources import Resource, fits
from fairshare.core.model.work import TaskGroup
from fairshare.lab.convert.fair_to_capacity.capacities import entitlements
from fairshare.lab.convert.fair_to_capacity.draft import Draft
from fairshare.lab.convert.fair_to_capacity.placement import DEFAULT_QUEUE
from fairshare.lab.convert.fair_to_capacity.source import Source
from fairshare.lab.convert.fair_to_capacity.tree import Queue, Tree
from fairshare.lab.simulate.workload import Arrival, GroupPlan, Workload, alike
from fairshare.settings.resource_types import cluster_of

MADE_UP: Final = 10
"""The number of nodes, if none is given."""

_NODE_MEMORY_MB: Final = 65_536
_NODE_VCORES: Final = 32
_NODE_FURTHER: Final = 8


def known_cluster(
    source: Source, said: Mapping[str, int] | None, offered: Sequence[NodeJoined]
) -> Resource | None:
    """The resources of all nodes together, if they are given. Raises UnknownResourceType."""
    if said is not None:
        return cluster_of(said, source.settings.types)
    if offered:
        return total_of(offered)
    return source.cluster


def known_count(
    source: Source, count: int | None, said: bool, offered: Sequence[NodeJoined]
) -> int | None:
    """The number of nodes, if it is given. `said`: the cluster is the command line's."""
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


WINDOW_MS: Final = 600_000
LOAD: Final = 1.3
"""Each queue requests this multiple of its share."""

_SLOTS: Final = 60
"""About this many containers run at once: enough to share, few enough to be quick."""

_APPLICATIONS: Final = 6
_MOST_TASKS: Final = 6_000
"""More tasks than this are made only where fewer would not fill the cluster."""

_HARD_LIMIT: Final = 60_000
"""Never more tasks than this: what then does not fill the cluster is said by the comparison."""

_SHORTEST_MS, _LONGEST_MS = 15_000, 60_000
_MEAN_MS: Final = (_SHORTEST_MS + _LONGEST_MS) // 2
_LATEST_START: Final = 0.4


def generate(source: Source, nodes: tuple[NodeJoined, ...], seed: int) -> Workload:
    """A workload for these nodes. Users are named after their queue, and so is their group."""
    chance = random.Random(seed)  # noqa: S311
    tree = Tree(source, Draft())
    if not tree.leaves:
        tree.add(DEFAULT_QUEUE)  # the queue that the Fair Scheduler makes for who names none
    types = source.settings.types
    cluster = tuple(sum(node.total[n] for node in nodes) for n in range(len(types.names)))
    shares = entitlements(source, tree, cluster)
    container = container_size(source, nodes, cluster)
    leaves = tree.leaves
    sizes = {leaf.name: _fitting(source, leaf, container) for leaf in leaves}
    slots = {
        leaf.name: max(1.0, shares[leaf.name][0] / max(sizes[leaf.name][0], 1)) for leaf in leaves
    }
    stretch = _stretch(source, sum(slots.values()), len(nodes))
    most = max(2, _HARD_LIMIT // max(len(leaves), 1))
    arrivals: list[Arrival] = []
    for leaf in leaves:
        at_once = math.ceil(LOAD * slots[leaf.name])
        tasks = round(LOAD * slots[leaf.name] * WINDOW_MS / (_MEAN_MS * stretch))
        tasks = min(max(tasks, at_once + _APPLICATIONS - 1), most)
        arrivals += _applications(
            leaf, tasks, min(at_once, most), sizes[leaf.name], stretch, chance
        )
    arrivals.sort(key=lambda one: (one.at_ms, one.submission.queue, one.submission.name))
    return Workload(nodes, tuple(arrivals), (f"made up, with seed {seed}",))


def _stretch(source: Source, slots: float, nodes: int) -> float:
    """How many times as long tasks take on this cluster, at least 1.

    Long enough that `_MOST_TASKS` load it, and that a node is full before its first tasks end: it
    may take one container at each heartbeat.
    """
    wanted = LOAD * slots * WINDOW_MS / _MEAN_MS
    stretch = max(1.0, wanted / _MOST_TASKS)
    if not source.settings.assign_multiple:
        filling_ms = slots / nodes * source.settings.heartbeat_interval_ms
        stretch = max(stretch, 2 * filling_ms / _MEAN_MS)
    return stretch


def container_size(source: Source, nodes: tuple[NodeJoined, ...], cluster: Resource) -> Resource:
    """One vcore, and memory so that some sixty fit into the cluster: a whole number of increments
    between the smallest container and the largest, or what a node has."""
    settings = source.settings
    step = settings.increment_allocation[0] or settings.minimum_allocation[0] or 1
    wanted = cluster[0] // _SLOTS // step * step
    largest = min(settings.maximum_allocation[0], max(node.total[0] for node in nodes))
    memory = min(max(wanted, settings.minimum_allocation[0], step), largest)
    vcores = max(settings.minimum_allocation[1], 1)
    return (memory, vcores, *(0 for _ in cluster[2:]))


def _fitting(source: Source, leaf: Queue, container: Resource) -> Resource:
    """A container that the queue allows: no larger than its maximums, in whole increments."""
    settings = source.settings
    most = source.subject.reachable(leaf.own)[0]
    above: Queue | None = leaf
    while above is not None:
        if above.own.max_container is not None:
            most = min(most, above.own.max_container[0])
            break
        above = above.parent
    step = settings.increment_allocation[0] or 1
    memory = container[0] if container[0] <= most else max(most // step * step, step)
    return (memory, *container[1:])


def _applications(
    leaf: Queue,
    tasks: int,
    at_once: int,
    container: Resource,
    stretch: float,
    chance: random.Random,
) -> list[Arrival]:
    """The first one has `at_once` tasks at least, which is more than the queue's share."""
    short = leaf.name.removeprefix("root.")
    start = chance.random() * _LATEST_START
    count = min(_APPLICATIONS, tasks)
    first = min(max(at_once, -(-tasks // count)), tasks - count + 1)
    rest = tasks - first
    sizes = [first, *(rest // (count - 1) + (n < rest % (count - 1)) for n in range(count - 1))]
    arrivals = []
    for number, size in enumerate(sizes, 1):
        at_ms = 0 if number == 1 else int(chance.random() * (1 - start) * WINDOW_MS * 0.7)
        durations_ms = tuple(
            round(chance.randrange(_SHORTEST_MS, _LONGEST_MS, 1_000) * stretch) for _ in range(size)
        )
        submission = SubmitApplication(
            user=f"{short}-{1 + number % 2}",
            queue=leaf.name,
            name=f"{short}-{number}",
            groups=(short,),
            tasks=(TaskGroup(name="tasks", count=size, resource=container),),
        )
        plans = (GroupPlan(durations_ms),)
        arrivals.append(Arrival(int(start * WINDOW_MS) + at_ms, submission, plans))
    return arrivals
