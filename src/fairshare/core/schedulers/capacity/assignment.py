"""How one application uses a node: which ask, at which locality, container or reservation. Called
by `heartbeat.py`, which knows the queues (Hadoop: RegularContainerAllocator).

Locality is relaxed by counting: an ask that names places takes a node that it names at once,
another node of its racks after some missed opportunities, any node after some more (Hadoop:
RegularContainerAllocator.canAssign).
"""

import enum
from typing import TYPE_CHECKING, NamedTuple

from fairshare.core.model.asks import Ask, AskKey
from fairshare.core.model.events import (
    ContainerAllocated,
    ContainerCompleted,
    ContainerReserved,
    ExitCode,
    Locality,
    ReservationDropped,
)
from fairshare.core.model.identifiers import container_id
from fairshare.core.model.nodes import Reservation
from fairshare.core.model.resources import Resource, add, subtract
from fairshare.core.schedulers.bookings import refusal
from fairshare.core.schedulers.calculators import single
from fairshare.core.schedulers.capacity import containers, limits
from fairshare.core.schedulers.capacity.attempts import CapacityAttempt
from fairshare.core.schedulers.capacity.calculators import larger
from fairshare.core.schedulers.capacity.state import CapacityState

if TYPE_CHECKING:
    from fairshare.core.schedulers.capacity.heartbeat import Heartbeat


class Answer(enum.IntEnum):
    """The result of offering a node to a queue or an application."""

    NOTHING = 0
    SKIPPED = 1  # by the application: try the next one
    QUEUE_LIMIT = 2  # the queue has too little left for the next container
    OFF_SWITCH = 3  # granted, on any node
    NEAR = 4  # granted, on a host or rack that was asked for
    RESERVED = 5


class ResourceLimits:
    """The room that a queue may use in one attempt, and the results.

    `limit` is passed down; `headroom` is what the queue has left below it; `blocked` is kept free
    for children that wait for more room than there is; `need` is the amount of reservations that an
    application must release before it may take more.
    """

    __slots__ = ("blocked", "headroom", "limit", "may_kill", "need")

    def __init__(self, limit: Resource, none: Resource) -> None:
        self.limit = limit
        self.headroom = none
        self.blocked = none
        self.need = none
        self.may_kill = False


def rack_local_after(nodes: int, node_delay: int) -> int:
    """The missed opportunities after which a node of the rack is accepted: at most the number of
    nodes.

    >>> rack_local_after(5, 40)
    5
    """
    return min(nodes, node_delay)


def anywhere_after(
    nodes: int, node_delay: int, rack_delay: int, outstanding: int, places: int
) -> float:
    """The missed opportunities after which any node is accepted. `places` counts hosts, racks and
    anywhere.

    With a delay for racks: that many more than the node delay. Else the number of containers
    wanted, reduced if the ask names fewer places than there are nodes.

    >>> anywhere_after(5, 40, -1, outstanding=4, places=3), anywhere_after(6, 1, 2, 2, 3)
    (1.600000023841858, 3)
    """
    if rack_delay > -1:
        return min(nodes, node_delay + rack_delay)
    factor = min(single(max(places - 1, 0) / nodes), 1.0)
    return min(float(nodes), single(outstanding * factor))


def may_be_rack_local(state: CapacityState, misses: int) -> bool:
    """Whether an ask with this many missed opportunities takes a node of its racks."""
    return rack_local_after(len(state.nodes), state.settings.node_locality_delay) < misses


def may_be_anywhere(state: CapacityState, key: AskKey, misses: int) -> bool:
    """Whether it takes any node; an ask without places always does.

    As in Hadoop places of withdrawn asks still count.
    """
    if not key.places and not key.withdrawn:
        return True
    settings = state.settings
    assert key.anywhere is not None
    after = anywhere_after(
        len(state.nodes),
        settings.node_locality_delay,
        settings.rack_locality_additional_delay,
        key.anywhere.count,
        len(key.places) + len(key.withdrawn) + 1,
    )
    return after < misses


_NO_ASK = Ask(0, (), True)

LAZILY_PREEMPTED = "Container killed for a queue that is below its guarantee"


class _Choice(NamedTuple):
    """A container or a reservation that is possible here. `give_up`: a node to unreserve for it."""

    resource: Resource
    locality: Locality
    fits: bool
    give_up: str | None = None
    kill: tuple[int, ...] = ()


