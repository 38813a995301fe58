"""Whether the cause that the ledger charges is right: without it the queue gets what it lacks.

A state in the middle of a life is copied twice. In both nothing ends by itself any more. One goes
on as it is, and what is owed must stay owed; of the other the cause is removed, by an input or in
the state, and the queue must get more of what it lacks within a few heartbeats.
"""

import random
from collections import Counter
from typing import NamedTuple

import msgspec
from tests.ledger.identities import TYPES, instants
from tests.ledger.lives import BEAT_MS, LIFE_MS, Life
from tests.manual_engine import ManualEngine

from fairshare.core.manager.resource_manager import ResourceManager
from fairshare.core.model.inputs import (
    CancelBooking,
    ContainerExited,
    HoldApplication,
    KillApplication,
    LabelNodes,
    LoadConfiguration,
    NodeJoined,
    NodeResized,
    RequestContainers,
    UndrainNode,
)
from fairshare.core.model.resources import add, fits, positive, subtract, total
from fairshare.core.model.tasks import GROUP_REQUESTS
from fairshare.core.model.work import ContainerRequest
from fairshare.core.schedulers.capacity.settings import Percentage
from fairshare.core.schedulers.offers import accepts
from fairshare.core.schedulers.reasons import Cause, Reason, reasons
from fairshare.lab.branch.history import origin_of
from fairshare.lab.simulate.simulator import EPOCH_MS
from fairshare.runtime.journal.memory import MemoryJournal
from fairshare.runtime.recovery import Position
from fairshare.runtime.runtime import Runtime
from fairshare.server.insight.owed import OF_FREE_ROOM, OF_LIMITS, Debts, OwedCause
from fairshare.settings.registry import family_of

ROOM = "room"
PLACE = "n1"
"""The only node that asks of these lives name."""
MOST_ROUNDS = 4
PAUSE_MS = 65_000
"""Within which a gang asks again."""
AFTER_MS = 1_500
"""How long both copies go on."""


class Checked(NamedTuple):
    """A charged cause of a state, and whether removing it helped, and was needed."""

    at: str
    queue: str
    label: str
    cause: OwedCause
    helps: bool
    needed: bool
    why: str

    @property
    def agrees(self):
        return self.helps and self.needed


def state_at(life, records, at_ms):
    """The manager behind all records up to an instant."""
    manager = ResourceManager(family_of(life.scheduler).create(TYPES))
    last = Position()
    for now_ms, some in instants(records):
        if now_ms > at_ms:
            break
        for record in some:
            for event in record.events:
                manager.state.apply(record.now_ms, event)
            manager.state.settle()
            last = Position(record.sequence, now_ms)
    return manager, last


class Copy:
    """A copy of a state that goes on."""

    def __init__(self, origin, last):
        self.manager = origin.manager()
        self.scheduler = self.manager.scheduler
        self.now_ms = last.now_ms
        self._inputs = []
        engine = ManualEngine(stops=False)
        engine.report = self._inputs.append
        journal = MemoryJournal()
        self.runtime = Runtime(self.manager, journal, engine, beat_interval_ms=BEAT_MS)
        self.runtime.recover(since=last)
        # What is being stopped ends at once.
        engine.stop = lambda one: self._inputs.append(ContainerExited(one, 143))

    def feed(self, *inputs):
        self._inputs += inputs

    def go_on(self, after_ms):
        until_ms = self.now_ms + after_ms
        while self.now_ms <= until_ms:
            inputs, self._inputs[:] = [*self._inputs], []
            self.runtime.turn(self.now_ms, inputs)
            deadline_ms = self.runtime.next_deadline_ms()
            next_ms = self.now_ms + BEAT_MS if deadline_ms is None else deadline_ms
            next_ms = min(next_ms, until_ms + 1)
            self.now_ms = self.now_ms + 1 if self._inputs else max(self.now_ms + 1, next_ms)


def others_hold(copy, claim):
    """Let no other application start anything."""
    for application in copy.manager.state.applications.values():
        kept = claim.reason.ahead if claim.cause is OwedCause.RESERVATION else ()
        if application.id not in (claim.application.id, *kept) and not application.over:
            hold(copy, application)


