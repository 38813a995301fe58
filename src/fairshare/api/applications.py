"""The records of applications: tasks, containers, why they wait, and orders to them."""

from typing import Annotated, Final, Generic, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from fairshare.api.fairness import Budget, PastUse
from fairshare.api.showing import shown
from fairshare.api.values import (
    EMPTY,
    MAX_TASKS,
    ActorBody,
    Amounts,
    Diagnostics,
    Held,
    Name,
    Place,
    Priority,
    QueueName,
    Resources,
    Tag,
)
from fairshare.api.work import Dependency
from fairshare.documents.bounds import LATEST_MS

OVER: Final = frozenset({"FINISHED", "FAILED", "KILLED", "REJECTED"})
"""The states that an application never leaves."""

Id = TypeVar("Id")
"""An application's name, or its number within a server."""


class Progress(msgspec.Struct, frozen=True):
    """The numbers of tasks by state; the four parts add up to `total`, which is 0 for a driver
    without tasks."""

    total: int = 0
    succeeded: int = 0
    running: int = 0
    waiting: int = 0
    failed: int = 0


class GroupProgress(msgspec.Struct, frozen=True):
    """One group of tasks; the four parts add up to `count`. An attempt of a task may run for
    `time_limit_ms`; None: without a limit."""

    name: str
    count: int
    succeeded: int = 0
    running: int = 0
    waiting: int = 0
    failed: int = 0
    time_limit_ms: int | None = None


class Task(msgspec.Struct, frozen=True):
    """One task of a group. `container` is that of its last attempt, `outcome` how that one ended in
    words, empty while it has not; fields that are not known (any
    more, or yet) are None."""

    group: str
    index: int
    state: str
    attempts: int = 0
    container: str | None = None
    exit_code: int | None = None
    diagnostics: str = ""
    outcome: str = ""


class Tasks(msgspec.Struct, frozen=True):
    """Tasks of an application, by group and index."""

    tasks: tuple[Task, ...]


class Container(msgspec.Struct, frozen=True):
    """One container, alive or over. `group` and `task` say which task it runs, if it runs one;
    `gpus` are the names of the GPUs assigned to it, `outcome` is how it ended in words: succeeded,
    failed, preempted, stopped, timed out, out of memory; empty while it has not. `gpus_idle_ms` is
    for how long it has not used any of its GPUs, if it does not use them and that is measured."""

    id: str
    node: str = ""
    resources: Amounts = {}
    state: str = ""
    group: str | None = None
    task: int | None = None
    exit_code: int | None = None
    diagnostics: str = ""
    peak_memory_mb: int = 0
    cpu_ms: int = 0
    allocated_ms: int = 0
    finished_ms: int | None = None
    master: bool = False
    gpus: tuple[str, ...] = ()
    outcome: str = ""
    gpus_idle_ms: int | None = None

    @property
    def over(self) -> bool:
        """Whether it has ended."""
        return self.state == "COMPLETE"

    @property
    def failed(self) -> bool:
        """Whether it ended badly by itself or by a limit of its own, not by preemption."""
        return self.exit_code is not None and (self.exit_code > 0 or self.exit_code <= -103)


class Containers(msgspec.Struct, frozen=True):
    """Containers of an application in the order of their allocation."""

    containers: tuple[Container, ...]


class JobSlots(msgspec.Struct, frozen=True):
    """One kind of tasks of a job; all fields but `running` are those of the last update."""

    finished: int = 0
    running: int = 0
    needed: int = 0  # to start
    demand: int = 0  # running and to start
    weight: float = 1.0
    fair_share: float = 0.0
    min_share: int = 0  # its part of its pool's
    deficit: int | None = None  # slot-milliseconds; None: this generation has no deficits


