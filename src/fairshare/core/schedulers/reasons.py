"""The reasons for which an application, or one of its asks, waits: causes with numbers.

A scheduler contributes the limits that only it knows (`Limits`); what nodes offer (`offers.py`) is
the same for all schedulers. Nothing is stored: each query walks once over what a heartbeat would
examine. `insight` turns the reasons into sentences.
"""

import enum
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from fairshare.api.fairness import Budget, PastUse
from fairshare.core.model.applications import Application
from fairshare.core.model.asks import AskKey
from fairshare.core.model.identifiers import ApplicationId
from fairshare.core.model.nodes import Drain, Node
from fairshare.core.model.resources import Resource, fits, positive
from fairshare.core.model.tasks import GROUP_REQUESTS
from fairshare.core.schedulers import past
from fairshare.core.schedulers.backfill import due_ms
from fairshare.core.schedulers.bookings import refusal, used_by
from fairshare.core.schedulers.entitlement import Preemption
from fairshare.core.schedulers.offers import Offers, Survey

if TYPE_CHECKING:
    from fairshare.core.schedulers.protocol import State


class Lasts(enum.Enum):
    """How long a cause lasts, if nothing but time passes."""

    PASSING = enum.auto()
    """Coming heartbeats, or what the cause names, end it."""
    OBSTACLE = enum.auto()
    """Others must release resources, or an administrator must act. Where a limit and an obstacle
    keep the same containers waiting, both are reported: removing one does not help."""
    PERMANENT = enum.auto()
    """It lasts as long as the cluster, the configuration and the request are the same. Reported
    together with limits, too."""


