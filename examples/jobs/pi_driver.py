"""Throws darts at a circle, round by round, until pi is known well enough; run by `pi.yaml`.

With an argument it is one task of a round: it throws its darts and writes down how many have hit.
Without, it is the driver, which asks for rounds.
"""

import os
import random
import sys
import time
from math import sqrt
from pathlib import Path

from fairshare.client import Driver, TaskGroup

TASKS, DARTS = 4, 250_000
OUTPUT = Path(os.environ["OUTPUT"]) / os.environ["FAIRSHARE_APPLICATION_ID"]


def throw(name: str) -> None:
    """One task."""
    index = int(os.environ["FAIRSHARE_TASK_INDEX"])
    chance = random.Random(f"{name} {index}")  # noqa: S311 - darts are no secrets
    hits = sum(chance.random() ** 2 + chance.random() ** 2 <= 1 for _ in range(DARTS))
    OUTPUT.mkdir(parents=True, exist_ok=True)
    draft = OUTPUT / f".{name}-{index}"
    draft.write_text(str(hits))
    draft.replace(OUTPUT / f"{name}-{index}.hits")


def drive() -> None:
    """The driver: another round as long as the standard error is too large."""
    wanted = float(os.environ["ERROR"])
    with Driver() as driver:
        driver.register()
        for number in range(1, 100):
            group = TaskGroup(
                name=f"round-{number}",
                count=TASKS,
                resources={"memory-mb": 128, "vcores": 1},
                arguments=(sys.executable, str(Path(__file__).resolve()), f"round-{number}"),
                environment={"OUTPUT": os.environ["OUTPUT"]},
            )
            driver.add_tasks(group)
            while driver.application().groups[-1].succeeded < TASKS:
                time.sleep(0.2)
            hits = [int(path.read_text()) for path in OUTPUT.glob("*.hits")]
            share = sum(hits) / (len(hits) * DARTS)
            error = 4 * sqrt(share * (1 - share) / (len(hits) * DARTS))
            print(f"round {number}: pi is {4 * share:.5f}, give or take {error:.5f}", flush=True)
            if error <= wanted:
                break
        driver.finish(diagnostics=f"pi is {4 * share:.5f}")


if __name__ == "__main__":
    throw(sys.argv[1]) if len(sys.argv) > 1 else drive()