def hold(copy, application):
    """Let an application start nothing more."""
    copy.feed(HoldApplication(application.id))
    asks = tuple(
        ContainerRequest(-key.anywhere.count, key.anywhere.resource, priority=key.order[0])
        for key in application.attempt.asks.wanting
        if 0 <= key.order[1] < GROUP_REQUESTS
    )
    if asks:
        copy.feed(RequestContainers(application.id, asks))


OF_LIMIT = (
    OwedCause.USER_LIMIT,
    OwedCause.MAXIMUM,
    OwedCause.APPLICATIONS,
    OwedCause.MASTERS,
    OwedCause.BOOKING,
)


def make_room(copy, claim, queue, label):
    """Kill what is in other queues, and end what others run in this one.

    Where the cause is a limit, room for one container is made and no more: limits depend on how
    large the cluster is, and on what others use."""
    state = copy.manager.state
    if claim.cause in OF_LIMIT:
        gather(copy, claim, queue, label)
        return
    for application in state.applications.values():
        others = application.queue != queue
        if others and not application.over:
            copy.feed(KillApplication(application.id))
        if application.id != claim.application.id:
            for one in application.containers.values():
                if others or not one.master:
                    copy.feed(ContainerExited(one.container, 143))


def ask_of(copy, claim):
    """The ask that a claim is about, if it is there: the application's first, if it is about all of
    them."""
    keys = copy.manager.state.applications[claim.application.id].attempt.asks.wanting
    order = (claim.reason.priority, claim.reason.request)
    return next((one for one in keys if one.order == order), next(iter(keys), None))


def gather(copy, claim, queue, label):
    """Let what is free be on one node, as far as the claim needs it there. What is missing then is
    taken from other queues, but for a booking, which is about the sum of what is free; a node grows
    by the rest."""
    state, wanted = copy.manager.state, claim.reason.wanted
    nodes = [
        one
        for one in state.nodes.values()
        if state.label_of(one) == label and one.name not in state.drains
    ]
    here = nodes
    key = ask_of(copy, claim)
    if key is not None:
        here, wanted = [one for one in nodes if accepts(key, one)], key.anywhere.resource
    if not here or wanted is None:
        return
    theirs = {
        node.name: [
            one
            for one in node.containers.values()
            if state.applications[one.application].queue != queue and not one.master
        ]
        for node in here
        if claim.cause is not OwedCause.BOOKING
    }

    def grows(node):
        resources = [one.resource for one in theirs.get(node.name, ())]
        room = total((positive(node.available), *resources), len(wanted))
        return node.reservation is not None, positive(subtract(wanted, room))

    here = min(here, key=grows)
    lacks = positive(subtract(wanted, positive(here.available)))
    gathered = state.none
    for other in nodes:
        if other is not here:
            taken = tuple(map(min, lacks, positive(other.available)))
            lacks, gathered = subtract(lacks, taken), add(gathered, taken)
            copy.feed(NodeResized(other.name, subtract(other.total, taken)))
    for one in theirs.get(here.name, ()):
        if any(lacks):
            copy.feed(ContainerExited(one.container, 143))
            lacks = positive(subtract(lacks, one.resource))
    copy.feed(NodeResized(here.name, add(here.total, add(gathered, lacks))))