class Cause(enum.StrEnum):
    """Why something waits, the most important first, with how long that may last. The first causes
    concern an application, the others one ask."""

    lasts: Lasts

    def __new__(cls, value: str, lasts: Lasts) -> "Cause":
        """`Cause("held")` finds a cause by its value alone."""
        cause = str.__new__(cls, value)
        cause._value_ = value
        cause.lasts = lasts
        return cause

    # no attempt: no queue can have the name that it asks for
    NOT_STARTED = "not-started", Lasts.PERMANENT
    # `queue` has left the configuration, or became a parent
    QUEUE_GONE = "queue-is-gone", Lasts.PERMANENT
    # `queue` may run `count` at once
    QUEUE_APPLICATIONS = "queue-running-applications", Lasts.PASSING
    # `user` may run `count` at once
    USER_APPLICATIONS = "user-running-applications", Lasts.PASSING
    # fewer run than `queue` and `user` may, and nothing has looked at it since
    PASSED_OVER = "passed-over", Lasts.PASSING
    # masters in `queue` use `used` of `limit`
    QUEUE_MASTERS = "queue-masters", Lasts.PASSING
    # masters of `user` in `queue` use `used` of `limit`
    USER_MASTERS = "user-masters", Lasts.PASSING
    # its master runs and has not registered
    MASTER_SILENT = "master-silent", Lasts.PASSING

    # until a user releases it
    HELD = "held", Lasts.PASSING
    # it waits for the ends of `count`: `ahead`
    APPLICATIONS_AHEAD = "applications-ahead", Lasts.PASSING
    # at `due_ms`
    BEGINS_LATER = "begins-later", Lasts.PASSING

    # an administrator has suspended all grants
    SAFE_MODE = "safe-mode", Lasts.PASSING
    # the server has no room to launch anything
    DISK_FULL = "disk-full", Lasts.PASSING
    NO_DATABASE = "no-database", Lasts.PASSING
    # none of the `count` nodes, such as `node`, could start containers; one is tried at `due_ms`
    NODES_FAILING = "nodes-failing", Lasts.PASSING

    # all `count` nodes that it could use are drained, as is `node`
    NODES_DRAINED = "nodes-drained", Lasts.OBSTACLE
    # this partition has no nodes; with `queue` it is the one where its master would start
    NO_NODES = "no-nodes", Lasts.PERMANENT
    # of the nodes that it accepts, `node` comes nearest, with `available`
    TOO_LARGE = "larger-than-every-node", Lasts.PERMANENT
    # of its `containers`, `count` fit at the same time, or the limits `also` admit them
    GANG_TOO_LARGE = "gang-larger-than-cluster", Lasts.PERMANENT
    # it names hosts or racks, and none of them exists
    PLACE_UNKNOWN = "no-such-place", Lasts.PERMANENT
    # the application's blacklist has each node that could serve
    BLACKLISTED = "all-nodes-refused", Lasts.PERMANENT
    # `queue` may not use partition `label`
    NO_CAPACITY = "no-capacity-on-partition", Lasts.OBSTACLE
    # `queue` uses `used` of its maximum `limit`
    QUEUE_MAXIMUM = "queue-maximum", Lasts.OBSTACLE
    # `booking` keeps `limit` for `queue`, or `user` there, which uses `used`, until `due_ms`;
    # `available` is free. Before it begins tasks have that which end by `lent_until_ms`, its start
    BOOKED = "booked", Lasts.OBSTACLE
    # `user` has `used` of `limit` in `queue`; `count`: others lower it
    USER_LIMIT = "user-limit", Lasts.OBSTACLE
    # reduces wait until enough maps have finished
    SLOW_START = "slow-start", Lasts.PASSING
    # the job runs `count` tasks of this kind, its maximum
    JOB_TASKS = "job-tasks", Lasts.PASSING
    # pool `queue` does
    POOL_TASKS = "pool-tasks", Lasts.PASSING
    # `node` is reserved for it until enough becomes free
    RESERVED_HERE = "node-reserved-for-it", Lasts.PASSING
    # `node` keeps `limit` free for it since `due_ms`, which `queue` is entitled to
    KEPT_FOR_IT = "room-kept-for-it", Lasts.PASSING
    # `node` has room, and keeps `limit` free for the first of `ahead` since `due_ms`; tasks that
    # end by `lent_until_ms` have it until then
    KEPT_FOR_ANOTHER = "room-kept-for-another", Lasts.OBSTACLE
    # `count` with room, for `ahead`; the only one of the cluster is `node`
    RESERVED_FOR_OTHERS = "nodes-reserved-for-others", Lasts.OBSTACLE
    # `node` comes nearest, with `available` free
    NO_ROOM = "no-room", Lasts.OBSTACLE
    # it was passed over `count` times
    NEARER_NODE = "waits-for-a-nearer-node", Lasts.PASSING
    # its own request for containers of `limit` is
    OWN_FIRST = "own-request-first", Lasts.PASSING
    # `count` applications or queues are served before it
    OTHERS_FIRST = "others-first", Lasts.PASSING
    # no obstacle
    NEXT_OFFER = "next-heartbeat", Lasts.PASSING

    # `budget`, of its queue or user, has no hours left of what it asks for
    BUDGET = "budget-used-up", Lasts.OBSTACLE

    # it holds `count`, lacks `containers`; gives up at `due_ms`
    GANG_HOLDS = "gang-incomplete", Lasts.PASSING
    # it gave up, and requests all `containers` again at `due_ms`
    GANG_PAUSED = "gang-paused", Lasts.PASSING

    # `containers` tasks failed at once, and are tried again from `due_ms` on
    TASKS_PAUSED = "tasks-paused", Lasts.PASSING
    # the group runs or asks for `count`, as many as it may
    TASKS_AT_ONCE = "tasks-at-once", Lasts.PASSING
    # a group of tasks waits for others of its application; last, since what the earlier groups
    # wait for is what the application waits for
    GROUPS_AHEAD = "groups-ahead", Lasts.PASSING
    # its lifetime ends at `due_ms`, and what waits then never starts
    LIFETIME = "lifetime-ends", Lasts.PASSING


