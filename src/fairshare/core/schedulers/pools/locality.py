"""Owns delay scheduling: how far from its data a job may start a map now
(Hadoop: FairScheduler.getAllowedLocalityLevel).

Also which of a job's asks a node could serve, and at which locality.
"""

from fairshare.core.model.asks import AskKey
from fairshare.core.model.events import Locality
from fairshare.core.model.nodes import Node
from fairshare.core.model.resources import Resource, fits
from fairshare.core.schedulers.base import level_of
from fairshare.core.schedulers.pools.jobs import Job
from fairshare.core.schedulers.pools.settings import PoolsSettings

LONGEST_DELAY_MS = 15_000
_DELAY_PART = 1.5


def allowed_level(last: Locality, waited_ms: int, node_ms: int, rack_ms: int) -> Locality:
    """The locality allowed to a job that last started a map at level `last` and has waited since
    then.

    >>> allowed_level(Locality.NODE_LOCAL, 5000, 5000, 10_000).name
    'RACK_LOCAL'
    """
    if last == Locality.OFF_SWITCH:
        return last
    if last == Locality.RACK_LOCAL:
        return Locality.OFF_SWITCH if waited_ms >= rack_ms else Locality.RACK_LOCAL
    if waited_ms >= node_ms + rack_ms:
        return Locality.OFF_SWITCH
    return Locality.RACK_LOCAL if waited_ms >= node_ms else Locality.NODE_LOCAL


def heartbeat_interval_ms(settings: PoolsSettings, nodes: int) -> int:
    """The master's heartbeat interval for the nodes of such a cluster
    (Hadoop: JobTracker.getNextHeartbeatInterval).

    Example: 301 nodes: 7 s in 0.19, 4 s in 0.20, 3.01 s in 1.2.
    """
    if settings.generation == "0.19":
        return max(5_000, 1_000 * (nodes // 50 + 1))
    if settings.generation == "0.20":
        return max(3_000, 1_000 * -(-nodes // 100))
    per_second = max(1, settings.heartbeats_per_second)
    return max(300, int(1_000 * settings.heartbeat_scaling * nodes / per_second))


def delays_ms(settings: PoolsSettings, nodes: int) -> tuple[int, int]:
    """The delays for node and rack locality that are in force
    (`mapred.fairscheduler.locality.delay`).

    A common delay of -1 follows the heartbeat interval, and then applies to both, even when only
    one of the two has a value of its own. With both set it is ignored.
    """
    common = settings.locality_delay_ms
    node, rack = settings.locality_delay_node_ms, settings.locality_delay_rack_ms
    node_ms, rack_ms = (common if own is None else own for own in (node, rack))
    if common == -1 and -1 in (node_ms, rack_ms):
        automatic = int(heartbeat_interval_ms(settings, nodes) * _DELAY_PART)
        return (min(LONGEST_DELAY_MS, automatic),) * 2
    return node_ms, rack_ms


def nearest(
    job: Job, place: int, node: Node, farthest: Locality = Locality.OFF_SWITCH
) -> tuple[AskKey, Locality] | None:
    """The ask of a job that a node serves at the best locality, up to a level; among equals the
    first.

    A more urgent ask (`priority`) goes before a nearer one.
    """
    if node.host in job.blacklist or node.rack in job.blacklist:
        return None
    found: tuple[AskKey, Locality] | None = None
    here_only, name, rack = farthest == Locality.NODE_LOCAL, node.host, node.rack
    size: Resource | None = None
    fit = False
    for key in job.asks.wanting:
        # A large job has an ask for each block of its data, and most are elsewhere.
        if here_only and name not in key.places:
            continue
        if found is not None:
            if key.order[0] != found[0].order[0] or not found[1]:
                break
            if name not in key.places and rack not in key.places:
                continue  # it is not nearer
        ask = key.anywhere
        if ask is None or not ask.resource[place]:
            continue
        if ask.resource != size:
            size, fit = ask.resource, fits(ask.resource, node.available)
        if not fit:
            continue
        level = level_of(key, node)
        if level is not None and level <= farthest and (found is None or level < found[1]):
            found = key, level
    return found