def relax(copy, claim, queue, label, cause):
    """Remove a cause; False if this kind of cause cannot be removed by itself."""
    state, debts = copy.manager.state, Debts(copy.scheduler, copy.now_ms)
    match cause:
        case _ if cause in LIFTED:
            copy.settings = lifted(copy.settings, LIFTED[cause])
            copy.feed(LoadConfiguration(msgspec.json.encode(copy.settings), EPOCH_MS))
        case OwedCause.BUDGET:
            fairness = msgspec.structs.replace(copy.settings.fairness, budgets=())
            copy.settings = msgspec.structs.replace(copy.settings, fairness=fairness)
            copy.feed(LoadConfiguration(msgspec.json.encode(copy.settings), EPOCH_MS))
        case OwedCause.BOOKING:
            copy.feed(*(CancelBooking(name) for name in state.bookings))
        case OwedCause.LENDER | OwedCause.PREEMPTION:
            end_excess(copy, debts, queue, label, claim)
        case OwedCause.FRAGMENTATION:
            nodes = [one for one in state.nodes.values() if state.label_of(one) == label]
            free = tuple(sum(max(0, one.available[place]) for one in nodes) for place in range(2))
            if not fits(claim.reason.wanted[: debts.counted], free[: debts.counted]):
                for (name, of), level in debts.levels.items():
                    if of == label and name != queue:
                        free = add(free, positive(subtract(level.used, level.share)))
            room = free if debts.counted > 1 else (free[0], 64)
            if claim.reason.selective:
                copy.feed(NodeResized(PLACE, add(state.nodes[PLACE].total, room)))
            else:
                add_node(copy, label, room)
        case OwedCause.UNDIVIDED:
            copy.feed(*(NodeResized(one.name, (one.total[0], 99)) for one in state.nodes.values()))
        case OwedCause.RESERVATION:
            reservations = (node.reservation for node in state.nodes.values())
            for number in {one.application for one in reservations if one is not None}:
                application = state.applications[number]
                if number == claim.application.id:
                    continue
                hold(copy, application)
                if application.brief.unregistered:  # its master may do nothing but end
                    containers = application.containers.values()
                    copy.feed(*(ContainerExited(one.container, 0) for one in containers))
        case OwedCause.LOCALITY:
            key = ask_of(copy, claim)
            if key is not None:
                larger = add(state.nodes[PLACE].total, key.anywhere.resource)
                copy.feed(NodeResized(PLACE, larger))
        case OwedCause.NODES:
            copy.feed(*(UndrainNode(name) for name in state.drains))
        case OwedCause.IMPOSSIBLE:
            if claim.cause is not OwedCause.MASTERS:  # which may have a part of the cluster
                copy.feed(*(NodeResized(one, (1 << 16, 64)) for one in state.nodes))
                for one in {label, claim.reason.label}:  # that of its master may be another one
                    add_node(copy, one, (1 << 16, 64))
            if copy.scheduler.labels():
                copy.feed(LabelNodes({PLACE: label}))
        case OwedCause.LATENCY:
            pass
        case _ if cause == ROOM:
            make_room(copy, claim, queue, label)
        case _:
            return False
    return True


def add_node(copy, label, room):
    name = f"more{label}"
    copy.feed(NodeJoined(name, room))
    if label:
        copy.feed(LabelNodes({name: label}))


def end_excess(copy, debts, queue, label, claim):
    """Let queues above their share give back, on the node where the fewest containers end for one
    of this size. No queue gives back more than its excess."""
    state, reason = copy.manager.state, claim.reason
    places, size, best = range(debts.counted), reason.wanted, None
    key = ask_of(copy, claim)
    if key is None:
        return  # a budget withholds it by now
    for node in state.nodes.values():
        if node.name in state.drains or not accepts(key, node):
            continue
        room, left = node.available, {}
        ends = []
        for one in sorted(node.containers.values(), key=lambda one: -one.container):
            if all(room[place] >= size[place] for place in places):
                break
            level = debts.levels.get((state.applications[one.application].queue, label))
            if state.label_of(node) != label or level is None or level.queue == queue:
                continue
            used = left.get(level.queue, level.used)
            over = [p for p in places if level.used[p] > level.share[p]]
            after = subtract(used, one.resource)
            if over and all(after[place] >= level.share[place] for place in over):
                left[level.queue] = after
                room = add(room, one.resource)
                ends.append(one.container)
        fits = all(room[place] >= size[place] for place in places)
        if ends and fits and (best is None or len(ends) < len(best)):
            best = ends
    copy.feed(*(ContainerExited(one, 143) for one in best or ()))


LIFTED = {
    OwedCause.APPLICATIONS: {
        "max_running_applications": None,
        "maximum_parallel_applications": None,
        "user_max_applications_default": 1_000,
    },
    OwedCause.MASTERS: {"max_master_share": -1.0, "maximum_master_share": 100.0},
    OwedCause.MAXIMUM: {"max_share": None, "maximum_capacity": Percentage(100.0)},
    OwedCause.USER_LIMIT: {"user_limit_factor": 100.0},
}
"""Limits, and values without an effect."""


def lifted(settings, values):
    """Settings in which all queues have these values, as far as they have such a setting."""

    def changed(one):
        names = set(one.__struct_fields__)
        return msgspec.structs.replace(
            one, **{name: value for name, value in values.items() if name in names}
        )

    if hasattr(settings, "allocations"):
        allocations = changed(settings.allocations)
        queues = {name: changed(one) for name, one in allocations.queues.items()}
        allocations = msgspec.structs.replace(allocations, queues=queues)
        return msgspec.structs.replace(settings, allocations=allocations)
    queues = {name: one if one.children else changed(one) for name, one in settings.queues.items()}
    return msgspec.structs.replace(settings, queues=queues)


