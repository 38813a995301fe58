"""The containers that one round has selected, and the choice among those of a leaf.

Selects; marks and kills nothing (Hadoop: FifoCandidatesSelector).
"""

from fairshare.core.model.events import ContainerAllocated
from fairshare.core.model.identifiers import ContainerId, application_of, container_id
from fairshare.core.model.resources import Resource, add, largest, subtract
from fairshare.core.schedulers.bookings import protects
from fairshare.core.schedulers.capacity import containers, orders
from fairshare.core.schedulers.capacity.attempts import CapacityAttempt
from fairshare.core.schedulers.capacity.calculators import truncate
from fairshare.core.schedulers.capacity.preemption.ideal import Claim
from fairshare.core.schedulers.capacity.state import CapacityState


class Selection:
    """The selections of a round, with their waits, and the rest of its budget.

    `containers` has each selected container's wait between the first selection and the kill (ms).
    `nodes` are those whose reservations are dropped. `reserved` are those whose reservations count
    as selected.
    """

    def __init__(self, state: CapacityState, budget: Resource) -> None:
        self.state = state
        self.budget = budget
        self.containers: dict[ContainerId, int] = {}
        self.nodes: dict[str, None] = {}
        self.reserved: dict[str, None] = {}

    def chosen_from(self, leaf: Claim) -> list[Resource]:
        """The sizes of what was selected from a leaf so far, in the order of Hadoop's hash map of
        attempts: deductions from a target stop at the first size that exceeds the rest of it."""
        if not self.containers and not self.reserved:
            return []
        chosen = {}
        for attempt in leaf.queue.attempts.values():
            if sizes := self.chosen_of(attempt, leaf.label):
                chosen[attempt.id] = sizes
        numbers = list(chosen)
        if len(numbers) > 1:
            numbers = containers.attempts(self.state, numbers, self._applications())
        return [size for number in numbers for size in chosen[number]]

    def _applications(self) -> int:
        """From how many applications something was selected."""
        applications = {application_of(container) for container in self.containers}
        for node in self.reserved:
            reservation = self.state.nodes[node].reservation
            if reservation is not None:
                applications.add(reservation.application)
        return len(applications)

    def chosen_of(self, attempt: CapacityAttempt, label: str) -> list[Resource]:
        """The sizes of what was selected from an application on a partition, including
        reservations, in the order of Hadoop's hash set of containers."""
        places = {
            container: (record.node, record.resource)
            for container, record in attempt.containers.items()
            if container in self.containers
        }
        for node, reservation in attempt.reservations.items():
            if node in self.reserved:
                number = attempt.reserved_numbers[node]
                named = container_id(attempt.id, attempt.number, number)
                places[named] = (node, reservation.resource)
        if not places:
            return []
        ordered = containers.chosen(self.state, places)
        return [
            size for node, size in (places[one] for one in ordered) if self._label(node) == label
        ]

    def _label(self, node: str) -> str:
        return self.state.label_of(self.state.nodes[node])

    def spares(self, record: ContainerAllocated) -> bool:
        """Whether a container is not to be selected: it is already, or may be killed already (lazy
        preemption), or is within what a booking promises."""
        return (
            record.container in self.containers
            or record.container in self.state.nodes[record.node].marked
            or self.booked(record)
        )

    def booked(self, record: ContainerAllocated) -> bool:
        """Whether a container is within what a booking promises."""
        state = self.state
        return bool(state.kept) and protects(
            state, state.attempts[record.application], record.resource
        )

    def worth_taking(
        self, targets: dict[str, Resource], node: str, size: Resource, *, conservative: bool
    ) -> bool:
        """Subtract a size from the target of its partition, if that helps and the budget allows
        it."""
        state = self.state
        c = state.calculator
        label = self._label(node)
        target = targets.get(label)
        if target is None:
            return False
        target = tuple(amount or -1 for amount in target)
        targets[label] = target
        if not c.above_zero(target) or not c.fits(size, self.budget):
            return False
        after = subtract(target, size)
        if conservative:
            if c.zero_or_less(target):
                return False
        elif c.compare(state.total, largest(after, state.none), largest(target, state.none)) >= 0:
            return False
        self.budget = subtract(self.budget, size)
        if c.compare(state.total, after, state.none) <= 0:
            del targets[label]
        else:
            targets[label] = after
        return True


def victims(attempt: CapacityAttempt) -> list[ContainerAllocated]:
    """An application's containers in the order of selection: the least urgent ask, then the
    newest."""
    return sorted(
        attempt.containers.values(),
        key=lambda record: (record.priority, record.request, record.container),
        reverse=True,
    )


def take_from_leaf(
    state: CapacityState, selection: Selection, claims: list[Claim], wait_ms: int
) -> None:
    """Select containers of one leaf (its claims on all partitions) until its targets are met."""
    c = state.calculator
    leaf = claims[0].queue
    conservative = state.settings.monitor.conservative_drf
    targets = {
        claim.label: claim.target
        for claim in claims
        if c.compare(state.total, claim.target, state.none) > 0
    }
    _select_from_other_partitions(state, selection, claims, targets, wait_ms)
    masters: list[ContainerAllocated] = []
    masters_size = state.none
    for attempt in reversed(orders.active_in_order(leaf)):
        if not targets:
            break
        for node in containers.reserved(state, attempt):
            if not targets:
                break
            if node in selection.reserved:
                continue
            reservation = attempt.reservations[node]
            if selection.worth_taking(
                targets, node, reservation.resource, conservative=conservative
            ):
                selection.reserved[node] = None
            selection.nodes[node] = None  # it is dropped in any case (quirk 5)
        for record in victims(attempt):
            if not targets:
                break
            if selection.spares(record):
                continue
            if record.container == attempt.master:
                masters.append(record)
                masters_size = add(masters_size, record.resource)
            elif selection.worth_taking(
                targets, record.node, record.resource, conservative=conservative
            ):
                selection.containers[record.container] = wait_ms
    share = leaf.share
    kept = truncate(share.effective_minimum, share.master_share)
    for record in masters:
        if not targets or c.compare(state.total, masters_size, kept) <= 0:
            break
        if selection.worth_taking(targets, record.node, record.resource, conservative=conservative):
            selection.containers[record.container] = wait_ms
            masters_size = subtract(masters_size, record.resource)


def _select_from_other_partitions(
    state: CapacityState,
    selection: Selection,
    claims: list[Claim],
    targets: dict[str, Resource],
    wait_ms: int,
) -> None:
    """Select first containers of default-partition asks on nodes of another partition, the newest
    first."""
    conservative = state.settings.monitor.conservative_drf
    for claim in claims:
        if not claim.label or claim.label not in targets:
            continue
        records = [
            record
            for attempt in claim.queue.attempts.values()
            for record in attempt.containers.values()
            if state.label_of(state.nodes[record.node]) == claim.label
            and not attempt.asks.keys[(record.priority, record.request)].label
        ]
        for record in sorted(records, key=lambda r: r.container, reverse=True):
            if record.container in selection.containers or selection.booked(record):
                continue
            if selection.worth_taking(
                targets, record.node, record.resource, conservative=conservative
            ):
                selection.containers[record.container] = wait_ms
