"""The load that all simulators of this benchmark get: tasks of 10 to 1,000 s that arrive at
random, so that 85 % of the cores are busy.

Imports nothing of the project: AccaSim's environment runs it, too.
"""

import random
from collections.abc import Iterator

CORES_PER_NODE = 10
SHORTEST_S, LONGEST_S = 10, 1_000
BUSY = 0.85


def tasks(count: int, nodes: int, seed: int = 1) -> Iterator[tuple[int, int]]:
    """The second of each arrival, and how many seconds it runs."""
    chance = random.Random(seed)
    mean_s = (SHORTEST_S + LONGEST_S) / 2
    rate = BUSY * nodes * CORES_PER_NODE / mean_s
    at_s = 0.0
    for _ in range(count):
        at_s += chance.expovariate(rate)
        yield int(at_s), chance.randint(SHORTEST_S, LONGEST_S)