PASSING = (OwedCause.LATENCY, OwedCause.PREEMPTION, OwedCause.LOCALITY, OwedCause.GANG)
"""Causes that time removes, too."""


def kinds_of(found):
    """The causes of reasons, and of those beside them."""
    every = [deeper for one in found for deeper in (one, *one.also)]
    return [OF_LIMITS.get(one.cause, OF_FREE_ROOM.get(one.cause, ROOM)) for one in every]


def check(scheduler, seed, samples=4):
    """Check the causes of some moments of a life.

    What comes to light when the charged cause is removed is removed, too, until the application
    gets something: then the same is tried without the removal of the charged cause.
    """
    chance = random.Random(seed)
    life = Life(scheduler, seed)
    records = life.records()
    for _ in range(samples):
        manager, last = state_at(life, records, chance.randint(1_000, LIFE_MS))
        debts = Debts(manager.scheduler, last.now_ms)
        claims = [
            (queue, label, claim)
            for queue, label in debts.levels
            for claim in debts.claims(queue, label)
        ]
        if not claims:
            continue
        # Of an ask that lacks something by several causes the first one is of its next container.
        alone = Counter(claim.application.id for _, _, claim in claims)
        claims = [one for one in claims if alone[one[2].application.id] == 1] or claims[:1]
        trial = _Trial(life, origin_of(manager, last), last, *chance.choice(claims))
        cause = trial.claim.cause
        end_ms = min((one.until_ms for one in manager.state.kept), default=last.now_ms + AFTER_MS)
        if cause is OwedCause.BOOKING and end_ms < last.now_ms + AFTER_MS:
            continue  # it ends by itself meanwhile
        got, then = trial.granted(())
        if cause not in PASSING and (got or not then):
            continue  # the state is not at rest: what is owed is given meanwhile, or it ends
        removed = [cause, *kinds_of(trial.claim.reason.also)]
        got = 0
        for _ in range(MOST_ROUNDS):
            removed = [*dict.fromkeys(removed)]
            got, then = trial.granted(removed)
            if got is None or got or set(kinds_of(then)) <= set(removed):
                break
            removed += kinds_of(then)
        if got is None:
            continue  # there is no way to remove it
        without, _ = trial.granted(removed[1:])
        needed = cause in PASSING or without is None or got > without
        at = f"{scheduler} {seed} at {last.now_ms} ms"
        place = (trial.queue, trial.label)
        yield Checked(at, *place, cause, got > 0, needed, said(trial.claim, removed))


class _Trial:
    """Copies of one state, for one claim."""

    def __init__(self, life, origin, last, queue, label, claim):
        self.life, self.origin, self.last = life, origin, last
        self.queue, self.label = queue, label
        self.claim = claim._replace(reason=claim.reason or Reason(cause=Cause.NEXT_OFFER))

    def granted(self, removed):
        """How many containers the application gets without these causes, or None, if one of them
        cannot be removed; and for what it waits then."""
        copy, number = Copy(self.origin, self.last), self.claim.application.id
        copy.settings = self.life.settings
        application = copy.manager.state.applications[number]
        had = set(application.containers)
        if removed:
            others_hold(copy, self.claim)
            copy.go_on(2)
        for one in removed:
            if not relax(copy, self.claim, self.queue, self.label, one):
                return None, ()
            copy.go_on(2)
        gangs = (Cause.GANG_TOO_LARGE, Cause.GANG_PAUSED)
        gang = self.claim.reason.cause in gangs
        copy.go_on(PAUSE_MS if gang else AFTER_MS)
        state, limits = copy.manager.state, copy.scheduler.limits_of(number)
        return len(set(application.containers) - had), reasons(application, limits, state)


def said(claim, removed):
    """The reason in a few words."""
    reason = claim.reason
    also = ", ".join(one.cause for one in reason.also)
    wanted = f"{reason.containers} of {reason.wanted}"
    return f"application {claim.application.id}: {reason.cause} ({also}), {wanted}; {removed}"
