"""Counts words by MapReduce, and by a plain pipe of the shell: `python -m benchmarks.mapreduce`.

Starts a server of its own on this machine, makes a text of MEGABYTES whose words are as frequent as
those of a language (the n-th word about 1/n as often as the first; every tenth word of the text is
one that is there once), and counts its words

* by `tr | LC_ALL=C sort | uniq -c`, with as many threads as sort takes, and as much memory,
* by a job of the same commands,
* by a job of Python functions, if --functions is given,

one after the other. Each result must be the same. Printed are the times, and what the engine has
measured of each container: its peak memory, with the pages of files that it has read and written.
"""

import argparse
import itertools
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fairshare.client import Client
from fairshare.mapreduce import MapReduce, Result

YARN_SITE = """<configuration>
  <property><name>yarn.resourcemanager.scheduler.class</name><value>org.apache.hadoop.yarn.server\
.resourcemanager.scheduler.fair.FairScheduler</value></property>
  <property><name>yarn.scheduler.minimum-allocation-mb</name><value>16</value></property>
  <property><name>yarn.resource-types.memory-mb.increment-allocation</name><value>16</value>
  </property>
</configuration>
"""
WORDS, COUNT = "tr -s ' ' '\\n'", "uniq -c"


def words(line: str) -> Iterator[tuple[str, int]]:
    """The mapper as a function."""
    for word in line.split():
        yield word, 1


def add(word: str, counts: Iterator[int]) -> Iterator[tuple[str, int]]:
    """The combiner and reducer as a function."""
    yield word, sum(counts)


def write_text(path: Path, size: int, seed: int) -> None:
    """A text of at least `size` bytes, the same for the same seed."""
    chance = random.Random(seed)
    letters = "etaoinshrdlucmfw"
    known = ["".join(chance.choices(letters, k=chance.randint(2, 9))) for _ in range(50_000)]
    weights = list(itertools.accumulate(1 / rank for rank in range(1, len(known) + 1)))
    number = written = 0
    with path.open("w", encoding="ascii") as file:
        while written < size:
            chosen = chance.choices(known, cum_weights=weights, k=90_000)
            for at in range(0, len(chosen), 9):
                number += 1
                written += file.write(f"{' '.join(chosen[at : at + 9])} x{number}\n")


@contextmanager
def server(folder: Path, memory_mb: int, vcores: int) -> Iterator[Client]:
    """A client of a new server, which ends with the context."""
    conf = folder / "conf"
    conf.mkdir()
    (conf / "yarn-site.xml").write_text(YARN_SITE)
    (conf / "fair-scheduler.xml").write_text("<allocations/>")
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "fairshare", "serve", "--conf", str(conf), "--port", "0"),
            *("--stop-containers", "--trust-local-users"),
            *("--state", str(folder / "state"), "--vcores", str(vcores)),
            *("--memory-mb", str(memory_mb * vcores + 64)),
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        with Client(process.stdout.readline().split()[-1]) as client:
            yield client
    finally:
        process.terminate()
        process.communicate()


def counted(lines: Iterator[bytes], *, count_first: bool) -> dict[bytes, int]:
    """Words and their numbers, of lines that hold both."""
    found = {}
    for line in lines:
        one, other = line.split()
        word, number = (other, one) if count_first else (one, other)
        found[word] = int(number)
    return found


def plain(folder: Path, memory_mb: int) -> tuple[float, dict[bytes, int]]:
    """How long the pipe of the shell takes, and what it counts."""
    sort = f"LC_ALL=C sort --parallel={os.cpu_count()} -S {memory_mb}M"
    began_s = time.monotonic()
    subprocess.run(f"{WORDS} < text | {sort} | {COUNT} > plain", shell=True, cwd=folder, check=True)
    took_s = time.monotonic() - began_s
    with (folder / "plain").open("rb") as file:
        return took_s, counted(file, count_first=True)


def job(
    client: Client, made: MapReduce, *, count_first: bool
) -> tuple[float, dict[bytes, int], Result]:
    """How long a job takes, what it counts, and its result."""
    began_s = time.monotonic()
    result = made.run(client)
    took_s = time.monotonic() - began_s
    lines = itertools.chain.from_iterable(path.open("rb") for path in result.parts)
    return took_s, counted(lines, count_first=count_first), result


def tell(client: Client, name: str, took_s: float, plain_s: float, result: Result) -> None:
    """One line for the job and one for each container."""
    counters = result.counters
    print(f"{name:22} {took_s:7.1f} s   {took_s / plain_s:5.2f} of the plain pipe   "
          f"{counters.get('Map output records'):,} records, "
          f"{counters.get('CPU time spent (ms)') / 1000:.1f} s of processors")  # fmt: skip
    for one in client.containers(result.application):
        took_ms = (one.finished_ms or 0) - (one.allocated_ms or 0)
        print(f"    {one.group}/{one.task}: exit {one.exit_code}, {took_ms / 1000:.1f} s, peak "
              f"{one.peak_memory_mb} MB of {one.resources['memory-mb']}")  # fmt: skip


def main() -> int:
    """Measure and print; 1 if a result is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--megabytes", type=int, default=200)
    parser.add_argument("--memory-mb", type=int, default=64, help="of each task")
    parser.add_argument("--vcores", type=int, default=os.cpu_count() or 1, help="tasks at once")
    parser.add_argument("--split-mb", type=int, default=52)
    parser.add_argument("--reduces", type=int, default=2)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--functions", action="store_true", help="Python functions too")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="fairshare-mapreduce-") as name:
        folder = Path(name)
        write_text(folder / "text", options.megabytes * 10**6, options.seed)
        size = (folder / "text").stat().st_size
        plain_s, expected = plain(folder, options.memory_mb)
        print(f"{size:,} bytes, {sum(expected.values()):,} words, {len(expected):,} different ones")
        print(f"{'tr | sort | uniq -c':22} {plain_s:7.1f} s")
        jobs: dict[str, dict[str, Any]] = {"job of commands": {"mapper": WORDS, "reducer": COUNT}}
        if options.functions:
            jobs["job of functions"] = {"mapper": words, "combiner": add, "reducer": add}
        right = True
        with server(folder, options.memory_mb, options.vcores) as client:
            for number, (title, work) in enumerate(jobs.items()):
                made = MapReduce(
                    inputs=[folder / "text"],
                    output=folder / f"out-{number}",
                    reduces=options.reduces,
                    memory_mb=options.memory_mb,
                    split_bytes=options.split_mb << 20,
                    name="word count",
                    **work,
                )
                took_s, found, result = job(client, made, count_first=number == 0)
                tell(client, title, took_s, plain_s, result)
                if found != expected:
                    print(f"{title}: the result is WRONG")
                    right = False
        print("all results are equal" if right else "the results differ")
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
