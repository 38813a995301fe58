"""Owns the tasks of a scenario's jobs by name: `m0`, `r3`; which run, and which must run again.

Acts for the jobs' masters. Decides nothing about slots.
"""

from typing import Final

from fairshare.errors import InputError
from fairshare.model.events import ContainerAllocated, ContainerCompleted, Event, ExitCode
from fairshare.model.identifiers import ApplicationId, ContainerId, application_of
from fairshare.model.resources import Resource
from fairshare.model.work import ContainerRequest
from fairshare.scenarios.steps import JobTasks

_LETTERS: Final = "mr"
_FIRST_REDUCE: Final = 1 << 19
"""The request id of the first reduce; those of the maps are their numbers."""


def task_name(request: int) -> str:
    """`task_name(0) == "m0"`; reduces have names of their own."""
    kind, number = divmod(request, _FIRST_REDUCE)
    return f"{_LETTERS[kind]}{number}"


class Tasks:
    """All tasks of all jobs. `granted` and `killed` collect since they were last taken."""

    def __init__(self, slots: tuple[Resource, Resource]) -> None:
        self._slots = slots
        self._requests: dict[ApplicationId, dict[int, ContainerRequest]] = {}
        self._running: dict[ApplicationId, dict[str, ContainerId]] = {}
        self._by_container: dict[ContainerId, int] = {}
        self._again: dict[ApplicationId, list[int]] = {}
        self.granted: list[tuple[ApplicationId, str, str]] = []
        self.killed: list[tuple[ApplicationId, str]] = []

    def requests(self, tasks: tuple[JobTasks, ...]) -> tuple[ContainerRequest, ...]:
        """One request for each task, numbered by kind through all entries."""
        counts, found = [0, 0], []
        for entry in tasks:
            for _ in range(entry.count):
                number = entry.kind * _FIRST_REDUCE + counts[entry.kind]
                counts[entry.kind] += 1
                size = self._slots[entry.kind]
                found.append(ContainerRequest(1, size, hosts=entry.hosts, request=number))
        return tuple(found)

    def submitted(self, job: ApplicationId, requests: tuple[ContainerRequest, ...]) -> None:
        """Remember what a job consists of."""
        self._requests[job] = {request.request: request for request in requests}
        self._running[job] = {}

    def hear(self, events: tuple[Event, ...]) -> None:
        """Follow what starts and ends."""
        for event in events:
            if isinstance(event, ContainerAllocated):
                name = task_name(event.request)
                self._running[event.application][name] = event.container
                self._by_container[event.container] = event.request
                self.granted.append((event.application, name, event.node))
            elif isinstance(event, ContainerCompleted):
                job, request = application_of(event.container), self._by_container[event.container]
                del self._running[job][task_name(request)]
                if event.exit_code != 0:
                    self._again.setdefault(job, []).append(request)
                if event.exit_code == ExitCode.PREEMPTED:
                    self.killed.append((job, task_name(request)))

    def containers(
        self, job: ApplicationId, names: tuple[str, ...] | None
    ) -> list[tuple[str, ContainerId]]:
        """The containers of running tasks; raises InputError for one that does not run."""
        running = self._running[job]
        for name in names or ():
            if name not in running:
                known = ", ".join(running) or "none"
                raise InputError("unknown-task", f"the task {name} does not run (running: {known})")
        return [(name, running[name]) for name in (tuple(running) if names is None else names)]

    def to_repeat(self) -> list[tuple[ApplicationId, tuple[ContainerRequest, ...]]]:
        """Tasks that were killed since the last call, by job."""
        again, self._again = self._again, {}
        return [
            (job, tuple(self._requests[job][number] for number in sorted(numbers)))
            for job, numbers in sorted(again.items())
        ]
