"""Prints how fast the core decides beside an earlier commit: `python -m benchmarks.compare --base
COMMIT [--policy fair,capacity] [--points grid-n1000] [--samples 5] [--fail-slower PERCENT]`, or
with `--instructions` how many instructions of Python it needs, which no other process changes.

The files of the base are laid below build/ for the time of the run. Both take turns (base, own,
own, base, ...), each sample in a process of its own, so that a busy machine is as slow for one as
for the other. The benchmark is that of this checkout for both; only `fairshare` is imported from
the base. A ratio is own speed / base speed: above 1 is faster. "slower" is printed where the whole
spread of a figure's ratios is below 1. Instructions are counted once, on 100 nodes, and are not
kept in the history. How far ratios scatter by themselves is seen with `--base HEAD`.
"""

import argparse
import contextlib
import datetime
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from benchmarks.grid import grid
from benchmarks.instructions import NODES
from benchmarks.processes import Spread, spread_of
from benchmarks.workload import KINDS

ROOT = Path(__file__).parents[1]
FIGURES = {"fill": "containers_per_s_fill", "churn": "containers_per_s_churn"}


class Row(msgspec.Struct, frozen=True):
    """One figure of one point: the ratios of pairs of samples, and the median rates of both."""

    policy: str
    point: str
    figure: str
    ratio: Spread
    base_per_s: float
    own_per_s: float

    @property
    def slower(self) -> bool:
        """Whether all samples are slower than the base, as far as two digits show it."""
        return round(self.ratio.most, 2) < 1

    @property
    def line(self) -> str:
        """The row as it is printed."""
        ratio = f"{self.ratio.median:.2f} {self.ratio.least:.2f} {self.ratio.most:.2f}"
        return (
            f"{self.policy:13} {self.point:24} {self.figure:5} {self.base_per_s:9,.0f} "
            f"{self.own_per_s:9,.0f}  {ratio}{'  slower' if self.slower else ''}"
        )


@contextlib.contextmanager
def files_of(commit: str) -> Iterator[Path]:
    """A folder with the files of a commit; raises ValueError if it is unknown."""
    named = f"{commit}^{{commit}}"
    found = subprocess.run(
        ["git", "rev-parse", "--verify", "--quiet", named], cwd=ROOT, capture_output=True, text=True
    )
    if found.returncode:
        raise ValueError(f"{commit!r} is not a commit of this repository; `git log` lists them")
    (ROOT / "build").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="base-", dir=ROOT / "build") as folder:
        archive = ["git", "archive", found.stdout.strip(), "src"]
        with subprocess.Popen(archive, cwd=ROOT, stdout=subprocess.PIPE) as packed:
            subprocess.run(["tar", "-x", "-C", folder], stdin=packed.stdout, check=True)
        yield Path(folder)


def sample(source: Path, policy: str, point: str, seconds: float | None) -> dict[str, float]:
    """The rates of a point with the `fairshare` of a folder, in containers a second; without
    `seconds` in containers for a million instructions."""
    timed = ["benchmarks", "--json", "--samples", "1", "--seconds", str(seconds)]
    words = ["benchmarks.instructions"] if seconds is None else timed
    done = subprocess.run(
        [sys.executable, "-m", *words, "--policy", policy, "--points", point],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(source)},
        capture_output=True,
        text=True,
    )
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["nothing"])[-1]
        raise RuntimeError(f"{source}: the benchmark of {point} has failed: {last}")
    row = json.loads(done.stdout.splitlines()[0])
    if seconds is None:
        return {figure: row[figure] for figure in FIGURES}
    return {figure: row[name] for figure, name in FIGURES.items()}


def compared(
    sources: tuple[Path, Path], policy: str, point: str, samples: int, seconds: float | None
) -> list[Row]:
    """The rows of a point; `sources` are those of the base and of this checkout."""
    rates: tuple[list[dict[str, float]], list[dict[str, float]]] = ([], [])
    for number in range(samples):
        for which in (0, 1) if number % 2 == 0 else (1, 0):
            rates[which].append(sample(sources[which], policy, point, seconds))
    return [
        row_of(policy, point, figure, *([rate[figure] for rate in one] for one in rates))
        for figure in FIGURES
    ]


def row_of(
    policy: str, point: str, figure: str, base: Sequence[float], own: Sequence[float]
) -> Row:
    """The row of a figure, of samples in the order in which they were taken.

    >>> row_of("fair", "p", "fill", [100.0, 200.0], [90.0, 220.0]).ratio
    Spread(median=1.0, least=0.9, most=1.1)
    """
    ratios = [mine / theirs for mine, theirs in zip(own, base, strict=True)]
    medians = spread_of(base).median, spread_of(own).median
    return Row(policy, point, figure, spread_of(ratios), *medians)


def main() -> int:
    """Measure, print, and add to the history."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--base", required=True, help="a commit")
    parser.add_argument("--policy", default="fair,drf,capacity,capacity-drf")
    parser.add_argument("--points", default="", help="part of a point's id")
    parser.add_argument("--samples", type=int, help="pairs of samples (default 5)")
    parser.add_argument("--seconds", type=float, help="most of a phase (default 1)")
    parser.add_argument("--instructions", action="store_true", help="count them, without a clock")
    parser.add_argument("--history", type=Path, help="(default build/speed.jsonl)")
    parser.add_argument("--fail-slower", type=float, metavar="PERCENT",
                        help="exit code 1 if a median is so much slower")  # fmt: skip
    options = parser.parse_args()
    policies = options.policy.split(",")
    every = grid(NODES if options.instructions else 1000)
    points = [point for point in every if options.points in point.id]
    if not points or set(policies) - set(KINDS):
        parser.error(f"policies are {', '.join(KINDS)}; points are {[p.id for p in every]}")
    samples: int = 5 if options.samples is None else options.samples
    seconds: float | None = 1.0 if options.seconds is None else options.seconds
    if samples < 1 or (seconds is not None and not 0 < seconds < float("inf")):
        parser.error("--samples is at least 1, and --seconds more than 0")
    if options.instructions:
        if any(value is not None for value in (options.samples, options.seconds, options.history)):
            parser.error("--instructions are counted once and not kept: "
                         "leave out --samples, --seconds and --history")  # fmt: skip
        samples, seconds = 1, None
    unit = "/million" if options.instructions else "/s"
    print(f"{'':42} {'base' + unit:>11} {'own' + unit:>11}  ratio: median, least, most")
    rows: list[Row] = []
    try:
        with files_of(options.base) as base:
            sources = (base / "src", ROOT / "src")
            for policy in policies:
                for point in points:
                    if (
                        point.queues * point.applications_per_queue
                        > KINDS[policy].most_applications
                    ):
                        continue
                    found = compared(sources, policy, point.id, samples, seconds)
                    for row in found:
                        print(row.line, flush=True)
                    rows += found
    except (ValueError, RuntimeError) as error:
        print(error, file=sys.stderr)
        return 2
    if not options.instructions:
        record(options.history or ROOT / "build" / "speed.jsonl", options.base, rows)
    limit = options.fail_slower
    return int(limit is not None and any(row.ratio.median < 1 - limit / 100 for row in rows))


def record(history: Path, base: str, rows: Sequence[Row]) -> None:
    """Add a line for each row to a file, with the commits and the instant."""
    own = subprocess.run(
        ["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True
    )
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    history.parent.mkdir(parents=True, exist_ok=True)
    with history.open("a", encoding="utf-8") as file:
        for row in rows:
            line = {"at": now, "base": base, "own": own.stdout.strip(), **msgspec.to_builtins(row)}
            file.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    sys.exit(main())
