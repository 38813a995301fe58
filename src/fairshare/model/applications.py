"""Owns an application as data: its submission, its current attempt, its containers.

Each scheduler derives its own class and adds the state by which it orders applications.
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
"""The empty blacklist: one object for all applications, replaced and never mutated, since lookups
in a separate dictionary per application would dominate the cost of placing a container."""


class Application:
    """One application. The attributes that `begin_attempt` sets belong to the current attempt.

    `containers` may include containers of an earlier attempt if the submission keeps them; their
    identifiers contain that attempt's number. `active`: the attempt is in its queue; `runnable`:
    no limit holds it back. `used` is the sum of its live containers; `reservations` are its
    reservations by node.
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
        self.expires_ms: int | None = None  # the end of its lifetime
        self.failed_attempts = 0
        self.preempted = 0  # containers, over all attempts
        self.containers_allocated = 0  # over all attempts
        self.tasks = TaskBoard()
        self.containers: dict[ContainerId, ContainerAllocated] = {}
        self.launched: dict[ContainerId, int] = {}  # the instant of each launch, in ms
        self.used: Resource = (0,) * types
        self.attempt = 0
        self.begin_attempt(types)

    def begin_attempt(self, types: int) -> None:
        """Reset the state of the previous attempt, except containers that outlive it."""
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
        """Replace entries of the table of asks."""
        for request in requests:
            self.asks.replace(request)
            if request.request >= GROUP_REQUESTS:
                self.tasks.groups[request.request - GROUP_REQUESTS].started = True

    def change_blacklist(self, add: Sequence[str], remove: Sequence[str]) -> None:
        """Add hosts and racks to the blacklist, and remove others from it."""
        blacklist = dict.fromkeys((*self.blacklist, *add))
        for place in remove:
            blacklist.pop(place, None)
        self.blacklist = blacklist or NO_PLACES

    @property
    def managed(self) -> bool:
        """Whether the application's master runs in a container of the cluster."""
        return self.submission.master is not None

    @property
    def waits_for_master(self) -> bool:
        """Whether the application's next container is for its master."""
        return self.master is None and self.managed and not self.comes_back

    @property
    def over(self) -> bool:
        """Whether the application has ended, in any final state."""
        return self.finished_ms is not None

    @property
    def comes_back(self) -> bool:
        """Whether the first attempt's master started before a restart of the cluster: it is
        running, and this state has no container for it."""
        return self.submission.recovering and self.attempt <= 1

    @property
    def shown_state(self) -> ApplicationState:
        """The state that users see: an application held back by a limit is pending, even if its
        master runs."""
        if self.state == ApplicationState.RUNNING and not self.runnable:
            return ApplicationState.PENDING
        return self.state
