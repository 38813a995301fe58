"""Prints how long calls of Python functions take beside a process pool: `python -m
benchmarks.calls [--calls 2000] [--samples 5] [--json]`.

A server with real containers is started for it. A time is wall time from the first `submit` to the
last result, in an executor that is new; what it takes to leave the executor is not counted. Dask's
figures come along where `distributed` is installed.
"""

import argparse
import importlib.util
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from concurrent import futures
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import fairshare
from benchmarks.own_server import own_server

SMALL = {"memory-mb": 64, "vcores": 1}

Pool = Any
Work = Callable[[Pool, int], None]


def by_map(pool: Pool, count: int) -> None:
    """All calls by one `map`, chunks as the pool chooses."""
    found = list(pool.map(abs, range(count)))
    assert found == list(range(count))


def by_submit(pool: Pool, count: int) -> None:
    """All calls by `submit`, then all results."""
    given = [pool.submit(abs, number) for number in range(count)]
    assert [future.result() for future in given] == list(range(count))


def in_turn(pool: Pool, count: int) -> None:
    """Each call when the one before has returned."""
    for number in range(count):
        assert pool.submit(abs, number).result() == number


WORKS: dict[str, Work] = {"map": by_map, "submit": by_submit, "one after another": in_turn}


class InPlace(futures.Executor):
    """Calls a function where it is submitted: what is left of a figure is the benchmark's own."""

    def submit(self, function: Callable[..., Any], /, *values: Any) -> futures.Future[Any]:  # type: ignore[override]
        """A future that has its result."""
        future: futures.Future[Any] = futures.Future()
        future.set_result(function(*values))
        return future


@contextmanager
def dask_pool() -> Iterator[Pool]:
    """Two processes of Dask, as an executor."""
    import distributed  # not a dependency: a rival

    with distributed.Client(n_workers=2, threads_per_worker=1, dashboard_address=None) as client:
        yield client.get_executor()


def pools(url: str) -> dict[str, Callable[[], AbstractContextManager[Pool]]]:
    """The executors, each as what makes a new one."""
    options: dict[str, Any] = {"queue": "root.research", "url": url, "resources": SMALL}
    found: dict[str, Callable[[], AbstractContextManager[Pool]]] = {
        "fairshare.Executor": lambda: fairshare.Executor(**options),
        "fairshare.Executor(isolated=True)": lambda: fairshare.Executor(isolated=True, **options),
        "none (the benchmark itself)": InPlace,
        "ProcessPoolExecutor(2)": lambda: futures.ProcessPoolExecutor(2),
    }
    if importlib.util.find_spec("distributed"):
        found["dask.distributed, 2 processes"] = dask_pool
    return found


def seconds(make: Callable[[], AbstractContextManager[Pool]], work: Work, count: int) -> float:
    """How long the calls take in a new executor."""
    with make() as pool:
        began_s = time.monotonic()
        work(pool, count)
        return time.monotonic() - began_s


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=2_000)
    parser.add_argument("--isolated-calls", type=int, default=100, help="they take long")
    parser.add_argument("--samples", type=int, default=5)
    parser.add_argument("--json", action="store_true", help="one JSON object for each figure")
    options = parser.parse_args()
    if not importlib.util.find_spec("distributed"):
        print("dask.distributed is not installed: its figures are missing", file=sys.stderr)
    if not options.json:
        print(f"{'executor':34} {'calls':>6} {'how':18} {'median s':>9} {'least':>8} {'most':>8}")
    with own_server() as server:
        for name, make in pools(server.url).items():
            count = options.isolated_calls if "isolated" in name else options.calls
            for how, work in WORKS.items():
                found = sorted(seconds(make, work, count) for _ in range(options.samples))
                middle = statistics.median(found)
                if options.json:
                    print(json.dumps({"executor": name, "calls": count, "how": how,
                                      "median_s": middle, "samples_s": found}))  # fmt: skip
                else:
                    print(f"{name:34} {count:6,} {how:18} {middle:9.3f} {found[0]:8.3f} "
                          f"{found[-1]:8.3f}", flush=True)  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())
