"""Which published numbers the setup of a fact rules out, by arithmetic.

Each rule takes the setup of a fact and gives, for the names of its numbers, the least and the most
that the setup allows, and why. It never looks at what a simulation found.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

Setup = dict[str, Any]


class Reach(NamedTuple):
    """What a number can be."""

    least: float
    most: float
    why: str

    def excludes(self, bounds: dict[str, float]) -> bool:
        """Whether nothing within reach is accepted."""
        least, most = bounds.get("min", float("-inf")), bounds.get("max", float("inf"))
        return self.most < least or most < self.least


def locality_of_the_first(setup: Setup) -> dict[str, Reach]:
    """Without waiting, a job that is first takes every slot that becomes free.

    With K maps left, at most R K of the M nodes have data of one, and 1 - (1 - K/M)^R do on the
    mean. Where a slot becomes free does not depend on where the data is, so the mean of that over
    K = 1, ..., N is the part of the maps that run on their data. Three hundredths
    more are chance: some hundred maps are started.

    >>> round(locality_of_the_first({"nodes": 100, "replicas": 3, "maps": 10})["without"].most, 3)
    0.184
    """
    nodes, replicas, maps = setup["nodes"], setup["replicas"], setup["maps"]
    local = sum(1 - (1 - left / nodes) ** replicas for left in range(1, maps + 1)) / maps
    why = (
        f"a job of {maps} maps that never waits runs {local:.3f} of them on their data when each"
        f" has {replicas} random copies on {nodes} nodes"
    )
    return {"without": Reach(0.0, local + 0.03, why)}


def gain_of_one_map(setup: Setup) -> dict[str, Reach]:
    """A job of one map gains at least so much from waiting, when a remote map takes so much longer.

    Without waiting it runs elsewhere than its data with chance 1 - R/M. With waiting it lets nodes
    pass for the wait and one heartbeat at most. Meanwhile one of the R L slots on its nodes becomes
    free, unless all their maps still run: even if all of them were remote, each ends within the
    wait with a chance of at least the wait over the mean. One heartbeat more is added to both for
    the way to the first offer.

    >>> setup = {"nodes": 100, "map_slots": 4, "replicas": 3, "heartbeat_s": 3}
    >>> setup |= {"local_map_s": [15, 25], "remote_factor": [1.5, 2], "wait_s": 5}
    >>> round(gain_of_one_map(setup)["first_bin"].least, 2)
    1.13
    """
    local_s = sum(setup["local_map_s"]) / 2
    remote_s = local_s * sum(setup["remote_factor"]) / 2
    wait_s, beat_s = setup["wait_s"], setup["heartbeat_s"]
    near = setup["replicas"] / setup["nodes"]
    naive_s = beat_s + near * local_s + (1 - near) * remote_s
    none = (1 - wait_s / remote_s) ** (setup["replicas"] * setup["map_slots"])
    waiting_s = beat_s + wait_s + beat_s + (1 - none) * local_s + none * remote_s
    least = naive_s / waiting_s
    why = (
        f"a job of one map finds its data by chance on {near:.0%} of the nodes and a remote map"
        f" takes {remote_s:g} s instead of {local_s:g} s, so a wait of {wait_s} s gains at least"
        f" a factor of {least:.2f}"
    )
    return {"first_bin": Reach(least, float("inf"), why)}


BY_NAME: dict[str, Callable[[Setup], dict[str, Reach]]] = {
    "locality of jobs of three maps, without and with waiting": locality_of_the_first,
    "locality of jobs of ten maps, without and with waiting": locality_of_the_first,
    "delay scheduling against naive fair sharing, by job size": gain_of_one_map,
}
