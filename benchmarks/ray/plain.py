"""What Ray does by itself: a program of its own, `python -m benchmarks.ray.plain ADDRESS WHAT`.

Prints one number: short tasks in a second, actors with one call each in a second, or how long a
second user waits behind the tasks of a first one.
"""

import subprocess
import sys
import time

import ray

RESULT = "result: "


@ray.remote(num_cpus=1)
def nothing() -> None:
    """A task that does nothing."""


@ray.remote(num_cpus=1)
def process() -> None:
    """A task that runs a process, as a container does."""
    subprocess.run(["true"], check=True)


@ray.remote(num_cpus=1)
def sleep(seconds: float) -> None:
    """A task that takes its time."""
    time.sleep(seconds)


@ray.remote(num_cpus=1)
class Once:
    """An actor for a single call."""

    def run(self) -> None:
        """The call."""
        subprocess.run(["true"], check=True)


def number_in(printed: str) -> float:
    """The number among what a program of this module printed; Ray prints, too."""
    (line,) = [line for line in printed.splitlines() if line.startswith(RESULT)]
    return float(line.removeprefix(RESULT))


def tasks(kind: object, count: int) -> float:
    """Tasks in a second; workers were started before."""
    ray.get([kind.remote() for _ in range(50)])  # type: ignore[attr-defined]
    began_s = time.perf_counter()
    ray.get([kind.remote() for _ in range(count)])  # type: ignore[attr-defined]
    return count / (time.perf_counter() - began_s)


def actors(count: int) -> float:
    """Actors in a second, each with a process of its own and one call."""
    began_s = time.perf_counter()
    running = [Once.remote() for _ in range(count)]
    ray.get([one.run.remote() for one in running])
    return count / (time.perf_counter() - began_s)


def flood(address: str, seconds: float) -> float:
    """How long a task of a second program waits that comes after enough tasks of 0.5 s for so many
    seconds."""
    slots = int(ray.cluster_resources()["CPU"])
    before = [sleep.remote(0.5) for _ in range(int(2 * seconds * slots))]
    time.sleep(1)
    command = [sys.executable, "-m", "benchmarks.ray.plain", address, "second"]
    second = subprocess.run(command, check=True, capture_output=True, text=True)
    ray.get(before)
    return number_in(second.stdout)


def second() -> float:
    """How long the second user's task takes."""
    began_s = time.perf_counter()
    ray.get(sleep.remote(0))
    return time.perf_counter() - began_s


def main(address: str, what: str) -> None:
    """Measure one thing."""
    ray.init(address=address, log_to_driver=False, logging_level="ERROR")
    measured = {
        "tasks": lambda: tasks(nothing, 2_000),
        "processes": lambda: tasks(process, 1_000),
        "actors": lambda: actors(8),
        "flood": lambda: flood(address, 10),
        "second": second,
    }
    print(f"{RESULT}{measured[what]()}")


if __name__ == "__main__":
    main(*sys.argv[1:])
