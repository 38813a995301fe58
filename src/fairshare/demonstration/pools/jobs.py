"""Owns what each pool submits: MapReduce jobs, as data. Submits nothing."""

from pathlib import Path
from typing import Any

from fairshare.client.client import Client
from fairshare.demonstration.pools.functions import add, tell, words
from fairshare.demonstration.pools.plan import (
    PRODUCTION_REDUCES,
    QUESTION_MAPS,
    RESEARCH_REDUCES,
    Plan,
)
from fairshare.demonstration.pools.texts import Text
from fairshare.demonstration.teams import (
    ADHOC,
    MEMORY,
    POOLS,
    PRODUCTION,
    RESEARCH,
    Arrival,
    schedule,
)
from fairshare.mapreduce import MapReduce

TIME_LIMIT_MS = 120_000

COUNT = "uniq -c"


class JobArrival(Arrival, frozen=True):
    """The arrival of a job; `word`: what a small job looks for."""

    job: MapReduce
    maps: int
    word: str = ""

    def submit(self, client: Client) -> str:
        """Submit it; returns the application's id."""
        return self.job.submit(client)

    @property
    def tasks(self) -> int:
        """Its maps, its reduces, and its commit."""
        return self.maps + self.job.reduces + 1

    @property
    def words(self) -> str:
        """Its name and its maps."""
        return f"{self.job.name}, {self.maps} maps"


def arrivals(plan: Plan, research: Text, production: Text, asked: Text) -> list[JobArrival]:
    """All jobs in the order of time; they write into the folder of the texts."""

    def arrival(at_s: float, pool: str, job: MapReduce, word: str = "") -> JobArrival:
        return JobArrival(at_s, pool, job, len(job.splits()), word)

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
