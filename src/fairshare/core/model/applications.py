"""An application and its attempts as data (Hadoop: RMApp, SchedulerApplicationAttempt).

An attempt is one run of an application's master, with what it asks for and has; the application has
its submission, its current attempt, and what outlives attempts. Each scheduler derives its own
class of attempts, whose objects its queues hold and its orders compare.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import msgspec

from fairshare.core.model.asks import AskTable
from fairshare.core.model.events import (
    ApplicationState,
    ContainerAllocated,
    EndCause,
    MasterUnregistered,
)
from fairshare.core.model.identifiers import ApplicationId, ContainerId
from fairshare.core.model.inputs import Changes, SubmitApplication
from fairshare.core.model.nodes import Reservation
from fairshare.core.model.nothing import NOTHING, no_amounts
from fairshare.core.model.resources import Resource, ResourceTypes
from fairshare.core.model.tasks import GROUP_REQUESTS, TaskBoard
from fairshare.core.model.work import ResourceRequest


class Attempt:
    """One attempt of an application; `number` 0 is that of an application that has not started.

    `id`, `user` and `submission` are those of its application. `active`: it is in a queue;
    `runnable`: no limit holds it back. `containers` may include those of earlier attempts if the
    submission keeps them; their identifiers contain that attempt's number. `launched` has the
    instant of each launch in ms, `to_preempt` the containers that are to be preempted, `used` the
    sum of all. `reservations` are its reservations by node. `matters_ended`: what a scheduler adds
    is also read after the end.
    """

    matters_ended: ClassVar[bool] = False

    __slots__ = (
        "active",
        "application",
        "asks",
        "blacklist",
        "containers",
        "id",
        "launched",
        "master",
        "next_container",
        "number",
        "registered",
        "reservations",
        "runnable",
        "started_ms",
        "submission",
        "to_preempt",
        "unregistered",
        "used",
        "user",
    )

    def __init__(self, application: "Application", number: int, types: int) -> None:
        self.application = application
        self.id = application.id
        self.submission = application.submission
        self.user = application.user
        self.number = number
        self.active = False
        self.runnable = False
        self.registered = False
        self.unregistered: MasterUnregistered | None = None
        self.started_ms = 0
        self.asks = AskTable(types)
        self.next_container = 1
        self.containers: dict[ContainerId, ContainerAllocated] = NOTHING
        self.launched: dict[ContainerId, int] = NOTHING
        self.to_preempt: dict[ContainerId, None] = NOTHING
        self.used: Resource = no_amounts(types)
        self.reservations: dict[str, Reservation] = NOTHING  # by node
        self.blacklist: dict[str, None] = NOTHING
        self.master: ContainerId | None = None

    def take_over(self, previous: "Attempt") -> None:
        """Take over the containers that outlive the previous attempt
        (Hadoop: SchedulerApplicationAttempt.transferStateFromPreviousAttempt)."""
        self.containers = previous.containers
        self.launched = previous.launched
        self.to_preempt = previous.to_preempt
        self.used = previous.used

    def continue_numbers(self, first: int) -> None:
        """Number the next containers from `first` on. A reservation has its number already, for
        schedulers that give it one."""
        self.next_container = max(self.next_container, first)

    def ask(self, requests: Sequence[ResourceRequest]) -> None:
        """Replace entries of the table of asks."""
        for request in requests:
            self.asks.replace(request)
            if request.request >= GROUP_REQUESTS:
                groups = self.application.tasks.groups
                groups[request.request - GROUP_REQUESTS].started = True

    def change_blacklist(self, add: Sequence[str], remove: Sequence[str]) -> None:
        """Add hosts and racks to the blacklist, and remove others from it."""
        blacklist = dict.fromkeys((*self.blacklist, *add))
        for place in remove:
            blacklist.pop(place, None)
        self.blacklist = blacklist or NOTHING

    @property
    def managed(self) -> bool:
        """Whether its master runs in a container of the cluster."""
        return self.submission.master is not None

    @property
    def waits_for_master(self) -> bool:
        """Whether its next container is for its master."""
        return self.master is None and self.submission.master is not None and not self.comes_back

    @property
    def comes_back(self) -> bool:
        """Whether the first attempt's master started before a restart of the cluster: it is
        running, and this state has no container for it."""
        return self.submission.recovering and self.number <= 1


class Brief(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """What lists read of every application: of its submission, and the number of its current
    attempt, and whether that one's master has reported its outcome."""

    name: str
    tags: tuple[str, ...]
    type: str
    view_acl: str | None
    application_label: str | None
    master_label: str | None
    attempt: int
    unregistered: bool


