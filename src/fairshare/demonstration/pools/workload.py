"""Owns the workload of MapReduce jobs, from the measurement of the machine to the report."""

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path

from rich.console import RenderableType

from fairshare.client.client import Client
from fairshare.demonstration import corpus
from fairshare.demonstration.entitlement import configured_queues
from fairshare.demonstration.errors import DemonstrationFailed
from fairshare.demonstration.measurement import ApplicationSpan, span_of
from fairshare.demonstration.observation import Snapshot
from fairshare.demonstration.pools.course import JobCourse
from fairshare.demonstration.pools.jobs import arrivals, question, word_count
from fairshare.demonstration.pools.plan import QUESTION_BYTES, plan_of
from fairshare.demonstration.pools.results import outcome_of
from fairshare.demonstration.pools.summary import summary
from fairshare.demonstration.pools.texts import Text
from fairshare.demonstration.teams import (
    ADHOC,
    MAP_SLOTS,
    PRODUCTION,
    QUESTIONS,
    RESEARCH,
    Pace,
    Setting,
)
from fairshare.demonstration.verification import Check
from fairshare.demonstration.workload import Workload
from fairshare.mapreduce import MapReduce

PATIENCE_S = 60.0
SAMPLER = "sampler"
"""The user of the measured jobs before the beginning, which count for no pool's team."""


class Jobs(Workload):
    """Two large word counts, and small jobs that look for words."""

    def __init__(self, setting: Setting, pace: Pace, say: Callable[[str], None]) -> None:
        super().__init__(setting, pace, say)
        self._timeout_ms = timeout_of(self.configuration)

    def prepare(self, folder: Path) -> None:
        """Find documents to count words in."""
        self._documents = list(corpus.documents(corpus.roots()))
        if not self._documents:
            raise DemonstrationFailed("this Python has no sources that words could be counted in")
        self._folder = folder

    def plan(self, client: Client) -> None:
        """Size the work by a job that fills all map slots; measure a small job by itself."""
        self.say("Measuring how fast this machine is ...")
        documents, folder = self._documents, self._folder
        asked = Text(folder / "asked", documents, QUESTION_BYTES)
        slots = client.cluster().total[MAP_SLOTS]
        # From everywhere, so that the sample is like the whole.
        spread = documents[:: max(1, len(documents) // 200)]
        measured = folder / "measured"
        measured.mkdir()
        sample = Text(measured / "text", spread, slots * self.pace.sample_bytes)
        split_bytes = -(-sample.size_bytes // slots)
        count = word_count(RESEARCH, sample, measured, split_bytes, reduces=1)
        maps = self._span(client, count).containers
        took_ms = max(one.finished_ms for one in maps[:slots]) - maps[0].allocated_ms
        alone = self._span(client, question(QUESTIONS[0], asked, measured, "alone"))
        self._alone_ms = alone.finished_ms - alone.submitted_ms
        self._plan = plan_of(self.pace, sample.size_bytes, took_ms)
        self._texts = {
            RESEARCH: Text(folder / RESEARCH, documents, self._plan.research_bytes),
            PRODUCTION: Text(folder / PRODUCTION, documents[::-1], self._plan.production_bytes),
            ADHOC: asked,
        }
        self._arrivals = arrivals(self._plan, *self._texts.values())

    def course(self, client: Client, show: Callable[[Snapshot], None]) -> JobCourse:
        """A course of jobs."""
        self._course = JobCourse(client, self._arrivals, show, self.setting)
        return self._course

    def verify(self, client: Client) -> Sequence[Check]:
        """Measure and check the results."""
        self._outcome = outcome_of(
            client, self._course, self._arrivals, self._texts, self._alone_ms
        )
        return self._outcome.checks

    def report(self, checks: Sequence[Check], *, ascii_only: bool) -> RenderableType:
        """The report at the end."""
        found = self._outcome
        return summary(
            found.figures,
            checks,
            self._plan,
            self._timeout_ms,
            found.frequent,
            ascii_only=ascii_only,
        )

    @staticmethod
    def _span(client: Client, job: MapReduce) -> ApplicationSpan:
        """The record of a job that runs by itself, with its maps."""
        result = dataclasses.replace(job, user=SAMPLER).run(client, timeout_s=PATIENCE_S)
        name = result.application
        return span_of(client.application(name), client.containers(name), MAP_SLOTS)


def timeout_of(configuration: Path) -> int:
    """How long (ms) production waits for its minimum before tasks of others are killed for it."""
    queues = configured_queues(configuration, memory_mb=1024)
    production = queues.get(f"root.{PRODUCTION}")
    if production is None or production.pool is None or production.min_share_timeout_ms is None:
        raise DemonstrationFailed(
            f"{configuration} is not for the Fair Scheduler of MapReduce, or its pools file has no"
            f" pool {PRODUCTION} with a minSharePreemptionTimeout"
        )
    return production.min_share_timeout_ms
