"""Owns what each pool submits: MapReduce jobs, as data, and how much text they have.

The amounts follow the speed of this machine, so that all takes about a minute. Submits nothing. The
texts are written from the Python installation's own documents, and counted without maps and
reduces, so that results can be compared with that.
"""

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from fairshare.demonstration.corpus import Document
from fairshare.demonstration.pools.functions import add, count_line, words
from fairshare.demonstration.teams import (
    ADHOC,
    MEMORY,
    POOLS,
    PRODUCTION,
    RESEARCH,
    Arrival,
    Pace,
    schedule,
)
from fairshare.mapreduce import MapReduce

_WORD = re.compile(rb"[a-z]+")


class Text:
    """One file of whole documents; they are repeated until it has `size_bytes`."""

    def __init__(self, path: Path, documents: Sequence[Document], size_bytes: int) -> None:
        self.path = path
        self.size_bytes = 0
        self.times: Counter[str] = Counter()  # how often a document is in it, by its path
        with path.open("wb") as file:
            while self.size_bytes < size_bytes:
                for document in documents:
                    # A document may change meanwhile: what was written counts.
                    written = file.write(_lines(Path(document.path)))
                    self.size_bytes += written
                    self.times[document.path] += 1
                    if self.size_bytes >= size_bytes:
                        break

    def words(self) -> Counter[bytes]:
        """How often each word of small letters is in it."""
        found: Counter[bytes] = Counter()
        for path, times in self.times.items():
            own = Counter(_WORD.findall(_lines(Path(path)).lower()))
            found.update({word: times * number for word, number in own.items()})
        return found

    def occurrences(self, word: str) -> int:
        """How often a word occurs by itself, with exactly these letters."""
        found = re.compile(rb"\b" + word.encode() + rb"\b")
        return sum(
            times * len(found.findall(_lines(Path(path)))) for path, times in self.times.items()
        )


def _lines(path: Path) -> bytes:
    """A document's bytes; they end with a line feed, and no byte is a NUL."""
    data = path.read_bytes().replace(b"\0", b" ")
    return data if data.endswith(b"\n") else data + b"\n"


TIME_LIMIT_MS = 120_000

COUNT = "uniq -c"


QUESTION_BYTES = 2_000_000
"""What a small job searches; the start of its tasks takes most of its time."""

QUESTION_MAPS = 2
RESEARCH_REDUCES = 4
PRODUCTION_REDUCES = 2


class Plan(msgspec.Struct, frozen=True):
    """The work of one demonstration: bytes of text, and the most of them for a map."""

    pace: Pace
    research_bytes: int
    production_bytes: int
    split_bytes: int


def plan_of(pace: Pace, sampled_bytes: int, took_ms: int) -> Plan:
    """The plan for a machine whose slots together mapped `sampled_bytes` in that time.

    With 12 MB in 2 s the whole machine maps 6 MB a second: 20 s of work are 120 MB, and a map
    of 0.9 s has 5.4 MB.
    """
    rate = 1000 * sampled_bytes / max(1, took_ms)
    return Plan(
        pace=pace,
        research_bytes=int(pace.research_s * rate),
        production_bytes=int(pace.production_s * rate),
        split_bytes=max(50_000, int(pace.task_s * rate)),
    )


def arrivals(plan: Plan, research: Text, production: Text, asked: Text) -> list[Arrival[MapReduce]]:
    """All jobs in the order of time; they write into the folder of the texts."""
    folder = research.path.parent
    large = word_count(RESEARCH, research, folder, plan.split_bytes, RESEARCH_REDUCES)
    nightly = word_count(PRODUCTION, production, folder, plan.split_bytes, PRODUCTION_REDUCES)
    return schedule(
        plan.pace,
        [
            arrival(0.0, RESEARCH, large),
            arrival(plan.pace.production_at_s, PRODUCTION, nightly),
        ],
        lambda at_s, number, word: arrival(
            at_s, ADHOC, question(word, asked, folder, f"out-{number}"), word
        ),
    )


def arrival(at_s: float, pool: str, job: MapReduce, word: str = "") -> Arrival[MapReduce]:
    """The arrival of a job; its tasks are its maps, its reduces, and its commit."""
    maps = len(job.splits())
    return Arrival(at_s, pool, job, f"{job.name}, {maps} maps", maps + job.reduces + 1, word)


def word_count(pool: str, text: Text, folder: Path, split_bytes: int, reduces: int) -> MapReduce:
    """How often each word is in a text: a job of Python functions."""
    return _job(
        pool,
        f"word count of {text.size_bytes / 1e6:.0f} MB",
        text,
        folder / f"out-{pool}",
        mapper=words,
        combiner=add,
        reducer=count_line,
        binary=True,
        split_bytes=split_bytes,
        reduces=reduces,
    )


def question(word: str, text: Text, folder: Path, output: str) -> MapReduce:
    """How often one word is in a text: a job of commands. A grep without a match does not fail."""
    return _job(
        ADHOC,
        f"how often '{word}'?",
        text,
        folder / output,
        mapper=f"grep -aow {word} || test $? = 1",
        reducer=COUNT,
        split_bytes=-(-text.size_bytes // QUESTION_MAPS),
        reduces=1,
    )


def _job(pool: str, name: str, text: Text, output: Path, **work: Any) -> MapReduce:
    return MapReduce(
        inputs=[text.path],
        output=output,
        user=pool,
        pool=pool,
        name=name,
        memory_mb=POOLS.container[MEMORY],
        vcores=POOLS.container["vcores"],
        time_limit_ms=TIME_LIMIT_MS,
        environment={"LC_ALL": "C"},
        directory=output.parent,
        **work,
    )
