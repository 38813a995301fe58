"""The grid of benchmark points: the workload that every rival was measured with.

A point is nodes x queues x applications with an endless backlog (one size of container, anywhere).
The points are those of the rivals' `grid.json`; they follow from a few numbers, which stand here so
that the benchmark runs without that file.
"""

from typing import NamedTuple

NODE = (65536, 64)
ASK = (1024, 1)
CHURN = 0.1
SEED = 1


class Point(NamedTuple):
    """One workload: `tree` is the fan-out of each level below root."""

    id: str
    nodes: int
    tree: tuple[int, ...]
    applications_per_queue: int

    @property
    def queues(self) -> int:
        """The number of leaf queues."""
        product = 1
        for width in self.tree:
            product *= width
        return product

    @property
    def backlog(self) -> int:
        """How many containers each application wants at any time."""
        return max(100_000, 4_000_000 // (self.queues * self.applications_per_queue))


def grid(nodes: int) -> list[Point]:
    """The full cross product for a number of nodes."""
    return [
        Point(f"grid-n{nodes}-q{queues}-a{applications}", nodes, (queues,), applications)
        for queues in (1, 10, 100, 1000)
        for applications in (1, 10, 100)
        if queues * applications <= 10_000
    ]


def growth(nodes: int) -> list[Point]:
    """One queue with ever more applications."""
    return [
        Point(f"growth-n{nodes}-q1-a{applications}", nodes, (1,), applications)
        for applications in (10, 100, 1000, 3000, 10_000)
    ]


def trees(nodes: int) -> list[Point]:
    """1,000 leaf queues in deeper trees."""
    return [
        Point(f"tree-n{nodes}-q10x100-a10", nodes, (10, 100), 10),
        Point(f"tree-n{nodes}-q10x10x10-a10", nodes, (10, 10, 10), 10),
    ]
