"""The number of unfinished applications of each user, recorded or being submitted, and the number
of bytes that the user has submitted: commands, environments, callables and names of the user's
applications, as long as these are known, live or finished; and the launches of the user's masters,
as long as the containers live. Derived from events; knows no limit.
"""

import contextlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator

from fairshare.core.model.applications import Application
from fairshare.core.model.events import (
    ApplicationEnded,
    ApplicationRejected,
    ApplicationsForgotten,
    ApplicationSubmitted,
    ContainerAllocated,
    ContainerCompleted,
    ContainerLaunched,
    TasksAdded,
)
from fairshare.core.model.identifiers import ApplicationId, ContainerId, application_of
from fairshare.core.model.inputs import SubmitApplication
from fairshare.core.model.work import Command, TaskGroup
from fairshare.core.record import Record
from fairshare.runtime.observers import Observers

OF_AN_APPLICATION = 1_000
OF_A_GROUP = 200
OF_A_TASK = 40
OF_A_WORD = 8
"""The approximate cost of each object besides its characters."""


class SubmittedBytes:
    """The submissions to one server; begins with the recovered applications. The earlier launches
    of their masters are no longer known, and do not count."""

    def __init__(self, applications: Iterable[Application] = ()) -> None:
        self._users: dict[ApplicationId, str] = {}
        self._all: Counter[str] = Counter()
        self._masters: set[ContainerId] = set()  # not launched yet: a driver is in its submission
        self._launches: dict[ContainerId, int] = {}
        # By user, with their sizes: those that are not over, and the others in the order of their
        # ends.
        self._unfinished: dict[str, dict[ApplicationId, int]] = {}
        self._over: dict[str, dict[ApplicationId, int]] = {}
        for application in sorted(applications, key=lambda one: one.finished_ms or 0):
            self._add(application.id, application.user, size_of(application.submission))
            board = application.tasks.groups[len(application.submission.tasks) :]
            self._add(application.id, application.user, sum(size_of_group(p.spec) for p in board))
            if application.over:
                self._end(application.id)

    def subscribe(self, observers: Observers) -> None:
        """Follow the records."""
        observers.events(self._allocated, ContainerAllocated)
        observers.events(self._launched, ContainerLaunched)
        observers.events(self._completed, ContainerCompleted)
        observers.events(self._submitted, ApplicationSubmitted)
        observers.events(self._rejected, ApplicationRejected)
        observers.events(self._tasks_added, TasksAdded)
        observers.events(self._ended, ApplicationEnded)
        observers.events(self._forgotten, ApplicationsForgotten)

    def _allocated(self, record: Record, event: ContainerAllocated) -> None:
        if event.master:
            self._masters.add(event.container)

    def _completed(self, record: Record, event: ContainerCompleted) -> None:
        self._masters.discard(event.container)
        self._count(event.container, -self._launches.pop(event.container, 0))

    def _submitted(self, record: Record, event: ApplicationSubmitted | ApplicationRejected) -> None:
        self._add(event.application, event.submission.user, size_of(event.submission))

    def _rejected(self, record: Record, event: ApplicationRejected) -> None:
        self._submitted(record, event)
        self._end(event.application)

    def _tasks_added(self, record: Record, event: TasksAdded) -> None:
        user = self._users.get(event.application)
        if user is not None:
            self._add(event.application, user, sum(map(size_of_group, event.tasks)))

    def _ended(self, record: Record, event: ApplicationEnded) -> None:
        self._end(event.application)

    def _forgotten(self, record: Record, event: ApplicationsForgotten) -> None:
        for number in event.applications:
            user = self._users.pop(number, None)
            if user is not None:
                over = number in self._over.get(user, {})
                self._take(user, _taken(self._over if over else self._unfinished, user, number))

    def size(self, user: str) -> int:
        """The bytes of all that a user has submitted, pending submissions included."""
        return self._all[user]

    def user_of(self, number: ApplicationId) -> str | None:
        """The user of a known application."""
        return self._users.get(number)

    def unfinished(self, user: str) -> Collection[ApplicationId]:
        """The recorded applications of a user that have not ended."""
        return self._unfinished.get(user, {}).keys()

    def oldest_over(self, user: str, size: int) -> tuple[ApplicationId, ...]:
        """Finished applications of a user, in the order of their ends: as many as free `size`
        bytes, or all."""
        applications: list[ApplicationId] = []
        for number, freed in self._over.get(user, {}).items():
            if size <= 0:
                break
            applications.append(number)
            size -= freed
        return tuple(applications)

    @contextlib.contextmanager
    def on_its_way(self, user: str, size: int) -> Iterator[None]:
        """Count a submission from its request on, so that concurrent ones count, too."""
        self._all[user] += size
        try:
            yield
        finally:
            self._take(user, size)

    def _add(self, number: ApplicationId, user: str, size: int) -> None:
        self._users[number] = user
        over = self._over.get(user)
        if over is None or number not in over:
            sizes = self._unfinished.setdefault(user, {})
        else:
            sizes = over
        sizes[number] = sizes.get(number, 0) + size
        self._take(user, -size)

    def _count(self, container: ContainerId, size: int) -> None:
        number = application_of(container)
        user = self._users.get(number)
        if size and user is not None:
            self._add(number, user, size)

    def _launched(self, record: Record, event: ContainerLaunched) -> None:
        if event.container in self._masters:
            self._masters.remove(event.container)
        elif event.command is not None:
            size = self._launches[event.container] = size_of_command(event.command)
            self._count(event.container, size)

    def _end(self, number: ApplicationId) -> None:
        user = self._users.get(number)
        if user is not None:
            size = _taken(self._unfinished, user, number)
            self._over.setdefault(user, {})[number] = size

    def _take(self, user: str, size: int) -> None:
        self._all[user] -= size
        if not self._all[user]:
            del self._all[user]