class JobFigures(msgspec.Struct, frozen=True):
    """The fields of an application that only the pool scheduler has.

    `level` (node, rack, any) is that of the last map started; `waited_ms` is how long the job has
    waited since then for a nearer one; `passed_over` is whether the last heartbeat left it waiting.
    """

    priority: str = ""  # VERY_LOW to VERY_HIGH
    initialized: bool = True
    maps: JobSlots = JobSlots()
    reduces: JobSlots = JobSlots()
    level: str = ""
    waited_ms: int = 0
    passed_over: bool = False


class ApplicationFields(msgspec.Struct, Generic[Id, Held], frozen=True, kw_only=True):
    """The fields of an application that schedulers fill. `started_ms` is when its attempt entered
    its queue, `began_ms` when its first container was launched; 0: that is still to come.
    `cause` is what a FAILED one failed by, if a limit ended it: TIMEOUT or OUT_OF_MEMORY."""

    id: Id
    name: str = ""
    user: str = ""
    queue: str = ""
    state: str
    priority: int = 0
    attempt: int = 0
    runnable: bool = True
    submitted_ms: int = 0
    started_ms: int = 0
    began_ms: int = 0
    finished_ms: int | None = None
    containers: int = 0
    used: Held = EMPTY
    reserved: Held = EMPTY
    pending: Held = EMPTY
    demand: Held = EMPTY
    fair_share: Held = EMPTY
    headroom: Held = EMPTY
    to_preempt: int = 0
    preempted: int = 0
    diagnostics: str = ""
    cause: str = ""
    missed: dict[int, int] | None = None  # opportunities passed over, by request priority
    job: JobFigures | None = None


class ApplicationRow(ApplicationFields[str, Amounts], frozen=True, kw_only=True, gc=False):
    """One application as a list shows it; the shares of an ended one are 0.

    `held`, `begin_ms` and `after` are what is left of the conditions for its start; it is killed at
    `expires_ms` if it is not over by then.
    """

    kind: str = "tasks"  # or driver, unmanaged: the kind of its master
    progress: Progress | None = None
    tags: tuple[str, ...] = ()
    held: bool = False
    begin_ms: int | None = None
    after: tuple[str, ...] = ()  # ID:ok, ID:failed, ID:any
    expires_ms: int | None = None


class Notice(msgspec.Struct, frozen=True):
    """A notice about an application: `event` is start, end or failed; `state` is pending, sent or
    failed; `error` says why the last attempt failed."""

    event: str
    target: str
    state: str
    attempts: int = 0
    error: str = ""


class Application(ApplicationRow, frozen=True, kw_only=True):
    """One application with its groups of tasks and its live containers. An application of a list
    has no groups, and the number of its containers; neither has one of a past moment, which has
    `at_ms`. `command` is that of its driver, or of its first group, as a line for a shell;
    `directory` is where it runs, empty for a new folder."""

    containers: tuple[Container, ...] | int = ()  # type: ignore[assignment]
    groups: tuple[GroupProgress, ...] = ()
    command: str = ""
    directory: str = ""
    notices: tuple[Notice, ...] = ()
    at_ms: int | UnsetType = UNSET

    _repr_html_ = shown

    @property
    def over(self) -> bool:
        """Whether it has ended, in whatever way."""
        return self.state in OVER

    @property
    def live_containers(self) -> tuple[Container, ...]:
        """What runs for it now; empty in a list of applications, which only counts them."""
        return () if isinstance(self.containers, int) else self.containers

    @property
    def container_count(self) -> int:
        """How many containers run for it now."""
        return self.containers if isinstance(self.containers, int) else len(self.containers)


class ApplicationsPage(msgspec.Struct, frozen=True):
    """Where rows stand in a list of applications, and sums over all that match. `counts` has those
    of each word of `only`, whatever `only` was; `held` counts those that a limit holds back."""

    at_ms: int | None
    known: int
    counts: dict[str, int]
    matching: int
    held: int
    containers: int
    offset: int


class Applications(msgspec.Struct, frozen=True):
    """Applications, the newest first or as they were asked for; `page` if `offset` was given."""

    applications: tuple[ApplicationRow, ...]
    page: ApplicationsPage | UnsetType = UNSET