def offer(beat: "Heartbeat", attempt: CapacityAttempt, room: ResourceLimits) -> Answer:
    """Offer the node to an application's asks, the most urgent first
    (Hadoop: RegularContainerAllocator.assignContainers)."""
    state = beat.state
    settings = state.settings
    c = state.calculator
    waits_for_master = attempt.managed and attempt.master is None
    if beat.ignore and waits_for_master and not settings.master_may_borrow:
        return Answer.SKIPPED
    here = "" if beat.ignore else beat.label
    for key in attempt.asks.wanting:
        if key.label != here:
            continue
        ask = key.anywhere
        assert ask is not None
        if not settings.continue_looking and not _may_more(beat, attempt, key, ask.resource):
            continue
        if state.kept and refusal(state, attempt, key, ask.resource, beat.step.now_ms):
            continue
        left = room.headroom
        if settings.continue_looking:
            left = add(left, attempt.reserved_on(beat.label))
        if not c.fits(ask.resource, left):
            # Without reservations the remaining room is not kept from the siblings either.
            return Answer.QUEUE_LIMIT if settings.reservations else Answer.SKIPPED
        if beat.wait_for_default(attempt, key):
            return Answer.SKIPPED
        blacklist = attempt.blacklist
        if blacklist and (beat.node.host in blacklist or beat.node.rack in blacklist):
            return Answer.SKIPPED
        before = beat.misses(attempt, key)
        beat.missed(attempt, key, before + 1)
        choice, skipped = _by_locality(beat, attempt, key, room, reserved=False)
        if choice is None:
            if skipped:
                beat.missed(attempt, key, before)
                continue
            return Answer.SKIPPED
        return _commit(beat, attempt, key, choice, before)
    return Answer.SKIPPED


def _by_locality(
    beat: "Heartbeat",
    attempt: CapacityAttempt,
    key: AskKey,
    room: ResourceLimits | None,
    *,
    reserved: bool,
) -> tuple[_Choice | None, bool]:
    """The best locality at which an ask is served here, and whether the ask refuses the node
    (Hadoop: RegularContainerAllocator.assignContainersOnNode)."""
    node = beat.node
    places = key.places
    ask = key.anywhere
    assert ask is not None
    misses = beat.misses(attempt, key)
    if places:
        here = places.get(node.host, _NO_ASK)
        rack = places.get(node.rack, _NO_ASK)
        if here.count > 0 and rack.count > 0:
            choice = _fit(beat, attempt, key, here, Locality.NODE_LOCAL, room)
            if choice is not None:
                return choice, False
        if rack.count > 0:
            if not rack.relax:
                return None, True
            if may_be_rack_local(beat.state, misses):
                choice = _fit(beat, attempt, key, rack, Locality.RACK_LOCAL, room)
                if choice is not None:
                    return choice, False
    if not ask.relax:
        return None, True
    if reserved or may_be_anywhere(beat.state, key, misses):
        return _fit(beat, attempt, key, ask, Locality.OFF_SWITCH, room), False
    return None, False


def _may_more(beat: "Heartbeat", attempt: CapacityAttempt, key: AskKey, size: Resource) -> bool:
    """Whether an ask may take or reserve one more, given its reservations
    (Hadoop: RegularContainerAllocator.shouldAllocOrReserveNewContainer).

    Heartbeats of reserved nodes that could not fulfil allow further reservations, fewer for large
    containers.
    """
    reservations = attempt.reservations.values()
    reserved = sum(1 for one in reservations if (one.priority, one.request) == key.order)
    assert key.anywhere is not None
    if not reserved:
        return key.anywhere.count > 0
    state = beat.state
    c = state.calculator
    leaf = attempt.leaf
    most = leaf.maximum_allocation
    minimum = state.settings.minimum_allocation
    factor = min(c.ratio(size, most), c.ratio(subtract(most, minimum), most))
    re_reservations = attempt.re_reservations.get(key.order, 0)
    starvation = int(single(single(re_reservations / reserved) * single(1.0 - factor)))
    return starvation + key.anywhere.count - reserved > 0


def _fit(
    beat: "Heartbeat",
    attempt: CapacityAttempt,
    key: AskKey,
    ask: Ask,
    locality: Locality,
    room: ResourceLimits | None,
) -> _Choice | None:
    """A container here, a reservation, or neither
    (Hadoop: RegularContainerAllocator.assignContainer). `room` is None for a reserved node."""
    state = beat.state
    c = state.calculator
    node = beat.node
    size = ask.resource
    if not c.fits(size, node.total):
        return None
    count = c.containers(node.available, size)
    kill: list[int] = []
    if count == 0 and node.marked and room is not None and room.may_kill:
        available = node.available
        for container, record in node.marked.items():
            kill.append(container)
            available = add(available, record.resource)
            if c.fits(size, available):
                count = 1
                break
    if room is None:
        return _Choice(size, locality, count > 0)
    continue_looking = state.settings.continue_looking
    more = _may_more(beat, attempt, key, size)
    need = larger(c, state.total, subtract(size, room.headroom), room.need)
    must_give = c.above_zero(need)
    if count > 0:
        give_up = None
        if continue_looking and (not more or must_give):
            give_up = _reservation_of(beat, attempt, key, need if must_give else size)
            if give_up is None:
                return None
        return _Choice(size, locality, True, give_up, tuple(kill))
    if not more or (continue_looking and must_give) or not state.settings.reservations:
        return None
    return _Choice(size, locality, False)


