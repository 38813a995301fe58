"""Owns an application as data: its submission, its current attempt, and what outlives attempts
(Hadoop: RMApp)."""

from fairshare.core.model.attempts import Attempt
from fairshare.core.model.events import ApplicationState, ContainerAllocated
from fairshare.core.model.identifiers import ApplicationId, ContainerId
from fairshare.core.model.inputs import SubmitApplication
from fairshare.core.model.resources import Resource
from fairshare.core.model.tasks import TaskBoard


class Application:
    """One application.

    `attempt` is the current attempt: the last one that has started, before the first one an
    inactive attempt with the number 0. `first_priority` is the priority as resolved at the
    submission. `preempted` and `containers_allocated` count containers over all attempts.
    """

    __slots__ = (
        "attempt",
        "began_ms",
        "containers_allocated",
        "diagnostics",
        "expires_ms",
        "failed_attempts",
        "finished_ms",
        "first_priority",
        "groups",
        "id",
        "preempted",
        "priority",
        "queue",
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
        self.began_ms = 0  # when its first container was launched; 0: none was
        self.finished_ms: int | None = None
        self.expires_ms: int | None = None  # the end of its lifetime
        self.failed_attempts = 0
        self.preempted = 0
        self.containers_allocated = 0
        self.tasks = TaskBoard()
        self.attempt = Attempt(self, 0, types)

    @property
    def containers(self) -> dict[ContainerId, ContainerAllocated]:
        """Its live containers: those of its current attempt, and those that this took over."""
        return self.attempt.containers

    @property
    def used(self) -> Resource:
        """The sum of its live containers."""
        return self.attempt.used

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
    def shown_state(self) -> ApplicationState:
        """The state that users see: an application held back by a limit is pending, even if its
        master runs."""
        if self.state == ApplicationState.RUNNING and not self.attempt.runnable:
            return ApplicationState.PENDING
        return self.state