class Excess(msgspec.Struct, frozen=True, kw_only=True):
    """A leaf queue that has more than its share, by `amount`."""

    queue: str
    amount: Amounts


class Preemption(msgspec.Struct, frozen=True, kw_only=True):
    """What preemption owes to an application in `queue`, and the `obstacle` that keeps it away.

    `entitlement` says what `share` is: the application's `fair-share`, the queue's
    `guaranteed-capacity` or its `pool-share`; `used` of it is used. `above` has the queues with
    the largest excess, `above_count` how many have one; `percent` and `threshold_percent` are the
    obstacle's numbers; the application counts as starved from `due_ms` on.
    """

    obstacle: str
    entitlement: str
    queue: str
    used: Amounts
    share: Amounts
    above: tuple[Excess, ...] = ()
    above_count: int = 0
    percent: float = 0.0
    threshold_percent: float = 0.0
    due_ms: int = 0


class Reason(msgspec.Struct, frozen=True, kw_only=True):
    """Why something waits: a cause with its numbers, a sentence, and what would end the wait.

    `group` is the group of tasks that waits, None for the whole application or a master's own
    request, which `priority` and `request` identify; `containers` is how many wait for this.
    `ahead` are the first of those served before it, `also` the causes that must be lifted besides.
    With `never` waiting does not help. `drained` is a drained node with room, and `refused` one
    that its master's blacklist has; `selective`: it does not accept every node. `preempting`
    containers of others are to be killed, the first at `kill_at_ms`, otherwise `preemption` says
    what keeps preemption away; `weight` is the user's; at `due_ms` a gang gives up, or
    tries again, or a lifetime ends; what is kept for another application may be had by tasks whose
    time limit ends by `lent_until_ms` (0: by none). `past` and `budget` are those that put it
    behind others, or stop it; `booking` keeps what is free from it.
    """

    cause: str
    group: str | None = None
    priority: int = -1
    request: int = -1
    containers: int = 0
    wanted: Amounts | None = None
    used: Amounts | None = None
    limit: Amounts | None = None
    available: Amounts | None = None
    queue: str = ""
    user: str = ""
    node: str = ""
    label: str = ""
    count: int = 0
    ahead: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    never: bool = False
    drained: str = ""
    refused: str = ""
    selective: bool = False
    preempting: int = 0
    kill_at_ms: int = 0
    weight: float = 1.0
    due_ms: int = 0
    lent_until_ms: int = 0
    preemption: Preemption | None = None
    past: PastUse | None = None
    budget: Budget | None = None
    booking: str = ""
    sentence: str
    remedy: str

    _repr_html_ = shown


class Reasons(msgspec.Struct, frozen=True, kw_only=True):
    """Why an application waits, the most important reason first."""

    id: str = ""
    state: str = ""
    reasons: tuple[Reason, ...]


class Action(msgspec.Struct, frozen=True):
    """A part of a remedy, in words. `command` does it, if there is one; `setting` and `value` are
    what to change in the configuration. The cheapest remedy has the lowest `price`."""

    words: str
    price: int
    command: str = ""
    setting: str = ""
    value: str = ""


class Remedy(msgspec.Struct, frozen=True):
    """Actions that all are needed, and how long after the last one the container was granted in a
    simulation in which they were done in this order, with one reload of all settings."""

    actions: tuple[Action, ...]
    starts_after_ms: int


class Proved(msgspec.Struct, frozen=True):
    """What was found against the most important reason, by simulations of `horizon_ms` from the
    present on: after how long the container is granted if nothing is done (None: not within them),
    and remedies, the cheapest first. `branches` counts the simulations; `complete`: no bound of
    time or number ended the search."""

    cause: str
    horizon_ms: int
    starts_after_ms: int | None
    remedies: tuple[Remedy, ...]
    branches: int
    complete: bool