def _reservation_of(
    beat: "Heartbeat", attempt: CapacityAttempt, key: AskKey, need: Resource
) -> str | None:
    """A node reserved for the same ask whose reservation releases enough."""
    names = [
        name
        for name, reservation in attempt.reservations.items()
        if (reservation.priority, reservation.request) == key.order
    ]
    for name in containers.nodes(beat.state, names):
        if beat.state.calculator.fits(need, attempt.reservations[name].resource):
            return name
    return None


def _commit(
    beat: "Heartbeat",
    attempt: CapacityAttempt,
    key: AskKey,
    choice: _Choice,
    before: int,
) -> Answer:
    """Carry out a choice, unless a limit forbids it after all; then it is dropped silently
    (Hadoop: CapacityScheduler.tryCommit)."""
    state = beat.state
    step = beat.step
    node = beat.node
    answer = Answer.RESERVED if not choice.fits else Answer.NEAR
    if choice.fits and choice.locality == Locality.OFF_SWITCH:
        answer = Answer.OFF_SWITCH
    patient = choice.locality == Locality.NODE_LOCAL or (
        choice.locality == Locality.RACK_LOCAL and state.settings.rack_locality_full_reset
    )
    after = 0 if patient else before + 1
    beat.served(attempt, key)
    if not _accepted(beat, attempt, choice):
        beat.refused += 1
        beat.missed(attempt, key, after)
        return answer
    if choice.fits:
        beat.missed(attempt, key, before)
        beat.emit_misses(attempt, key)
        for container in choice.kill:
            step.emit(ContainerCompleted(container, ExitCode.PREEMPTED, LAZILY_PREEMPTED))
        if choice.give_up is not None:
            step.emit(ReservationDropped(choice.give_up))
        _grant(beat, attempt, key, choice.resource, choice.locality, None)
    else:
        step.emit(ContainerReserved(attempt.id, node.name, choice.resource, *key.order))
        beat.missed(attempt, key, after)
    return answer


def _accepted(beat: "Heartbeat", attempt: CapacityAttempt, choice: _Choice) -> bool:
    state = beat.state
    c = state.calculator
    leaf = attempt.leaf
    record = leaf.users.get(attempt.user)
    killed = state.none
    for container in choice.kill:
        killed = add(killed, beat.node.containers[container].resource)
    if record is None or (choice.fits and not _has_room(beat, choice.resource, killed)):
        return False
    released = killed
    if choice.give_up is not None:
        released = add(released, attempt.reservations[choice.give_up].resource)
    limit = limits.user_limit(state, leaf, attempt.user, beat.label, ignore=beat.ignore)
    used = subtract(record.used.get(beat.label, state.none), released)
    if c.compare(state.total, used, limit) > 0:
        return False
    net = subtract(choice.resource, released)
    return limits.within_maximum(state, leaf, beat.label, net, ignore=beat.ignore)


def _has_room(beat: "Heartbeat", size: Resource, killed: Resource) -> bool:
    """Whether a node has room in every type, including those not asked for: a node that was shrunk
    may have a negative amount available."""
    return beat.state.calculator.fits(size, add(beat.node.available, killed))


def _grant(
    beat: "Heartbeat",
    attempt: CapacityAttempt,
    key: AskKey,
    resource: Resource,
    locality: Locality,
    reservation: Reservation | None,
) -> None:
    node = beat.node
    number = attempt.next_container
    if reservation is not None:
        number = attempt.reserved_numbers[node.name]
        resource = reservation.resource
    beat.step.emit(
        ContainerAllocated(
            container_id(attempt.id, attempt.number, number),
            attempt.id,
            node.name,
            resource,
            *key.order,
            locality,
            attempt.master is None and attempt.waits_for_master,
            reservation is not None,
            beat.step.now_ms,
        )
    )


def fulfil(
    beat: "Heartbeat", attempt: CapacityAttempt, key: AskKey, reservation: Reservation
) -> None:
    """Handle a heartbeat of the node reserved for an ask: grant a container if it fits now
    (Hadoop: CapacityScheduler.allocateFromReservedContainer)."""
    blacklist = attempt.blacklist
    node = beat.node
    if blacklist and (node.host in blacklist or node.rack in blacklist):
        return
    before = beat.misses(attempt, key)
    beat.missed(attempt, key, before + 1)
    choice, _ = _by_locality(beat, attempt, key, None, reserved=True)
    if choice is None:
        return
    if choice.fits and not _has_room(beat, choice.resource, beat.state.none):
        return
    beat.missed(attempt, key, before)
    beat.emit_misses(attempt, key)  # the event that follows counts this visit itself
    if choice.fits:
        _grant(beat, attempt, key, choice.resource, choice.locality, reservation)
    else:
        beat.step.emit(ContainerReserved(attempt.id, node.name, reservation.resource, *key.order))
