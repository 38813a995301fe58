"""Owns the workload of applications of tasks: their course, and what they have come to."""

import time
from collections.abc import Mapping
from pathlib import Path
from statistics import mean

import msgspec

from fairshare.client.answers import Queue
from fairshare.client.client import Client
from fairshare.client.submissions import Submission
from fairshare.demonstration.applications import archive, results
from fairshare.demonstration.applications.plan import arrivals, prepare
from fairshare.demonstration.applications.results import Casualty, Stage
from fairshare.demonstration.applications.summary import advice, frequent, happened
from fairshare.demonstration.course import Course, Found
from fairshare.demonstration.entitlement import read_entitlements
from fairshare.demonstration.measurement import RunMetrics, metrics_of, span_of
from fairshare.demonstration.observation import places_of
from fairshare.demonstration.summary import Results
from fairshare.demonstration.teams import ADHOC, MEMORY, PRODUCTION, RESEARCH, TEAMS
from fairshare.demonstration.verification import all_tasks, check_tasks
from fairshare.demonstration.workload import Workload
from fairshare.wording import failed_call


class ApplicationCourse(Course[Submission]):
    """One course, in which a container is killed on purpose."""

    casualty: Casualty

    def submit(self, work: Submission) -> str:
        """Submit an application; returns its id."""
        return self.client.submit(work)

    def act(self, found: Found, queues: Mapping[str, Queue]) -> bool:
        """Kill a container of the word count, and follow its task to the end."""
        for application in found[PRODUCTION]:
            event = self.casualty.step(application)
            if event:
                self.report(event)
        return self.casualty.stage in (Stage.WAITING, Stage.SUCCEEDED)


class Applications(Workload):
    """Primes, a word count and queries."""

    def prepare(self, folder: Path) -> None:
        """Size the work for this machine, or repeat that of another scheduler."""
        self._path = archive.archive_path()
        self._archive = archive.read_archive(self._path)
        repeated = None
        if self._archive is not None:
            scheduler = self.setting.scheduler
            repeated = self._archive.plan_to_repeat(scheduler, self.pace, time.time())
        self._prepared = prepare(self.pace, repeated, folder, self.say)
        self._folder = folder

    def course(self, client: Client) -> ApplicationCourse:
        """What arrives follows from the preparation."""
        self._arrivals = arrivals(self._prepared.plan, self._folder, self.setting)
        self._course = ApplicationCourse(client, self._arrivals, self.setting)
        self._course.casualty = Casualty(client, self.pace.kill_after)
        return self._course

    def verify(self, client: Client) -> Results:
        """Each result is also found in another way."""
        prepared, plan = self._prepared, self._prepared.plan
        cluster, applications = client.cluster(), self._course.applications
        metrics = self._metrics(client, cluster.total[MEMORY])
        parts = results.read_reduced(self._folder / "exchange", plan.reduces)
        ranges = [
            msgspec.json.decode(output, type=results.RangeResult)
            for name in applications[RESEARCH]
            for output in results.outputs(client, name)
        ]
        asked = [arrival.word for arrival in self._arrivals if arrival.team == ADHOC]
        answers = [
            (word, [int(output) for output in results.outputs(client, name)])
            for word, name in zip(asked, applications[ADHOC], strict=True)
        ]
        counted = results.direct_count(document.path for document in prepared.documents)
        searched = results.direct_count(document.path for document in prepared.searched)
        expected = sum(arrival.tasks for arrival in self._arrivals)
        checks = (
            results.check_research(ranges, plan),
            results.check_production(parts, counted, plan),
            results.check_queries(answers, searched),
            check_tasks(all_tasks(client, applications), expected),
            results.check_casualty(self._course.casualty),
        )
        other = None
        if all(check.passed for check in checks) and not self._course.crashed:
            other = self._remember(metrics)
        places = places_of(cluster, self.setting.container)
        return Results(
            list(happened(metrics, plan, places, other)),
            checks,
            frequent(results.most_frequent(parts)),
            list(advice(metrics, other)),
        )

    def _metrics(self, client: Client, memory_mb: int) -> RunMetrics:
        owed = read_entitlements(self.configuration, TEAMS, memory_mb)
        # The server's own reports take precedence over the configuration.
        reported = self._course.owed.items()
        owed |= {team: mean(found[MEMORY]) for team, found in reported if found[MEMORY]}
        wanted = {team: mean(parts or [0.0]) for team, parts in self._course.wanted.items()}
        spans = {
            team: [span_of(client.application(n), client.containers(n), MEMORY) for n in names]
            for team, names in self._course.applications.items()
        }
        setting = self.setting
        return metrics_of(setting.scheduler, spans, memory_mb, wanted, owed, setting.researchers)

    def _remember(self, metrics: RunMetrics) -> archive.Run | None:
        """Keep the measurements for the next time; returns the run of the same work with another
        scheduler."""
        updated = archive.with_run(self._archive, self._prepared.plan, metrics, time.time())
        try:
            archive.write_archive(self._path, updated)
        except OSError as error:
            self.say(f"The numbers are not kept for the next time: {failed_call(error)}")
        return updated.other_run(self.setting.scheduler)