class Spread(msgspec.Struct, frozen=True):
    """After how long something happens in half of all cases, and in nine of ten (ms); None: later
    than the simulations go (`Eta.horizon_ms`).

    `calibrated`: it is as late as the outcomes of earlier estimates make it. Until there are 50
    of them (`outcomes`: how many there are) it is near what was simulated.
    """

    p50_ms: int | None
    p90_ms: int | None
    outcomes: int = 0
    calibrated: bool = False


class Smaller(msgspec.Struct, frozen=True):
    """With what smaller tasks an application would start now, as the scheduler decided when it was
    tried: in words, and of each group of tasks the resources of each."""

    words: str
    resources: dict[str, dict[str, int]]


class Eta(msgspec.Struct, frozen=True):
    """When an application starts (None: it has, or there is no estimate) and ends, as spans from
    `at_ms` on.

    From `draws` simulations with the run times of `samples` applications that have ended, each of
    which goes as far as `horizon_ms`: seven days, or as far as there was time for; without an
    estimate `reason` says why there is none. Of the estimates of this cluster that had an outcome
    in the last seven days, `met` of `of` were not later than what they said for nine of ten.
    `smaller`: with what smaller tasks it would start now, if it does not with its own. `queue` and
    `priority` are those that it has, or would have.
    """

    at_ms: int
    id: str = ""
    start: Spread | None = None
    end: Spread | None = None
    samples: int = 0
    draws: int = 0
    reason: str = ""
    met: int = 0
    of: int = 0
    smaller: tuple[Smaller, ...] = ()
    horizon_ms: int = 0
    queue: str = ""
    priority: int = 0


class Submitted(msgspec.Struct, frozen=True):
    """An application that was accepted."""

    id: str
    state: str = ""


class Uploaded(msgspec.Struct, frozen=True):
    """A call that was uploaded: its SHA-256 and its size in bytes."""

    digest: str
    size: int


class Launched(msgspec.Struct, frozen=True):
    """A container that is launched."""

    id: str


class ContainerStopping(msgspec.Struct, frozen=True):
    """A container that is being stopped."""

    id: str
    stopping: bool = True


class KillBody(ActorBody, frozen=True, kw_only=True):
    """Why an application is ended; with `task`, `INDEX` or `GROUP/INDEX`, only that task of it."""

    task: Name | None = None
    diagnostics: Diagnostics | None = None


class ResubmitBody(ActorBody, frozen=True, kw_only=True):
    """Whether only the tasks of an ended application that did not succeed are submitted again."""

    failed: bool = False


class HoldBody(ActorBody, frozen=True, kw_only=True):
    """Whether an application is held: it starts nothing more until it is released."""

    held: bool = True


class MoveBody(ActorBody, frozen=True, kw_only=True):
    """The queue to which an application moves."""

    queue: QueueName


class UpdateBody(ActorBody, frozen=True, kw_only=True):
    """What changes of an application that has not ended; what is left out stays.

    `time_limit_ms`, `resources` (of what waits; types that are not named stay) and `at_once` are
    those of its groups of tasks, or of `group`; 0 removes a limit. `after` and `begin_ms` are
    the new conditions for its start, `tags` all of its tags.
    """

    name: Name | None = None
    tags: Annotated[tuple[Tag, ...], msgspec.Meta(max_length=20)] | None = None
    priority: Priority | None = None
    after: Annotated[tuple[Dependency, ...], msgspec.Meta(max_length=1_000)] | None = None
    begin_ms: Annotated[int, msgspec.Meta(ge=0, le=LATEST_MS)] | None = None
    group: Place | None = None
    time_limit_ms: Annotated[int, msgspec.Meta(ge=0, le=2**53)] | None = None
    resources: Resources = EMPTY
    at_once: Annotated[int, msgspec.Meta(ge=0, le=MAX_TASKS)] | None = None


class PriorityBody(ActorBody, frozen=True, kw_only=True):
    """An application's new priority."""

    priority: Priority
