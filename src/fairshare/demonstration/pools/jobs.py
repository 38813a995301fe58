"""Owns what each pool hands in: MapReduce jobs, as data. Submits nothing."""

import dataclasses
from pathlib import Path
from typing import Any

from fairshare.demonstration.pools.functions import add, tell, words
from fairshare.demonstration.pools.plan import (
    PRODUCTION_REDUCES,
    QUESTION_MAPS,
    QUESTIONS,
    RESEARCH_REDUCES,
    Plan,
)
from fairshare.demonstration.pools.texts import Text
from fairshare.demonstration.teams import ADHOC, PRODUCTION, RESEARCH, SLOTS
from fairshare.mapreduce import MapReduce

MAP_SLOTS, REDUCE_SLOTS = "map-slots", "reduce-slots"
TIME_LIMIT_MS = 120_000

COUNT = "uniq -c"


@dataclasses.dataclass(frozen=True)
class Arrival:
    """One job, and when it is handed in (seconds after the beginning). `word`: what it asks for."""

    at_s: float
    pool: str
    job: MapReduce
    maps: int
    word: str = ""

    @property
    def tasks(self) -> int:
        """Its maps, its reduces, and its commit."""
        return self.maps + self.job.reduces + 1


def arrivals(plan: Plan, research: Text, production: Text, asked: Text) -> list[Arrival]:
    """All jobs in the order of time; they write into the folder of the texts."""
    pace = plan.pace
    folder = research.path.parent
    large = word_count(RESEARCH, research, folder, plan.split_bytes, RESEARCH_REDUCES)
    nightly = word_count(PRODUCTION, production, folder, plan.split_bytes, PRODUCTION_REDUCES)
    found = [
        Arrival(0.0, RESEARCH, large, len(large.splits())),
        Arrival(pace.production_at_s, PRODUCTION, nightly, len(nightly.splits())),
    ]
    for number in range(pace.questions):
        at_s = pace.questions_at_s + number * pace.question_interval_s
        word = QUESTIONS[number % len(QUESTIONS)]
        small = question(word, asked, folder, f"out-{number}")
        found.append(Arrival(at_s, ADHOC, small, len(small.splits()), word))
    return sorted(found, key=lambda arrival: arrival.at_s)


def word_count(pool: str, text: Text, folder: Path, split_bytes: int, reduces: int) -> MapReduce:
    """How often each word is in a text: a job of Python functions."""
    return _job(
        pool,
        f"word count of {text.size_bytes / 1e6:.0f} MB",
        text,
        folder / f"out-{pool}",
        mapper=words,
        combiner=add,
        reducer=tell,
        binary=True,
        split_bytes=split_bytes,
        reduces=reduces,
    )


def question(word: str, text: Text, folder: Path, output: str) -> MapReduce:
    """How often one word is in a text: a job of commands. That grep finds none is no failure."""
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
        memory_mb=SLOTS.container["memory-mb"],
        vcores=SLOTS.container["vcores"],
        time_limit_ms=TIME_LIMIT_MS,
        environment={"LC_ALL": "C"},
        directory=output.parent,
        **work,
    )
