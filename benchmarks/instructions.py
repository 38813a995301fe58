"""How many instructions of Python a container costs, which no other process changes.

Prints one JSON object, containers for a million instructions in each phase:
`python -m benchmarks.instructions [--policy drf] [--points grid-n100-q10-a10]`. The grid is that of
`benchmarks` with 100 nodes. What C code does (the sort of a list, a look into a dictionary) counts
as one instruction, whatever it costs.
"""

import argparse
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from benchmarks.grid import SEED, Point, grid
from benchmarks.workload import KINDS, Driver, SplitMix64

NODES = 100
ROUNDS = {"fill": 40, "churn": 2}
UNLIMITED_NS = 10**15


class Counter:
    """Counts the instructions that Python runs within `running`."""

    def __init__(self) -> None:
        self.instructions = 0

    @contextmanager
    def running(self) -> Iterator[None]:
        """A time in which instructions count."""
        sys.settrace(self._called)
        try:
            yield
        finally:
            sys.settrace(None)

    def _called(self, frame: FrameType, event: str, argument: Any) -> Any:
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return self._traced

    def _traced(self, frame: FrameType, event: str, argument: Any) -> Any:
        self.instructions += event == "opcode"
        return self._traced


def rates(point: Point, policy: str) -> dict[str, float]:
    """Containers for a million instructions, in the fill of an empty cluster and then in churn."""
    driver = Driver(point, policy)
    rates: dict[str, float] = {}
    for phase, most in ROUNDS.items():
        counter, containers = Counter(), 0
        numbers = SplitMix64(SEED) if phase == "churn" else None
        with counter.running():
            for _ in range(most):
                granted = sum(
                    count for count, _ in driver.round(numbers, point.nodes, UNLIMITED_NS)
                )
                containers += granted
                if not granted:
                    break
        rates[phase] = containers * 1e6 / counter.instructions
    return rates


def main() -> int:
    """Count and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--policy", default="fair", choices=list(KINDS))
    parser.add_argument("--points", default="grid-n100-q10-a10", help="a point's id")
    options = parser.parse_args()
    points = {point.id: point for point in grid(NODES)}
    if options.points not in points:
        parser.error(f"points are {', '.join(points)}")
    print(json.dumps(rates(points[options.points], options.policy)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
