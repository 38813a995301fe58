"""One round of the proportional preemption monitor: select containers, mark them, and kill those
that were selected before and whose wait is over.

Decides by `step.emit` alone (Hadoop: ProportionalCapacityPreemptionPolicy.editSchedule).
"""

from typing import TYPE_CHECKING

from fairshare.core.model.events import (
    ContainerCompleted,
    ContainerMarked,
    ContainerSpared,
    ExitCode,
    ReservationDropped,
)
from fairshare.core.model.identifiers import ContainerId, application_of
from fairshare.core.model.resources import subtract
from fairshare.core.schedulers.capacity.calculators import truncate
from fairshare.core.schedulers.capacity.events import (
    ApplicationsOrdered,
    UserLimitsComputed,
    UserNoted,
)
from fairshare.core.schedulers.capacity.preemption.ideal import Claim, IdealAssignment
from fairshare.core.schedulers.capacity.preemption.intra_queue import IntraQueue
from fairshare.core.schedulers.capacity.preemption.reserved import (
    take_for_priority,
    take_for_reservations,
)
from fairshare.core.schedulers.capacity.preemption.selection import Selection, take_from_leaf
from fairshare.core.schedulers.capacity.state import CapacityState
from fairshare.core.schedulers.entitlement import PREEMPTED

if TYPE_CHECKING:
    from fairshare.core.schedulers.protocol import Step


class Monitor:
    """One round. Each selector sees the selections of those before it; all share one budget."""

    def __init__(self, state: CapacityState, step: "Step") -> None:
        self.state = state
        self.step = step
        self.settings = state.settings.monitor
        self._look_at_users()
        budget = truncate(state.total, self.settings.total_per_round)
        self.selection = Selection(state, budget)
        self.roots = [Claim(state, state.root, label, None) for label in state.labels]
        self.underserved: dict[tuple[str, str], None] = {}

    def _look_at_users(self) -> None:
        """Compute the user limits, to which the leaves' demand is limited
        (Hadoop: LeafQueue.getTotalPendingResourcesConsideringUserLimit).

        Hadoop creates a record for each user of an active application that has none.
        """
        for leaf in self.state.queues.values():
            for attempt in leaf.active.values():
                if leaf.users.get(attempt.user) is None:
                    self.step.emit(UserNoted(leaf.name, attempt.user))
            if leaf.active and leaf.users.outdated:
                self.step.emit(UserLimitsComputed(leaf.name))

    def run(self) -> None:
        """Select, then mark or kill; when only observing, select alone."""
        settings = self.settings
        wait_ms = settings.wait_before_kill_ms
        if settings.underutilized:
            take_for_priority(self.state, self.step, self.selection, wait_ms)
        if settings.select_reserved:
            self._assign(reserved=True, balance=False)
            leaves = [leaf for root in self.roots for leaf in root.leaves()]
            take_for_reservations(self.state, self.selection, leaves, wait_ms)
        self._take_by_order(wait_ms, reserved=settings.balance_reserved, balance=False)
        if settings.balance_after_satisfied:
            later_ms = settings.balance_wait_before_kill_ms or wait_ms
            self._take_by_order(later_ms, reserved=False, balance=True)
        if settings.intra_queue.enabled:
            IntraQueue(self.state, self.selection, self.roots, self.underserved).run(wait_ms)
        if settings.observe_only:
            return
        for node in self.selection.nodes:
            if self.state.nodes[node].reservation is not None:
                self.step.emit(ReservationDropped(node))
        for container, kill_after_ms in self.selection.containers.items():
            self._mark_or_kill(container, kill_after_ms)
        self._forget()
        self._spare()

    def _assign(self, *, reserved: bool, balance: bool) -> None:
        for root in self.roots:
            IdealAssignment(
                self.state,
                root,
                self.selection.budget,
                self.underserved,
                reserved=reserved,
                balance=balance,
            ).run()

    def _take_by_order(self, wait_ms: int, *, reserved: bool, balance: bool) -> None:
        self._assign(reserved=reserved, balance=balance)
        state = self.state
        by_leaf: dict[str, list[Claim]] = {}
        for root in self.roots:
            whole = state.total_of(root.label)
            for leaf in root.leaves():
                for size in self.selection.chosen_from(leaf):
                    leaf.deduct(state.calculator, whole, size, state.none)
                by_leaf.setdefault(leaf.queue.name, []).append(leaf)
        for name in self.roots[0].leaf_names():
            claims = by_leaf[name]
            queue = claims[0].queue
            if queue.preemptable:
                if queue.unsorted:  # like the access to its victims, this updates a fair order
                    self.step.emit(ApplicationsOrdered(queue.name))
                take_from_leaf(state, self.selection, claims, wait_ms)

    def _forget(self) -> None:
        """Unmark containers that were selected so long ago that the selection has expired
        (Hadoop: ProportionalCapacityPreemptionPolicy.cleanupStaledPreemptionCandidates).

        A selection expires after twice the wait before a kill, even if it was repeated meanwhile:
        with 15 s, a container selected at 10 s is unmarked in the first round after 40 s.
        """
        memory_ms = 2 * self.settings.wait_before_kill_ms
        now_ms = self.step.now_ms
        for container, since_ms in tuple(self.state.selected_ms.items()):
            if since_ms + memory_ms < now_ms:
                self.step.emit(ContainerSpared(container))

    def _spare(self) -> None:
        """Spare killable containers whose room is not needed any more, the oldest first
        (Hadoop: CapacityScheduler.markContainerForNonKillable).

        A leaf's containers stay killable to the extent that it uses more than it may keep: with
        8192 in use, 5120 of it kept and four of 1024 killable, one of them is spared.
        """
        state = self.state
        c = state.calculator
        killable = {
            (leaf.queue.name, leaf.label): leaf
            for root in self.roots
            for leaf in root.leaves()
            if any(leaf.killable)
        }
        if not killable:
            return
        for node in state.nodes.values():
            for container, record in sorted(node.marked.items()):
                attempt = state.attempts[record.application]
                leaf = killable.get((attempt.leaf.name, state.label_of(node)))
                if leaf is None:
                    continue
                left = subtract(leaf.killable, record.resource)
                owed = subtract(leaf.used, leaf.keep)
                if c.compare(state.total, left, owed) >= 0 or not c.above_zero(owed):
                    self.step.emit(ContainerSpared(container))
                    leaf.killable = left

    def _mark_or_kill(self, container: ContainerId, wait_ms: int) -> None:
        """Mark a container at its first selection; kill it when it is selected again after its wait
        (Hadoop: ProportionalCapacityPreemptionPolicy.preemptOrkillSelectedContainerAfterWait)."""
        state = self.state
        step = self.step
        now_ms = step.now_ms
        victim = application_of(container)
        since_ms = state.selected_ms.get(container)
        if since_ms is None:
            step.emit(ContainerMarked(container, victim, now_ms + wait_ms))
        elif since_ms + wait_ms <= now_ms:
            if state.settings.lazy_preemption:
                step.emit(ContainerMarked(container, victim, now_ms))
            else:
                step.emit(ContainerCompleted(container, ExitCode.PREEMPTED, PREEMPTED))
