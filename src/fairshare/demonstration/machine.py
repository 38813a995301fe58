"""Owns the part of this machine that the demonstration uses, and how fast that is.

At most two processors, so that it is the same demonstration everywhere and leaves a large machine
to its user. The speed is that of the teams' own programs, run without any scheduler.
"""

import json
import os
import resource
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec

from fairshare.demonstration import corpus
from fairshare.demonstration.corpus import Document
from fairshare.demonstration.errors import DemonstrationFailed
from fairshare.demonstration.work import primes, query, words


class Rates(msgspec.Struct, frozen=True):
    """What one processor does in a second, while the others are equally busy."""

    numbers: float  # tried for primes
    mapped_bytes: float  # of documents, by the word count
    searched_bytes: float  # of documents, by a query


MOST_PROCESSORS = 2
ATTEMPTS = 2

SAMPLE_NUMBERS = 400_000
SAMPLE_INDEX = 50  # as large as the numbers in the middle of the work
SAMPLE_MAPPED_BYTES = 600_000
SAMPLE_SEARCHED_BYTES = 4_000_000

_PATIENCE_S = 60.0
_SHORTEST_S = 0.001  # some kernels count in larger steps


def processors() -> list[int]:
    """The numbers of the processors that are used: the last ones that we may run on."""
    return sorted(os.sched_getaffinity(0))[-MOST_PROCESSORS:]


def program(file: str | None, *arguments: str) -> tuple[str, ...]:
    """The command line of one of the teams' programs (`primes.__file__`)."""
    # -I and -S: neither the user's environment nor site-packages slow the start down.
    return (sys.executable, "-I", "-S", str(file), *arguments)


def measure(documents: Sequence[Document], processors: int, folder: Path) -> Rates:
    """How fast one processor is while all are busy. Uses `folder`, takes a second or two."""
    mapped = corpus.first_bytes(_spread(documents), SAMPLE_MAPPED_BYTES)
    searched = corpus.first_bytes(_spread(documents), SAMPLE_SEARCHED_BYTES)
    folder.mkdir()
    paths = [document.path for document in mapped]
    (folder / "splits.json").write_text(json.dumps([paths] * processors))
    lists = folder / "lists.json"
    lists.write_text(json.dumps([[document.path for document in searched]] * processors))
    number = str(SAMPLE_NUMBERS)
    tried_s = _cpu_s(program(primes.__file__, number), processors, SAMPLE_INDEX)
    mapped_s = _cpu_s(program(words.__file__, "map", str(folder), "1"), processors)
    searched_s = _cpu_s(program(query.__file__, str(lists), "lock"), processors)
    return Rates(
        numbers=SAMPLE_NUMBERS / tried_s,
        mapped_bytes=corpus.size_of(mapped) / mapped_s,
        searched_bytes=corpus.size_of(searched) / searched_s,
    )


def _spread(documents: Sequence[Document]) -> list[Document]:
    """The same documents in another order, so that the first ones are from everywhere."""
    step = max(1, len(documents) // 40)
    return [document for first in range(step) for document in documents[first::step]]


def _cpu_s(command: Sequence[str], processors: int, first: int = 0) -> float:
    """Seconds of a processor that a program takes while all processors run it.

    Not the time on the wall: the containers get more of a machine that has other things to do than
    these few processes would. The better of some attempts counts.
    """
    return min(_attempt(command, processors, first) for _ in range(ATTEMPTS))


def _attempt(command: Sequence[str], processors: int, first: int) -> float:
    def run(index: int) -> None:
        subprocess.run(
            command,
            env={"FAIRSHARE_TASK_INDEX": str(first + index)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=True,
            timeout=_PATIENCE_S,
            start_new_session=True,
        )

    before_s = _children_s()
    try:
        with ThreadPoolExecutor(processors) as threads:
            list(threads.map(run, range(processors)))
    except subprocess.CalledProcessError as error:
        raise DemonstrationFailed(
            f"{' '.join(command)} ended with {error.returncode}:\n"
            + error.stderr.decode(errors="replace")
        ) from error
    except subprocess.TimeoutExpired as error:
        raise DemonstrationFailed(
            f"this machine is too slow or too busy: {' '.join(command)} takes more than"
            f" {_PATIENCE_S:g} s; try again when it has less to do"
        ) from error
    return max(_SHORTEST_S, _children_s() - before_s) / processors


def _children_s() -> float:
    """What all our children that have ended took together."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
