"""Owns the workload of MapReduce jobs, from the measurement of the machine to the report."""

import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from fairshare.client.answers import Application, Queue
from fairshare.client.client import Client
from fairshare.demonstration import corpus
from fairshare.demonstration.course import Course, Found
from fairshare.demonstration.entitlement import configured_queues
from fairshare.demonstration.errors import DemonstrationFailed
from fairshare.demonstration.measurement import ApplicationSpan, span_of
from fairshare.demonstration.observation import detail_of
from fairshare.demonstration.pools.jobs import (
    QUESTION_BYTES,
    Text,
    arrivals,
    plan_of,
    question,
    word_count,
)
from fairshare.demonstration.pools.results import (
    check_found,
    check_minimum,
    check_slots,
    check_words,
    job_metrics,
    read_counts,
)
from fairshare.demonstration.pools.summary import ADVICE, happened
from fairshare.demonstration.summary import Results
from fairshare.demonstration.teams import (
    ADHOC,
    MAP_SLOTS,
    PRODUCTION,
    QUESTIONS,
    REDUCE_SLOTS,
    RESEARCH,
)
from fairshare.demonstration.verification import all_tasks, check_tasks
from fairshare.demonstration.workload import Workload
from fairshare.mapreduce import MapReduce

MOST_FREQUENT = 5
PATIENCE_S = 60.0
SAMPLER = "sampler"
"""The user of the measured jobs before the beginning, which count for no pool's team."""


class JobCourse(Course[MapReduce]):
    """One course of jobs in pools."""

    def submit(self, work: MapReduce) -> str:
        """Submit a job; returns its application's id."""
        return work.submit(self.client)

    def act(self, found: Found, queues: Mapping[str, Queue]) -> bool:
        """Report when production has its minimum."""
        pool = queues[f"root.{PRODUCTION}"].pool
        minimum = pool.maps.min_share if pool else 0
        if pool and pool.maps.running >= minimum > 0:
            self.report(f"{PRODUCTION} has its minimum of {minimum} map slots", once=True)
        return True

    def detail(self, team: str, applications: Sequence[Application]) -> str:
        """How many of a pool's tasks are done, and how many reduces run."""
        if team == ADHOC:
            return detail_of(team, applications)
        progress = [job.progress for job in applications if job.progress is not None]
        done, total = sum(p.succeeded for p in progress), sum(p.total for p in progress)
        running = sum(job.used.get(REDUCE_SLOTS, 0) for job in applications)
        return f"tasks {done}/{total}, {running} reduces run"


class Jobs(Workload):
    """Two large word counts, and small jobs that look for words."""

    def prepare(self, folder: Path) -> None:
        """Find documents to count words in."""
        self._timeout_ms = timeout_of(self.configuration)
        self._documents = corpus.installed()
        self._folder = folder

    def course(self, client: Client) -> JobCourse:
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
        self._course = JobCourse(client, self._arrivals, self.setting)
        return self._course

    def verify(self, client: Client) -> Results:
        """Each result is also found in another way."""
        applications, total = self._course.applications, client.cluster().total
        queues = {queue.name: queue for queue in client.queues()}
        jobs = {
            pool: [(client.application(name), client.containers(name)) for name in names]
            for pool, names in applications.items()
        }
        slots = total[MAP_SLOTS], total[REDUCE_SLOTS]
        minimum = (queues[f"root.{PRODUCTION}"].min_share or {}).get(MAP_SLOTS, 0)
        metrics = job_metrics(jobs, self._course.owed, slots, minimum, self._alone_ms)
        found = [(one, read_counts(one.work.layout.output)) for one in self._arrivals]
        large = {one.team: (one, counts) for one, counts in found if not one.word}
        answers = [(a.word, counts.get(a.word.encode(), 0)) for a, counts in found if a.word]
        expected = sum(arrival.tasks for arrival in self._arrivals)
        checks = (
            *(check_words(counts, self._texts[pool], a) for pool, (a, counts) in large.items()),
            check_found(answers, self._texts[ADHOC]),
            check_tasks(all_tasks(client, applications), expected),
            check_slots(metrics),
            check_minimum(metrics),
        )
        words = Counter(large[RESEARCH][1]).most_common(MOST_FREQUENT)
        return Results(
            list(happened(metrics, self._plan, self._timeout_ms)),
            checks,
            ": " + ", ".join(word.decode() for word, _ in words),
            ADVICE,
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