class Application:
    """One application.

    `attempt` is the current attempt: the last one that has started, before the first one an
    inactive attempt with the number 0. `first_priority` is the priority as resolved at the
    submission. `preempted` and `containers_allocated` count containers over all attempts.
    `recent_failures_ms` are the instants of failed attempts where failures expire. `packed` is what
    `ended.py` makes of some of the fields, which are then read from it.
    """

    LATER_FIELDS: ClassVar[Mapping[str, object]] = {
        "recent_failures_ms": (),
        "first_launch_ms": None,
        "last_failure": EndCause.NONE,
    }
    """Of snapshots that were made before these fields were added."""

    __slots__ = (
        "attempt",
        "began_ms",
        "containers_allocated",
        "diagnostics",
        "expires_ms",
        "failed_attempts",
        "finished_ms",
        "first_launch_ms",
        "first_priority",
        "groups",
        "id",
        "last_failure",
        "packed",
        "preempted",
        "priority",
        "queue",
        "recent_failures_ms",
        "state",
        "submission",
        "submitted_ms",
        "tasks",
        "user",
    )

    def __init__(
        self,
        number: ApplicationId,
        submission: SubmitApplication,
        queue: str,
        priority: int,
        now_ms: int,
        types: int,
    ) -> None:
        self.id = number
        self.submission = submission
        self.user = submission.user
        self.groups = submission.groups
        self.queue = queue
        self.priority = self.first_priority = priority
        self.state = ApplicationState.PENDING
        self.diagnostics = ""
        self.submitted_ms = now_ms
        self.began_ms = 0  # when its first container was launched, or its requests counted
        self.first_launch_ms: int | None = 0  # None: it is not known
        self.finished_ms: int | None = None
        self.expires_ms: int | None = None  # the end of its lifetime
        self.failed_attempts = 0
        self.recent_failures_ms: tuple[int, ...] = ()
        self.last_failure = EndCause.NONE  # of a task, or of its master
        self.preempted = 0
        self.containers_allocated = 0
        self.tasks = TaskBoard()
        self.attempt = Attempt(self, 0, types)
        self.packed: bytes

    @property
    def started_ms(self) -> int:
        """When its first container was launched, or its master registered that has none; 0: it
        waits."""
        if self.tasks.groups and self.first_launch_ms is not None:
            return self.first_launch_ms
        return self.began_ms

    def failures(self, now_ms: int) -> int:
        """The number of failed attempts that count against the maximum: with a validity interval
        only those that are not older, as in Hadoop (RMAppImpl.getNumFailedAppAttempts)."""
        validity_ms = self.submission.details.failures_validity_ms
        if not validity_ms:
            return self.failed_attempts
        return sum(failed_ms > now_ms - validity_ms for failed_ms in self.recent_failures_ms)

    def fail_attempt(self, now_ms: int) -> None:
        """Count a failed attempt; failures that have expired are forgotten."""
        self.failed_attempts += 1
        validity_ms = self.submission.details.failures_validity_ms
        if validity_ms:
            earlier_ms = [ms for ms in self.recent_failures_ms if ms > now_ms - validity_ms]
            self.recent_failures_ms = (*earlier_ms, now_ms)

    def update(self, changes: Changes, types: ResourceTypes) -> None:
        """Change what is asked for it, and what later attempts begin with."""
        tasks = list(self.submission.tasks)
        for number, spec in self.tasks.changed(changes, types).items():
            self.tasks.groups[number].spec = spec
            if number < len(tasks):  # its master has not added it
                tasks[number] = spec
        self.tasks.derive()
        name, tags = changes.name, changes.tags
        self.submission = self.attempt.submission = msgspec.structs.replace(
            self.submission,
            tasks=tuple(tasks),
            name=self.submission.name if name is None else name,
            tags=self.submission.tags if tags is None else tags,
        )

    def let_go(self) -> None:
        """Delete the attempt, which leads back: else both would wait for Python's collector."""
        del self.attempt

    def shrink_tables(self) -> None:
        """Give back the room that the tables of its containers keep for what was in them."""
        attempt, board = self.attempt, self.tasks
        tables: list[dict[Any, Any]] = [attempt.containers, attempt.launched, board.assigned]
        tables += [progress.running for progress in board.groups]
        for table in tables:
            if not table:
                table.clear()

    @property
    def active(self) -> bool:
        """Whether its attempt is in a queue."""
        return self.attempt.active

    @property
    def containers(self) -> dict[ContainerId, ContainerAllocated]:
        """Its live containers: those of its current attempt, and those that this took over."""
        return self.attempt.containers

    @property
    def used(self) -> Resource:
        """The sum of its live containers."""
        return self.attempt.used

    @property
    def brief(self) -> Brief:
        """For those who look at many applications: it needs no opening of ended ones."""
        submission, attempt = self.submission, self.attempt
        details = submission.details
        return Brief(
            submission.name,
            submission.tags,
            details.type,
            details.view_acl,
            details.application_label,
            details.master_label,
            attempt.number,
            attempt.unregistered is not None,
        )

    @property
    def managed(self) -> bool:
        """Whether the application's master runs in a container of the cluster."""
        return self.submission.master is not None

    @property
    def unmanaged(self) -> bool:
        """Whether its master runs elsewhere: one of YARN's that is not launched here."""
        return self.submission.master is None and not self.submission.tasks

    @property
    def over(self) -> bool:
        """Whether the application has ended, in any final state."""
        return self.finished_ms is not None

    @property
    def cause(self) -> EndCause:
        """What an application that has failed failed by, where a limit of its own ended it: that
        of the container that failed last."""
        return self.last_failure if self.state == ApplicationState.FAILED else EndCause.NONE

    @property
    def shown_state(self) -> ApplicationState:
        """The state that users see: an application held back by a limit is pending, even if its
        master runs."""
        if self.state == ApplicationState.RUNNING and not self.attempt.runnable:
            return ApplicationState.PENDING
        return self.state
