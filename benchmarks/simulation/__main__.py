"""Prints simulated tasks for each second of processor time, ours and AccaSim's in one run.

    python -m benchmarks.simulation          to 100,000 tasks
    python -m benchmarks.simulation --full   to 1,000,000

AccaSim is installed into an environment of its own below build/, which the first run makes.
"""

import argparse
import json
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
ENVIRONMENT = ROOT / "build" / "accasim"
VERSION = "accasim==1.1.3"
ONE_QUEUE = (100, 1, 1)
"""AccaSim's own load: nodes, queues, tasks of a job."""
MANY_QUEUES = (1_000, 100, 10)
CASES = (
    ("one queue, fifo", "fifo", ONE_QUEUE),
    ("one queue, fair", "fair", ONE_QUEUE),
    ("one queue, capacity", "capacity", ONE_QUEUE),
    ("100 queues, fair", "fair", MANY_QUEUES),
    ("100 queues, capacity", "capacity", MANY_QUEUES),
)


def accasim() -> Path:
    """The Python of an environment that has AccaSim."""
    python = ENVIRONMENT / "bin" / "python"
    if not python.exists():
        venv.create(ENVIRONMENT, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", VERSION], check=True)
    return python


def measured(arguments: list[str], count: int) -> str:
    """One line of figures of a run."""
    done = subprocess.run(arguments, capture_output=True, text=True, cwd=ROOT, check=False)
    if done.returncode:
        return f"failed: {done.stderr.strip().splitlines()[-1]}"
    found = json.loads(done.stdout.splitlines()[-1])
    rate = count / found["cpu_s"]
    return f"{found['cpu_s']:8.2f} s {rate:10,.0f} tasks/s {found['memory_mb']:6,} MB"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="to a million tasks")
    parser.add_argument("--only", default="", help="cases whose name has this")
    given = parser.parse_args()
    counts = (10_000, 100_000, 1_000_000) if given.full else (10_000, 100_000)
    for count in counts:
        if given.only in "accasim":
            script = [str(accasim()), str(HERE / "accasim_run.py"), str(count), "100"]
            print(f"{count:9,} {'one queue, AccaSim fifo':24}", measured(script, count), flush=True)
        for name, scheduler, sizes in CASES:
            if given.only in name:
                numbers = [str(one) for one in (count, *sizes)]
                script = [sys.executable, "-m", "benchmarks.simulation.own_run", scheduler]
                print(f"{count:9,} {name:24}", measured([*script, *numbers], count), flush=True)


if __name__ == "__main__":
    main()
