"""Prints how fast the core decides beside Hadoop's own schedulers: `python -m benchmarks.rival
--rival DIR [--policy fair,capacity] [--points grid-n1000-q10-a10,...] [--rounds 3]`.

DIR has YARN's FairScheduler and CapacityScheduler on the same grid, in process and without threads:
`yarn/run`, `yarn/pom.xml` and `grid.json` (the format is that of `python -m benchmarks --json`). It
is copied to build/rival, where Maven compiles it; that and the runs need a JDK and Maven. Both take
turns (YARN, ours, ours, YARN, ...), so that a busy machine is as slow for one as for the other.
Rates are containers a second of the deciding thread's processor time: Java's collector, which runs
in other threads, does not count. A ratio is our rate / YARN's of the same round: above 1 is faster.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from benchmarks.compare import FIGURES, ROOT, Row, record, row_of, sample

RIVALS = {
    "fair": "fair:fair",
    "drf": "fair:drf",
    "capacity": "capacity:default",
    "capacity-drf": "capacity:dominant",
}
"""Our policies, and the scheduler and policy of YARN beside each."""

FAIR_GOALS = {"q1-a1": 2.0, "q10-a10": 5.0, "q100-a10": 20.0, "q1000-a10": 250.0}
CAPACITY_GOALS = {"q1-a1": 2.0, "q10-a10": 2.0, "q100-a10": 4.0, "q1000-a10": 15.0}
GOALS = {
    "fair": FAIR_GOALS,
    "drf": FAIR_GOALS,
    "capacity": CAPACITY_GOALS,
    "capacity-drf": CAPACITY_GOALS,
}
POINTS = ",".join(f"grid-n1000-{point}" for point in FAIR_GOALS)

Rates = dict[str, float]
"""A rate by the name of its figure: `fill`, `churn`."""


def goal_of(row: Row) -> float | None:
    """The ratio that is wanted at a point, if one is."""
    return GOALS[row.policy].get(row.point.removeprefix("grid-n1000-"))


def line_of(row: Row) -> str:
    """A row as it is printed; its base is YARN."""
    ratio, goal = row.ratio, goal_of(row)
    wanted = "" if goal is None else f"{goal:7g}{'  missed' if ratio.median < goal else ''}"
    return (
        f"{row.policy:13} {row.point:20} {row.figure:5} {row.base_per_s:9,.0f} "
        f"{row.own_per_s:9,.0f}  {_shown(ratio.median)} {_shown(ratio.least)} "
        f"{_shown(ratio.most)}{wanted}"
    )


def _shown(ratio: float) -> str:
    return f"{ratio:6.2f}" if ratio < 10 else f"{ratio:6.0f}"


class AbsentError(Exception):
    """There is no rival here to measure beside; the text says what is missing."""


class Yarn:
    """YARN's schedulers in processes of their own, one for each policy and round."""

    def __init__(self, source: Path, work: Path) -> None:
        """Copy `source` to `work`; raises AbsentError."""
        for file in ("yarn/run", "yarn/pom.xml", "grid.json"):
            if not (source / file).is_file():
                raise AbsentError(f"there is no {file} in {source}: name a folder that has it")
        for program in ("java", "mvn"):
            if shutil.which(program) is None:
                raise AbsentError(f"there is no {program} on the PATH: install a JDK and Maven")
        shutil.copytree(source / "yarn", work / "yarn", dirs_exist_ok=True)
        shutil.copy(source / "grid.json", work / "grid.json")
        self.work = work

    def rates(self, policy: str, points: Sequence[str]) -> dict[str, Rates]:
        """The rates of some points, by their ids; raises RuntimeError if YARN's run fails."""
        results = self.work / "results.jsonl"
        results.unlink(missing_ok=True)
        wanted = "^(" + "|".join(re.escape(point) for point in points) + ")$"
        command = [sys.executable, "yarn/run", "--schedulers", RIVALS[policy], "--points", wanted,
                   "--quiet", str(os.cpu_count()), "--out", results.name]  # fmt: skip
        done = subprocess.run(command, cwd=self.work, capture_output=True, text=True)
        if done.returncode or not results.exists():
            last = (done.stderr.strip().splitlines() or ["nothing"])[-1]
            raise RuntimeError(f"{self.work / 'yarn/run'} has failed: {last}")
        return rates_of(results.read_text(encoding="utf-8").splitlines())


def rates_of(lines: Iterable[str]) -> dict[str, Rates]:
    """The rates in a rival's lines, by point.

    The format is that of `python -m benchmarks --json`; the rates are those of processor time.
    """
    rows = [json.loads(line) for line in lines]
    return {
        row["point"]: {figure: float(row[f"{name}_cpu"]) for figure, name in FIGURES.items()}
        for row in rows
    }


def compared(
    yarn: Yarn, policy: str, points: Sequence[str], rounds: int, seconds: float
) -> list[Row]:
    """The rows of a policy."""
    theirs: list[dict[str, Rates]] = []
    ours: list[dict[str, Rates]] = []
    for number in range(rounds):
        for who in ("yarn", "own") if number % 2 == 0 else ("own", "yarn"):
            if who == "yarn":
                theirs.append(yarn.rates(policy, points))
            else:
                source = ROOT / "src"
                ours.append({one: sample(source, policy, one, seconds) for one in points})
    return [
        row_of(
            policy, point, figure, *([of[point][figure] for of in one] for one in (theirs, ours))
        )
        for point in points
        for figure in FIGURES
    ]


def main() -> int:
    """Measure, print, and add to the history."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rival", type=Path, default=os.environ.get("RIVAL") or None)
    parser.add_argument("--policy", default=",".join(RIVALS))
    parser.add_argument("--points", default=POINTS, help="ids of points, with commas between")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=1.0, help="most of a phase of ours")
    parser.add_argument("--work", type=Path, default=ROOT / "build" / "rival")
    parser.add_argument("--history", type=Path, default=ROOT / "build" / "speed.jsonl")
    options = parser.parse_args()
    policies = options.policy.split(",")
    if options.rounds < 1 or set(policies) - set(RIVALS):
        parser.error(f"there is at least one round; policies are {', '.join(RIVALS)}")
    if options.rival is None:
        print("Name the folder of YARN's benchmark: make bench-rival RIVAL=DIR", file=sys.stderr)
        return 2
    rows: list[Row] = []
    try:
        yarn = Yarn(options.rival, options.work)
        print(f"{'':40} {'YARN/s':>9} {'own/s':>9}  ratio: median, least, most; goal")
        for policy in policies:
            found = compared(
                yarn, policy, options.points.split(","), options.rounds, options.seconds
            )
            for row in found:
                print(line_of(row), flush=True)
            rows += found
    except (AbsentError, RuntimeError, KeyError) as error:
        unknown = isinstance(error, KeyError)
        print(f"the rival has no point {error}" if unknown else error, file=sys.stderr)
        return 2
    record(options.history, "YARN", rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
