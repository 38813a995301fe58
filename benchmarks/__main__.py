"""Prints how fast the core decides: `python -m benchmarks [--policy drf] [--points q100] [--json]`.

The points, phases and figures are those that the rivals were measured with, so that lines of
`--json` can be laid beside theirs. `--general-walk` leaves out the Capacity Scheduler's fast path,
and shows what it gives. `--half-life 86400` adds to each point what a container costs while past
usage counts, in samples that take turns with those without.
"""

import argparse
import gc
import json
import statistics
import sys

import msgspec

from benchmarks.grid import Point, grid, growth, trees
from benchmarks.workload import KINDS, Sample, run_sample
from fairshare.core.schedulers.capacity import fast_path


def measure(point: Point, policy: str, samples: int, seconds: float) -> Sample:
    """The median of some samples, by the rate of the churn phase."""
    found = []
    for _ in range(samples):
        gc.collect()
        found.append(run_sample(point, policy, seconds, seconds))
    found.sort(key=lambda sample: sample.containers_per_s_churn)
    middle = found[len(found) // 2]
    middle.containers_per_s_fill = statistics.median(s.containers_per_s_fill for s in found)
    return middle


def cost_of_memory(
    point: Point, policy: str, samples: int, seconds: float, half_life_s: int
) -> str:
    """What a container costs while the past counts, relative to one without."""
    ratios: dict[str, list[float]] = {"fill": [], "churn": []}
    for number in range(samples):
        pair: dict[int, Sample] = {}
        for each_s in (0, half_life_s) if number % 2 else (half_life_s, 0):
            gc.collect()
            pair[each_s] = run_sample(point, policy, seconds, seconds, each_s)
        without, remembering = pair[0], pair[half_life_s]
        ratios["fill"].append(without.containers_per_s_fill / remembering.containers_per_s_fill)
        ratios["churn"].append(without.containers_per_s_churn / remembering.containers_per_s_churn)
    words = ", ".join(f"{statistics.median(found):.3f} in {name}" for name, found in ratios.items())
    return f"{point.id:28} a container with a memory costs {words} of one without"


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--policy", default="fair", choices=list(KINDS))
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--points", default="", help="a point's id, or a part of some")
    parser.add_argument("--samples", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=2.0, help="most of a phase")
    parser.add_argument("--json", action="store_true", help="one JSON object for each point")
    parser.add_argument("--general-walk", action="store_true", help="capacity: without a fast path")
    parser.add_argument("--half-life", type=int, default=0, metavar="S", help="beside a memory")
    options = parser.parse_args()
    if options.general_walk:
        fast_path.is_plain = lambda state: False
    gc.set_threshold(20_000, 3, 10_000)  # a server's; commits to compare with may not have it
    kind = KINDS[options.policy]
    points = [*grid(options.nodes), *growth(options.nodes), *trees(options.nodes)]
    named = [point for point in points if point.id == options.points]
    chosen = [
        point
        for point in named or points
        if options.points in point.id
        and point.queues * point.applications_per_queue <= kind.most_applications
    ]
    if not chosen:
        print(f"no point has {options.points!r} in its id", file=sys.stderr)
        return 2
    if not options.json:
        print(f"{'point':28} {'fill/s':>10} {'churn/s':>10} {'beat us':>9} {'p99':>8} "
              f"{'idle us':>8} {'update ms':>9}")  # fmt: skip
    rates: dict[str, Sample] = {}
    for point in chosen:
        if options.half_life:
            each = (options.samples, options.seconds, options.half_life)
            print(cost_of_memory(point, options.policy, *each), flush=True)
            continue
        sample = measure(point, options.policy, options.samples, options.seconds)
        rates[point.id] = sample
        if options.json:
            told = {
                "rival": "fairshare",
                "scheduler": kind.scheduler,
                "nodes": point.nodes,
                "queues": point.queues,
                "apps": point.queues * point.applications_per_queue,
                **msgspec.to_builtins(sample),
            }
            told["containers_per_s_fill_cpu"] = sample.containers_per_s_fill
            told["containers_per_s_churn_cpu"] = sample.containers_per_s_churn
            print(json.dumps(told), flush=True)
            continue
        print(f"{point.id:28} {sample.containers_per_s_fill:10,.0f} "
              f"{sample.containers_per_s_churn:10,.0f} {sample.heartbeat_us_p50:9.1f} "
              f"{sample.heartbeat_us_p99:8.1f} {sample.idle_heartbeat_us_p50:8.1f} "
              f"{sample.update_ms:9.3f}{'' if sample.fill_complete else ' *'}",
              flush=True)  # fmt: skip
    most = kind.most_applications
    few, many = (rates.get(f"growth-n{options.nodes}-q1-a{n}") for n in (10, most))
    if few is not None and many is not None and not options.json:
        fill = few.containers_per_s_fill / many.containers_per_s_fill
        churn = few.containers_per_s_churn / many.containers_per_s_churn
        print(f"growth from 10 to {most:,} applications in one queue: a container costs {fill:.2f} "
              f"times as much in a fill, {churn:.2f} times in churn")  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())
