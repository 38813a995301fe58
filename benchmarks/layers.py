"""Prints where a container's processor time goes: `python -m benchmarks.layers [--policy fair]
[--point grid-n1000-q10-a10] [--seconds 5] [--functions 12]`.

The function that runs is noted at each tick of the kernel's clock, as a profiler that counts calls
would make short functions seem dearer than they are. Only what the benchmark times counts: the ends
of containers and the node's update. What C code takes counts for the function that calls it.
"""

import argparse
import signal
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType

import fairshare
from benchmarks.grid import Point, grid
from benchmarks.workload import KINDS, Driver, SplitMix64
from fairshare.runtime.collection import collect_rarely

PACKAGE = Path(fairshare.__file__).parent
INTERVAL_S = 0.001


class Sampler:
    """Counts the functions that run while `Driver.heartbeat` does."""

    def __init__(self) -> None:
        self.counts: Counter[CodeType] = Counter()

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Note what runs now."""
        above = frame
        while above is not None and above.f_code is not Driver.heartbeat.__code__:
            above = above.f_back
        if above is not None and frame is not None:
            self.counts[frame.f_code] += 1

    def __enter__(self) -> None:
        signal.signal(signal.SIGPROF, self)
        signal.setitimer(signal.ITIMER_PROF, INTERVAL_S, INTERVAL_S)

    def __exit__(self, *error: object) -> None:
        signal.setitimer(signal.ITIMER_PROF, 0.0)


def module_of(code: CodeType) -> str:
    """The module of a function within the package: `schedulers/fair/assignment`."""
    path = Path(code.co_filename)
    if not path.is_relative_to(PACKAGE):
        return "the benchmark" if "benchmarks" in path.parts else "libraries"
    return str(path.relative_to(PACKAGE).with_suffix(""))


def show(phase: str, containers: int, counts: Counter[CodeType], functions: int) -> None:
    """Print the shares of packages, and of the dearest functions."""
    whole = counts.total()
    print(f"{phase}: {containers:,} containers, {whole:,} samples")
    packages: Counter[str] = Counter()
    for code, count in counts.items():
        packages[module_of(code).rpartition("/")[0] or module_of(code)] += count
    for name, count in packages.most_common():
        print(f"  {100 * count / whole:5.1f} %  {name}")
    for code, count in counts.most_common(functions):
        print(f"  {100 * count / whole:5.1f} %    {module_of(code)}: {code.co_qualname}")


def fill(point: Point, policy: str, sampler: Sampler) -> Iterator[tuple[int, int]]:
    """Containers and nanoseconds of rounds in empty clusters, each of which is filled."""
    while True:
        driver, granted = Driver(point, policy), 1
        while granted:
            with sampler:
                granted, ns = _sums(driver.round(None, point.nodes, sys.maxsize))
            yield granted, ns


def churn(point: Point, policy: str, sampler: Sampler) -> Iterator[tuple[int, int]]:
    """Those of rounds in a full cluster, in which a tenth of the containers ends in each."""
    driver, numbers = Driver(point, policy), SplitMix64(1)
    while driver.round(None, point.nodes, sys.maxsize)[0][0]:
        pass
    while True:
        with sampler:
            sums = _sums(driver.round(numbers, point.nodes, sys.maxsize))
        yield sums


def _sums(beats: list[tuple[int, int]]) -> tuple[int, int]:
    return sum(count for count, _ in beats), sum(ns for _, ns in beats)


def main() -> int:
    """Fill a cluster and let containers come and go; print both profiles."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--policy", default="fair", choices=list(KINDS))
    parser.add_argument("--point", default="grid-n1000-q10-a10", help="a point's id")
    parser.add_argument("--seconds", type=float, default=5.0, help="the time of each phase")
    parser.add_argument("--functions", type=int, default=12, help="how many functions to print")
    options = parser.parse_args()
    points = {point.id: point for point in grid(1000)}
    if options.point not in points:
        print(f"no point is {options.point!r}: {', '.join(points)}", file=sys.stderr)
        return 2
    collect_rarely()
    for phase in (fill, churn):
        sampler, containers, spent_ns = Sampler(), 0, 0
        for granted, ns in phase(points[options.point], options.policy, sampler):
            containers, spent_ns = containers + granted, spent_ns + ns
            if spent_ns >= options.seconds * 1e9:
                break
        show(phase.__name__, containers, sampler.counts, options.functions)
    return 0


if __name__ == "__main__":
    sys.exit(main())
