"""Owns what the course of MapReduce jobs looks at and reports beyond that of any demonstration."""

from collections.abc import Mapping, Sequence

from fairshare.client.answers import Application, Queue
from fairshare.demonstration.course import Course, Found
from fairshare.demonstration.observation import detail_of
from fairshare.demonstration.teams import ADHOC, PRODUCTION, REDUCE_SLOTS


class JobCourse(Course):
    """One course of jobs in pools."""

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
