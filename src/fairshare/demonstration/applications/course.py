"""Owns what happens in the course of applications of tasks: a container is killed on purpose."""

from collections.abc import Callable, Mapping, Sequence

from fairshare.client.answers import Queue
from fairshare.client.client import Client
from fairshare.demonstration.applications.casualty import Casualty, Stage
from fairshare.demonstration.course import Course, Found
from fairshare.demonstration.observation import Snapshot
from fairshare.demonstration.teams import PRODUCTION, Arrival, Setting


class ApplicationCourse(Course):
    """One course; a container is killed when `kill_after` of the word count's tasks are done."""

    def __init__(
        self,
        client: Client,
        arrivals: Sequence[Arrival],
        show: Callable[[Snapshot], None],
        setting: Setting,
        kill_after: float,
    ) -> None:
        super().__init__(client, arrivals, show, setting)
        self.casualty = Casualty(client, kill_after)

    def act(self, found: Found, queues: Mapping[str, Queue]) -> bool:
        """Kill a container of the word count, and follow its task to the end."""
        for application in found[PRODUCTION]:
            happened = self.casualty.step(application)
            if happened:
                self.report(happened)
        return self.casualty.stage in (Stage.WAITING, Stage.SUCCEEDED)
