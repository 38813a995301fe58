"""Owns an application as data: its submission, its current attempt, its containers.

A scheduler derives its own application and adds what it needs to order it.
"""

from collections.abc import Sequence

from fairshare.model.asks import AskTable
from fairshare.model.events import ApplicationState, ContainerAllocated, MasterUnregistered
from fairshare.model.identifiers import ApplicationId, ContainerId
from fairshare.model.inputs import SubmitApplication
from fairshare.model.nodes import Reservation
from fairshare.model.resources import Resource
from fairshare.model.tasks import GROUP_REQUESTS, TaskBoard
from fairshare.model.work import ResourceRequest

NO_PLACES: dict[str, None] = {}
"""The blacklist of whoever refuses nothing: one object for all, replaced and never changed, since
looking into a dictionary of its own for each application costs more than anything beside it."""


class Application:
    """One application. What `begin_attempt` sets belongs to the current attempt.

    `containers` may hold some of an earlier attempt, if the submission wants them kept; their
    identifiers carry that attempt's number. `active` says that the attempt is in its queue;
    `runnable` that no limit holds it back. `used` is the sum of its live containers;
    `reservations` has what is reserved for it, by node.
    """

    __slots__ = (
        "active",
        "asks",
        "attempt",
        "blacklist",
        "containers",
        "containers_allocated",
        "diagnostics",
        "expires_ms",
        "failed_attempts",
        "finished_ms",
        "groups",
        "id",
        "launched",
        "master",
        "next_container",
        "preempted",
        "priority",
        "queue",
        "registered",
        "reservations",
        "runnable",
        "started_ms",
        "state",
        "submission",
        "submitted_ms",
        "tasks",
        "unregistered",
        "used",
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
        self.priority = priority
        self.state = ApplicationState.PENDING
        self.diagnostics = ""
        self.submitted_ms = now_ms
        self.finished_ms: int | None = None
        self.expires_ms: int | None = None  # when it is killed if it is not over by then
        self.failed_attempts = 0
        self.preempted = 0  # containers, over all attempts
        self.containers_allocated = 0  # over all attempts
        self.tasks = TaskBoard()
        self.containers: dict[ContainerId, ContainerAllocated] = {}
        self.launched: dict[ContainerId, int] = {}  # and when (ms)
        self.used: Resource = (0,) * types
        self.attempt = 0
        self.begin_attempt(types)

    def begin_attempt(self, types: int) -> None:
        """Forget what belonged to the attempt before, except containers that outlive it."""
        self.active = False
        self.runnable = False
        self.registered = False
        self.unregistered: MasterUnregistered | None = None
        self.started_ms = 0
        self.asks = AskTable(types)
        self.next_container = 1
        if not self.containers:
            self.used = (0,) * types
        self.reservations: dict[str, Reservation] = {}  # by node
        self.blacklist = NO_PLACES
        self.master: ContainerId | None = None

    def ask(self, requests: Sequence[ResourceRequest]) -> None:
        """Replace entries of its table of asks."""
        for request in requests:
            self.asks.replace(request)
            if request.request >= GROUP_REQUESTS:
                self.tasks.groups[request.request - GROUP_REQUESTS].started = True

    def change_blacklist(self, add: Sequence[str], remove: Sequence[str]) -> None:
        """Refuse places, or no longer refuse them."""
        blacklist = dict.fromkeys((*self.blacklist, *add))
        for place in remove:
            blacklist.pop(place, None)
        self.blacklist = blacklist or NO_PLACES

    @property
    def managed(self) -> bool:
        """Whether its master runs in a container of its own."""
        return self.submission.master is not None

    @property
    def waits_for_master(self) -> bool:
        """Whether its next container is its master's."""
        return self.master is None and self.managed and not self.comes_back

    @property
    def over(self) -> bool:
        """Whether it has ended, in whatever way."""
        return self.finished_ms is not None

    @property
    def comes_back(self) -> bool:
        """Whether its first attempt was there before a restart: its master runs, unseen."""
        return self.submission.recovering and self.attempt <= 1

    @property
    def shown_state(self) -> ApplicationState:
        """Its state as users see it: what a limit holds back is pending, whatever its master is."""
        if self.state == ApplicationState.RUNNING and not self.runnable:
            return ApplicationState.PENDING
        return self.state