def _taken(users: dict[str, dict[ApplicationId, int]], user: str, number: ApplicationId) -> int:
    """The size of an application, which leaves its user's table."""
    size = users[user].pop(number)
    if not users[user]:
        del users[user]
    return size


def size_of(submission: SubmitApplication) -> int:
    """The approximate bytes of a submission."""
    size = OF_AN_APPLICATION + len(submission.name) + len(submission.queue)
    size += _words(submission.tags) + _words(submission.groups)
    if submission.driver is not None:
        size += size_of_command(submission.driver)
    details = submission.details
    size += len(details.view_acl or "") + len(details.modify_acl or "")
    size += len(details.application_label or "") + len(details.master_label or "")
    return size + sum(map(size_of_group, submission.tasks))


def size_of_group(group: TaskGroup) -> int:
    """The approximate bytes of a task group, with a cost for each of its tasks."""
    words = _words(group.hosts) + _words(group.racks) + _words(group.after)
    size = OF_A_GROUP + group.count * OF_A_TASK + len(group.name)
    if group.array is not None:
        size += _words(group.array.lines) + len(group.array.indexes) * OF_A_TASK
    return size + words + size_of_command(group.command)


def size_of_command(command: Command) -> int:
    """The approximate bytes of a container's command."""
    environment = sum(
        len(name) + len(value) + 2 * OF_A_WORD for name, value in command.environment.items()
    )
    payload = sum(one.size for one in command.payloads)
    payload += sum(map(len, filter(None, (command.output, command.error, command.input))))
    files = len(command.callable) + len(command.private) + payload
    return _words(command.arguments) + environment + files


def _words(words: Iterable[str]) -> int:
    return sum(len(word) + OF_A_WORD for word in words)


class ActiveCounts:
    """The census of one server; begins with the recovered applications."""

    def __init__(self, applications: Iterable[Application] = ()) -> None:
        self._counts: Counter[str] = Counter()
        known = list(applications)
        self.submitted_bytes = SubmittedBytes(known)
        for application in known:
            if not application.over:
                self._counts[application.user] += 1

    def subscribe(self, observers: Observers) -> None:
        """Follow the records."""
        self.submitted_bytes.subscribe(observers)
        observers.events(self._submitted, ApplicationSubmitted)
        observers.events(self._ended, ApplicationEnded)

    def _submitted(self, record: Record, event: ApplicationSubmitted) -> None:
        self._counts[event.submission.user] += 1

    def _ended(self, record: Record, event: ApplicationEnded) -> None:
        user = self.submitted_bytes.user_of(event.application)
        if user is not None:
            self._leave(user)

    def count(self, user: str) -> int:
        """The number of a user's unfinished applications."""
        return self._counts[user]

    @contextlib.contextmanager
    def on_its_way(self, user: str) -> Iterator[None]:
        """Count a submission from its request on, so that concurrent ones count, too."""
        self._counts[user] += 1
        try:
            yield
        finally:
            self._leave(user)

    def _leave(self, user: str) -> None:
        self._counts[user] -= 1
        if not self._counts[user]:
            del self._counts[user]
