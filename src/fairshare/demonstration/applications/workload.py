"""Owns the workload of applications of tasks, from their preparation to the report."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from rich.console import RenderableType

from fairshare.client.client import Client
from fairshare.demonstration.applications import archive
from fairshare.demonstration.applications.course import ApplicationCourse
from fairshare.demonstration.applications.preparation import prepare
from fairshare.demonstration.applications.results import Outcome, outcome_of
from fairshare.demonstration.applications.submissions import arrivals
from fairshare.demonstration.applications.summary import summary
from fairshare.demonstration.observation import Snapshot
from fairshare.demonstration.teams import Pace, Setting
from fairshare.demonstration.verification import Check
from fairshare.demonstration.workload import Workload
from fairshare.wording import failed_call


class Applications(Workload):
    """Primes, a word count and queries."""

    def __init__(self, setting: Setting, pace: Pace, say: Callable[[str], None]) -> None:
        super().__init__(setting, pace, say)
        self._path = archive.archive_path()
        self._archive = archive.read_archive(self._path)

    def prepare(self, folder: Path) -> None:
        """Size the work for this machine, or repeat that of another scheduler."""
        repeated = None
        if self._archive is not None:
            scheduler = self.setting.scheduler
            repeated = self._archive.plan_to_repeat(scheduler, self.pace, time.time())
        self._prepared = prepare(self.pace, repeated, folder, self.say)
        self._folder = folder

    def plan(self, client: Client) -> None:
        """What arrives follows from the preparation."""
        self._arrivals = arrivals(self._prepared.plan, self._folder, self.setting)

    def course(self, client: Client, show: Callable[[Snapshot], None]) -> ApplicationCourse:
        """A course in which a container is killed on purpose."""
        self._course = ApplicationCourse(
            client, self._arrivals, show, self.setting, self.pace.kill_after
        )
        return self._course

    def verify(self, client: Client) -> Sequence[Check]:
        """Measure and check the results."""
        self._outcome = outcome_of(
            client,
            self.setting,
            self.configuration,
            self._course,
            self._arrivals,
            self._prepared,
            self._folder / "exchange",
        )
        return self._outcome.checks

    def report(self, checks: Sequence[Check], *, ascii_only: bool) -> RenderableType:
        """The report, with a comparison if another scheduler has done the same work."""
        found = self._outcome
        other = self._remember(found)
        plan, places = self._prepared.plan, found.places
        return summary(
            found.figures, checks, plan, places, other, found.frequent, ascii_only=ascii_only
        )

    def _remember(self, outcome: Outcome) -> archive.Run | None:
        """Keep the measurements for the next time; returns the other scheduler's run of the same
        work. A run with a crash is not comparable."""
        if self._course.crashes or not all(check.passed for check in outcome.checks):
            return None
        updated = archive.with_run(self._archive, self._prepared.plan, outcome.figures, time.time())
        try:
            archive.write_archive(self._path, updated)
        except OSError as error:
            self.say(f"The figures are not kept for the next time: {failed_call(error)}")
        return updated.other_run(self.setting.scheduler)
