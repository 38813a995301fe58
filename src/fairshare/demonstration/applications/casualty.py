"""Owns the container that is killed on purpose, and the proof that its task runs again.

    waiting ──(enough is done)──> stopped ──(another container)──> again ──> succeeded

A container may end by itself just before the order to end it arrives; then another one is chosen.
"""

import enum

from fairshare.client.answers import Application, Container, Task
from fairshare.client.client import Client
from fairshare.client.errors import Refused
from fairshare.demonstration.verification import RUNNING, SUCCEEDED


class Stage(enum.Enum):
    """What has happened to the container and its task."""

    WAITING = enum.auto()
    STOPPED = enum.auto()
    AGAIN = enum.auto()
    SUCCEEDED = enum.auto()


class Casualty:
    """One container that is killed as soon as `after` of its application's tasks have succeeded."""

    def __init__(self, client: Client, after: float) -> None:
        self._client = client
        self._after = after
        self.stage = Stage.WAITING
        self.container: Container | None = None
        self.successor: str | None = None  # the container in which the task ran again

    def step(self, application: Application) -> str | None:
        """Do what is due; returns the event, if there was one."""
        if self.stage is Stage.WAITING:
            progress = application.progress
            due = progress is not None and progress.succeeded >= self._after * progress.total
            return self._kill(application) if due else None
        if self.stage is Stage.SUCCEEDED:
            return None
        return self._follow(application)

    @property
    def task_name(self) -> str:
        """What it ran: `range 17`."""
        return "" if self.container is None else f"{self.container.group} {self.container.task}"

    def _kill(self, application: Application) -> str | None:
        running = [c for c in application.live_containers if c.state == RUNNING]
        if not running:
            return None
        # The youngest container will hardly end before the order arrives.
        chosen = max(running, key=lambda container: (container.allocated_ms or 0, container.id))
        try:
            self._client.stop_container(chosen.id)
        except Refused:
            return None  # it has ended: another one next time
        self.stage, self.container = Stage.STOPPED, chosen
        return f"killed on purpose: a container of {application.user} ({self.task_name})"

    def _follow(self, application: Application) -> str | None:
        task = self._task(application)
        killed = self.container
        if task is None or killed is None:
            return None
        if task.container == killed.id:
            if task.state == SUCCEEDED:
                name = self.task_name
                self.stage, self.container = Stage.WAITING, None
                return f"{name} was done before the order came; so another one is killed"
            return None
        if task.state == SUCCEEDED:
            self.stage, self.successor = Stage.SUCCEEDED, task.container
            return f"{self.task_name} has run again, and succeeded"
        if task.state == RUNNING and self.stage is Stage.STOPPED:
            self.stage, self.successor = Stage.AGAIN, task.container
            return f"{self.task_name} runs again in another container"
        return None

    def _task(self, application: Application) -> Task | None:
        assert self.container is not None
        wanted = (self.container.group, self.container.task)
        for task in self._client.tasks(application.id):
            if (task.group, task.index) == wanted:
                return task
        return None