class Reason(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One reason. Amounts are vectors; fields that do not apply to the cause have their defaults.

    `group` is the number of the group of tasks whose ask waits; otherwise `priority` and `request`
    identify the ask. All three are -1 for a reason that concerns the whole application. `wanted` is
    the size of one container. `ahead` lists the applications that are served first (the first few).

    `also` are the other obstacles for the same containers: removing only this one does not help.
    `never`: a limit that waiting does not help against, as not even one container fits into it.
    `drained` is a drained node that has room for one container, and `refused` one that the
    application's blacklist has; `selective`: the ask does not accept every node. `preempting` is
    the number of containers of other applications to be killed for it, the first at `kill_at_ms`;
    without any, `preemption` says what the application is owed and what keeps preemption away, if
    it is below its share. `weight` is the user's. `due_ms` is when a gang gives up, or tries
    again, or a lifetime ends, or since when room is kept, which tasks whose time limit ends by
    `lent_until_ms` have until then (0: none).
    """

    cause: Cause
    group: int = -1
    priority: int = -1
    request: int = -1
    containers: int = 0  # how many wait for this
    wanted: Resource | None = None
    used: Resource | None = None
    limit: Resource | None = None
    available: Resource | None = None
    queue: str = ""
    user: str = ""
    node: str = ""
    label: str = ""
    count: int = 0
    ahead: tuple[ApplicationId, ...] = ()
    also: tuple["Reason", ...] = ()
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


MOST_AHEAD = 5
"""The most applications that a reason names."""


class Bound(NamedTuple):
    """How many containers of one size a limit lets an application have at the same time: `most` if
    nothing else counts for it, and `now` how many more beside what does."""

    most: int
    now: int
    reason: Reason


class Limits:
    """The limits that only a scheduler knows, by default none; an empty answer: no obstacle."""

    def __init__(self, state: Any, attempt: Any) -> None:
        """Those on an attempt of the scheduler's state."""
        self._state = state
        self._attempt = attempt

    def of_application(self) -> Sequence[Reason]:
        """Limits that keep the application from running, or its master from starting."""
        return ()

    def of_ask(self, key: AskKey, size: Resource) -> Sequence[Reason]:
        """Limits of queues and users that one more container of this size would exceed."""
        return ()

    def label_of(self, wanted: str | None) -> str:
        """The partition of tasks that name this one, or none."""
        return ""

    def bounds(self, size: Resource, label: str) -> Sequence[Bound]:
        """The limits of queues and users on containers of a size that are to run together in a
        partition."""
        return ()

    def partition(self, key: AskKey) -> Iterable[Node]:
        """The nodes of the ask's partition, whatever places it names."""
        nodes: Iterable[Node] = self._state.nodes.values()
        return nodes

    def ahead(self, key: AskKey) -> tuple[int, tuple[ApplicationId, ...]]:
        """How many siblings are served first on the way down to it, and the applications among
        them."""
        return 0, ()

    def preempting(self, key: AskKey) -> Sequence[int]:
        """When each container that is being preempted in favour of an ask will be killed (ms)."""
        return ()

    def preemption(self, key: AskKey) -> Preemption | None:
        """What preemption owes to it, or its queue, of what the ask is for; None: it has its
        share, or the scheduler does not preempt."""
        return None


class NotInQueue(Limits):
    """The limits of an application without an attempt in a queue: nothing is decided for it."""

    def __init__(self, application: Application) -> None:
        self._queue = application.queue

    def of_application(self) -> Sequence[Reason]:
        """It has not started, or waits for its next attempt."""
        return [Reason(cause=Cause.NOT_STARTED, queue=self._queue)]

    def partition(self, key: AskKey) -> Iterable[Node]:
        return ()


def reasons(
    application: Application, limits: Limits, state: "State | None" = None, now_ms: int = 0
) -> list[Reason]:
    """Why an application waits, the most important reason first; empty if it does not wait.

    `state` is the application's cluster, for the administrators' drains and safe mode, and for what
    was used in the past, as of `now_ms` or of the last change.
    """
    found = _reasons(application, limits, state, Survey(), now_ms, ahead=True)
    if state is None or state.ledger is None:
        return found
    return [_with_past(reason, application, state, now_ms) for reason in found]


def _with_past(reason: Reason, application: Application, state: "State", now_ms: int) -> Reason:
    """A reason with the past that puts the application behind others."""
    if not reason.count or reason.cause not in (Cause.NO_ROOM, Cause.OTHERS_FIRST):
        return reason
    last = past.used_up(state, application, now_ms, refuses=False)
    if last:
        return msgspec.structs.replace(reason, budget=last[0])
    behind = past.behind(state, application, now_ms)
    return reason if behind is None else msgspec.structs.replace(reason, past=behind)


def brief_reasons(
    application: Application, limits: Limits, state: "State", survey: Survey, now_ms: int = 0
) -> list[Reason]:
    """The same for questions about many applications at one instant, which share a survey: without
    the applications that are served first, and what preemption owes, unless that decides."""
    return _reasons(application, limits, state, survey, now_ms, ahead=False)


def main_cause(
    application: Application, limits: Limits, state: "State", survey: Survey, now_ms: int = 0
) -> Cause | None:
    """The cause of the first of the brief reasons, or None."""
    found = brief_reasons(application, limits, state, survey, now_ms)
    return found[0].cause if found else None


def _reasons(
    application: Application,
    limits: Limits,
    state: "State | None",
    survey: Survey,
    now_ms: int,
    *,
    ahead: bool,
) -> list[Reason]:
    """`ahead`: whether reasons say which applications are served before it although there is no
    room for any of them."""
    if application.over:
        return []
    drained: Mapping[str, Drain] = {}
    if state is not None and application.attempt.asks.wanting:
        drained = state.drains
        if state.safe_mode:
            return [Reason(cause=Cause.SAFE_MODE)]
        if state.nodes and all(name in drained for name in state.nodes):
            node, count = min(state.nodes), len(state.nodes)
            return [Reason(cause=Cause.NODES_DRAINED, node=node, count=count)]
        failing = [name for name in state.failing if state.waits_for_node(name)]
        if failing and all(name in drained or name in failing for name in state.nodes):
            due_ms, node = min((state.failing[name].until_ms or 0, name) for name in failing)
            count = len(state.nodes)
            return [Reason(cause=Cause.NODES_FAILING, node=node, count=count, due_ms=due_ms)]
    reasons = _of_deferral(application, state)
    if reasons:
        return reasons
    if not application.attempt.active:
        return [Reason(cause=Cause.NOT_STARTED, queue=application.queue)]
    memory_alone = state is not None and state.counts_memory_alone
    applications = {} if state is None else state.applications
    view = _View(
        application, limits, drained, applications, survey, ahead, memory_alone, state, now_ms, {}
    )
    reasons = list(limits.of_application())
    if reasons:
        wanting = application.attempt.asks.wanting[:1]
        asks = [_of_ask(view, key) for key in wanting]
        more = [one for one in asks if one.cause.lasts is not Lasts.PASSING]
        return [_together(reasons, more)]
    waiting: dict[str, Resource] = {}  # by partition, the first ask that something keeps waiting
    for key in application.attempt.asks.wanting:
        reason = _of_ask(view, key)
        own = waiting.get(key.label)
        if own is not None and _waits_for_own(reason, application.id):
            reason = msgspec.structs.replace(reason, cause=Cause.OWN_FIRST, limit=own, ahead=())
        elif reason.cause not in _NEXT and reason.wanted is not None:
            waiting.setdefault(key.label, reason.wanted)
        reasons.append(_with_preemption(view, key, reason))
    if state is not None and application.attempt.asks.withheld:
        reasons += _of_budgets(application, state)
    reasons += _of_pauses(application)
    reasons += [*_of_limited_groups(application), *_of_groups(application)]
    if state is not None and state.gangs:
        reasons += _of_gangs(application, limits, state)
    if not reasons and application.managed and not application.attempt.registered:
        reasons.append(Reason(cause=Cause.MASTER_SILENT))
    if reasons and application.expires_ms is not None:
        reasons.append(Reason(cause=Cause.LIFETIME, due_ms=application.expires_ms))
    if len(reasons) > 1:
        reasons.sort(key=lambda reason: (_RANK[reason.cause], reason.request))
    return reasons


_NEXT = (Cause.NEXT_OFFER, Cause.OTHERS_FIRST, Cause.NEARER_NODE)
"""The causes of asks that have room."""


def _waits_for_own(reason: Reason, application: ApplicationId) -> bool:
    """Whether nothing but the application itself is in the way of an ask. Schedulers go on to an
    application's next ask only when the one before has all its containers."""
    reserved = reason.cause is Cause.RESERVED_FOR_OTHERS and reason.ahead == (application,)
    return reserved or reason.cause is Cause.NEXT_OFFER


_RANK: Mapping[Cause, int] = {cause: rank for rank, cause in enumerate(Cause)}


class _View(NamedTuple):
    """What the reasons of one application's asks are found with."""

    application: Application
    limits: Limits
    drained: Mapping[str, Drain]
    applications: Mapping[ApplicationId, Application]
    survey: Survey
    ahead: bool
    memory_alone: bool  # the other types do not count
    state: "State | None"
    now_ms: int
    preemptions: dict[tuple[str, Resource | None], Preemption | None]  # of asks of the same size


def _together(causes: Sequence[Reason], more: Sequence[Reason] = ()) -> Reason:
    """The first of the reasons, with all others in `also`, since all must be removed."""
    replace = msgspec.structs.replace
    deeper = (one for each in more for one in (replace(each, also=()), *each.also))
    return replace(causes[0], also=(*causes[1:], *deeper))


def _of_deferral(application: Application, state: "State | None") -> list[Reason]:
    """Why a deferred application does not start, or starts nothing more."""
    start = None if state is None else state.deferred.get(application.id)
    if start is None:
        return []
    reasons = [Reason(cause=Cause.HELD)] if start.held else []
    if start.after:
        ahead = tuple(condition.application for condition in start.after)
        reasons.append(
            Reason(cause=Cause.APPLICATIONS_AHEAD, count=len(ahead), ahead=ahead[:MOST_AHEAD])
        )
    if start.begin_ms:
        reasons.append(Reason(cause=Cause.BEGINS_LATER, due_ms=start.begin_ms))
    return [_together(reasons)] if reasons else []


def _of_groups(application: Application) -> list[Reason]:
    if not application.attempt.registered:
        return []
    return [
        Reason(cause=Cause.GROUPS_AHEAD, group=number)
        for number, group in enumerate(application.tasks.groups)
        if not group.started and group.spec.after
    ]


def _of_budgets(application: Application, state: "State") -> Iterator[Reason]:
    """The asks of which budgets have no hours left."""
    budgets = past.used_up(state, application, 0, refuses=True)
    for key in application.attempt.asks.withheld:
        assert key.anywhere is not None
        size = key.anywhere.resource
        over = [one for one in budgets if size[state.types.names.index(one.resource)]]
        priority, request = key.order
        reason = Reason(
            cause=Cause.BUDGET,
            group=request - GROUP_REQUESTS if request >= GROUP_REQUESTS else -1,
            priority=priority,
            request=request,
            containers=key.anywhere.count,
            wanted=size,
            label=key.label,
            queue=application.queue,
            user=application.user,
        )
        replace = msgspec.structs.replace
        found = [replace(reason, budget=one, due_ms=one.ends_ms) for one in over]
        yield _together(found or [reason])


def _of_pauses(application: Application) -> Iterator[Reason]:
    """The groups of which tasks failed at once, and wait before they are tried again."""
    for number, progress in enumerate(application.tasks.groups):
        if progress.paused:
            due_ms = min(progress.paused.values())
            containers = len(progress.paused)
            cause = Cause.TASKS_PAUSED
            yield Reason(cause=cause, group=number, containers=containers, due_ms=due_ms)


def _of_limited_groups(application: Application) -> Iterator[Reason]:
    """The groups of which further tasks wait until one ends, since no more may run at once."""
    if not application.attempt.registered:
        return
    for number, progress in enumerate(application.tasks.groups):
        if progress.spec.at_once is None or not progress.started:
            continue
        held_back = len(progress.waiting) - progress.due
        if held_back > 0:
            yield Reason(
                cause=Cause.TASKS_AT_ONCE,
                group=number,
                containers=held_back,
                count=progress.spec.at_once,
            )


def _of_gangs(application: Application, limits: Limits, state: "State") -> Iterator[Reason]:
    """The gangs that hold containers until the others are there, or paused."""
    for number, progress in enumerate(application.tasks.groups):
        gang = state.gangs.get((application.id, number))
        if gang is None or gang.due_ms is None:
            continue
        held, label = len(gang.held), limits.label_of(progress.spec.label)
        about = Reason(
            cause=Cause.GANG_PAUSED if gang.paused else Cause.GANG_HOLDS,
            group=number,
            containers=len(progress.waiting) - held,
            wanted=progress.spec.resource,
            label=label,
            count=held,
            due_ms=gang.due_ms,
        )
        bounds = limits.bounds(progress.spec.resource, label) if gang.paused else ()
        if gang.most is not None:
            about = msgspec.structs.replace(about, cause=Cause.GANG_TOO_LARGE, count=gang.most)
            too_small = [bound for bound in bounds if bound.most <= gang.most]
        else:
            too_small = [bound for bound in bounds if bound.now < about.containers]
        alone = state.counts_memory_alone
        also = tuple(_about(about, bound.reason, memory_alone=alone) for bound in too_small)
        yield msgspec.structs.replace(about, also=also)


def _of_ask(view: _View, key: AskKey) -> Reason:
    """The most important reason of one ask."""
    ask = key.anywhere
    assert ask is not None
    priority, request = key.order
    size = ask.resource
    about = Reason(
        cause=Cause.NEXT_OFFER,
        group=request - GROUP_REQUESTS if request >= GROUP_REQUESTS else -1,
        priority=priority,
        request=request,
        containers=ask.count,
        wanted=size,
        label=key.label,
    )
    partition, refused = view.limits.partition, view.application.attempt.blacklist
    types = 1 if view.memory_alone else len(size)
    offers = view.survey.offers(key, size, partition, view.drained, refused, types)
    if offers.partition and not offers.nodes:
        first = min(node.name for node in offers.partition)
        return msgspec.structs.replace(
            about, cause=Cause.NODES_DRAINED, count=len(offers.partition), node=first
        )
    about = msgspec.structs.replace(
        about,
        drained=offers.drained_room if len(offers.nodes) < len(offers.partition) else "",
        refused=offers.refused_room,
        selective=len(offers.accepted) < len(offers.nodes),
    )
    never = _of_places(offers, about)
    if never is not None:
        return never
    found = (*view.limits.of_ask(key, size), *_of_bookings(view, key, size))
    obstacles = [_about(about, reason, memory_alone=view.memory_alone) for reason in found]
    room = _of_room(view, key, offers, about)
    if not obstacles:
        return room
    if room.cause.lasts is not Lasts.PASSING:
        obstacles.append(room)
    return _together(obstacles)


def _of_bookings(view: _View, key: AskKey, size: Resource) -> list[Reason]:
    """The booking that keeps what is free from an ask."""
    state, attempt = view.state, view.application.attempt
    if state is None or not state.kept:
        return []
    refused = refusal(state, attempt, key, size, view.now_ms)
    if refused is None:
        return []
    span = refused.span
    return [
        Reason(
            cause=Cause.BOOKED,
            queue=span.queue,
            user=span.user,
            used=used_by(state, span.holder),
            limit=span.resource,
            available=positive(refused.free),
            due_ms=span.until_ms,
            lent_until_ms=0 if span.begun else span.from_ms,
            booking=span.name,
        )
    ]


_FOR_OTHERS_TO_END = frozenset(
    {
        Cause.NO_ROOM,
        Cause.QUEUE_MAXIMUM,
        Cause.RESERVED_HERE,
        Cause.KEPT_FOR_IT,
        Cause.KEPT_FOR_ANOTHER,
        Cause.RESERVED_FOR_OTHERS,
    }
)
"""The causes that preemption could remove."""


def _with_preemption(view: _View, key: AskKey, reason: Reason) -> Reason:
    """The reason with what preemption owes, unless it takes containers already."""
    if not view.ahead or reason.preempting or reason.cause not in _FOR_OTHERS_TO_END:
        return reason
    wanted = (key.label, reason.wanted)
    if wanted not in view.preemptions:
        view.preemptions[wanted] = view.limits.preemption(key)
    return msgspec.structs.replace(reason, preemption=view.preemptions[wanted])


def _about(about: Reason, reason: Reason, *, memory_alone: bool) -> Reason:
    limit, wanted = reason.limit, about.wanted
    types = 1 if memory_alone else None  # the others do not count
    above = limit is not None and wanted is not None and not fits(wanted[:types], limit[:types])
    return msgspec.structs.replace(
        reason,
        never=reason.cause is Cause.QUEUE_MAXIMUM and above,
        group=about.group,
        priority=about.priority,
        request=about.request,
        containers=about.containers,
        wanted=about.wanted,
        label=about.label,
        drained=about.drained,
        refused=about.refused,
    )


def _of_places(offers: Offers, about: Reason) -> Reason | None:
    """Obstacles that no waiting removes, unless nodes are added or the ask changes."""
    replace = msgspec.structs.replace
    if not offers.nodes:
        return replace(about, cause=Cause.NO_NODES)
    if not offers.large and (names := offers.drained_large):
        return replace(about, cause=Cause.NODES_DRAINED, count=len(names), node=names[0])
    if not offers.accepted:
        return replace(about, cause=Cause.PLACE_UNKNOWN)
    if not offers.large:
        node = offers.nearest_in_size
        return replace(
            about,
            cause=Cause.TOO_LARGE,
            available=node.total,
            node=node.name,
            count=len(offers.accepted),
        )
    if not offers.usable:
        return replace(about, cause=Cause.BLACKLISTED, count=len(offers.large))
    return None


def _of_room(view: _View, key: AskKey, offers: Offers, about: Reason) -> Reason:
    """Obstacles that containers ending or the next heartbeats will remove."""
    replace = msgspec.structs.replace
    reservations = view.application.attempt.reservations.values()
    own = [r for r in reservations if (r.priority, r.request) == key.order]
    if own and own[0].kept != ():
        node = next((n for n in offers.usable if n.name == own[0].node), None)
        available = None if node is None else node.available
        here = replace(about, cause=Cause.RESERVED_HERE, node=own[0].node, available=available)
        if own[0].whole:
            return here
        return replace(
            here,
            cause=Cause.KEPT_FOR_IT,
            queue=view.application.queue,
            limit=own[0].keeps,
            due_ms=own[0].since_ms,
        )
    if not offers.roomy:
        nearest, kills = offers.nearest, view.limits.preempting(key)
        count, ahead = view.limits.ahead(key) if view.ahead else (0, ())
        return replace(
            about,
            cause=Cause.NO_ROOM,
            node=nearest.name,
            available=positive(nearest.available),
            count=count,
            ahead=ahead,
            preempting=len(kills),
            kill_at_ms=min(kills, default=0),
        )
    free = offers.free
    if not free:
        only = offers.roomy[0].name if len(offers.nodes) == 1 else ""
        count = len(offers.roomy)
        reservation = offers.roomy[0].reservation
        if reservation is None or reservation.whole:
            others = dict.fromkeys(
                node.reservation.application for node in offers.roomy if node.reservation
            )
            return replace(
                about,
                cause=Cause.RESERVED_FOR_OTHERS,
                count=count,
                node=only,
                ahead=tuple(others)[:MOST_AHEAD],
            )
        return replace(
            about,
            cause=Cause.KEPT_FOR_ANOTHER,
            node=reservation.node,
            ahead=(reservation.application,),
            limit=reservation.keeps,
            due_ms=reservation.since_ms,
            lent_until_ms=due_ms(view.applications, offers.roomy[0]) or 0,
        )
    if key.places and not any(n.host in key.places for n in free) and key.opportunities:
        return replace(about, cause=Cause.NEARER_NODE, count=key.opportunities)
    count, ahead = view.limits.ahead(key)
    if count:
        return replace(about, cause=Cause.OTHERS_FIRST, count=count, ahead=ahead)
    return replace(about, available=free[0].available, node=free[0].name)


def running_applications(most: int, *, queue: str = "", user: str = "") -> Reason:
    """The limit of a queue or of a user on applications that run at once, which is reached."""
    cause = Cause.USER_APPLICATIONS if user else Cause.QUEUE_APPLICATIONS
    return Reason(cause=cause, queue=queue, user=user, count=most, never=most <= 0)


def applications_before(
    entries: Iterable[tuple[ApplicationId, Any]], mine: Any
) -> list[ApplicationId]:
    """The siblings whose key is lower, in order."""
    lower = [(entry, number) for number, entry in entries if entry < mine]
    return [number for _, number in sorted(lower)]
