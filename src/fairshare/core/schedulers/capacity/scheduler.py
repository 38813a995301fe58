"""The Capacity Scheduler's interface to the resource manager; the other modules have the rules."""

from collections.abc import Sequence

from fairshare.core.model.applications import Application
from fairshare.core.model.events import (
    ApplicationAdmitted,
    ApplicationMoved,
    AsksChanged,
    AttemptEnded,
    AttemptStarted,
    PriorityChanged,
    QueueCreated,
    QueuesConfigured,
)
from fairshare.core.model.identifiers import ApplicationId, ContainerId
from fairshare.core.model.inputs import SubmitApplication
from fairshare.core.model.nodes import Node
from fairshare.core.model.queues import ROOT
from fairshare.core.model.resources import UNBOUNDED, Resource, ResourceTypes, subtract
from fairshare.core.placement.mapping import MappingRequest, place
from fairshare.core.placement.rules import Misplaced, placed_as
from fairshare.core.schedulers.access_lists import allows
from fairshare.core.schedulers.base import decoded
from fairshare.core.schedulers.capacity import (
    activation,
    admission,
    containers,
    limits,
    management,
    naming,
    partitions,
    tree,
    views,
)
from fairshare.core.schedulers.capacity.admission import may_administer, may_submit
from fairshare.core.schedulers.capacity.attempts import Stage
from fairshare.core.schedulers.capacity.events import LimitsComputed
from fairshare.core.schedulers.capacity.heartbeat import Heartbeat
from fairshare.core.schedulers.capacity.naming import QueueIndex
from fairshare.core.schedulers.capacity.preemption.monitor import Monitor
from fairshare.core.schedulers.capacity.queues import CapacityQueue
from fairshare.core.schedulers.capacity.reasons import CapacityLimits
from fairshare.core.schedulers.capacity.settings import CapacitySettings
from fairshare.core.schedulers.capacity.state import CapacityState
from fairshare.core.schedulers.protocol import (
    PartitionLevel,
    Refusal,
    Scheduler,
    Step,
    Steps,
    at_once,
    leaves_below,
    listed,
    move_deferred,
)
from fairshare.core.schedulers.views import ApplicationView, QueueView


class CapacityScheduler(partitions.PartitionMethods, Scheduler):
    """YARN's Capacity Scheduler (Hadoop: CapacityScheduler)."""

    name = "capacity"
    limits_type = CapacityLimits
    tidies_in_rounds = True

    def __init__(self, types: ResourceTypes) -> None:
        self._state: CapacityState = CapacityState(types)

    @property
    def state(self) -> CapacityState:
        """The cluster; only events change it."""
        return self._state

    @property
    def master_attempts(self) -> int:
        """The maximum number of master attempts, the first one included."""
        return self._state.settings.master_max_attempts

    # Configuration and queues.

    def load(self, step: Step, settings: bytes, epoch_ms: int) -> None:
        """Apply settings, at the start or at a reload; for refused ones see `go_back`
        (Hadoop: CapacityScheduler.reinitialize)."""
        state = self._state
        new = decoded(settings, CapacitySettings, state.types)
        try:
            tree.follow(state, step, new, settings, epoch_ms)
        except Refusal:
            if tree.reaches_queues(new):
                self.go_back(step)
            raise
        activation.activate_everywhere(state, step)
        activation.wake_everywhere(state, step)

    def go_back(self, step: Step) -> None:
        """Reapply the settings in force, unless a node's size has made them invalid.

        Without applications and entitled leaves this would change nothing and is skipped.
        """
        state = self._state
        idle = not any(queue.attempts or queue.entitled for queue in state.queues.values())
        if not idle and tree.is_sound(state):
            step.emit(QueuesConfigured(()))
            management.run_after_reload(state, step)
            activation.activate_everywhere(state, step)

    def tidy(self, step: Step) -> None:
        """Run one round of the removal of queues created on demand, if configured."""
        if self._state.settings.monitor.auto_removal:
            tree.remove_idle(self._state, step)

    def tidy_interval_ms(self) -> int | None:
        """As in Hadoop the interval of the rounds is a queue's expiration time."""
        state = self._state
        if not state.settings.monitor.auto_removal:
            return None
        return max(1, state.settings.queue_expiration_ms) if tree.expires(state) else None

    # Applications.

    def place(self, step: Step, submission: SubmitApplication) -> tuple[str, int]:
        """Choose the queue, create it if necessary, and resolve the priority (Hadoop: RMAppManager,
        CapacityScheduler.addApplication)."""
        state = self._state
        if submission.recovering:
            return self._leaf(step, submission.queue, submission).name, submission.priority or 0
        name, mapped = self._placed(submission)
        queue = naming.find(state, name)
        if queue is None and "." in name:
            name = self._in_full(name, submission, mapped=mapped)
            queue = naming.find(state, name)
        master = submission.master
        if master is not None:
            self._check_sizes((master,), state.largest_container(step.now_ms, queue), name)
        priority = self._check_rights(queue, name, submission)
        admission.check_system(state)
        if not mapped:
            tree.check_mapped(state, name, submission)
        leaf = self._leaf(step, name, submission)
        partitions.check_submission(state, leaf, submission, created=queue is None)
        if queue is None:
            priority = admission.priority_of(
                state.settings, leaf, submission.user, submission.groups, submission.priority
            )
        admission.check_leaf(step, leaf, submission.user)
        return leaf.name, admission.workflow_priority(state, leaf, submission, priority)

    def _in_full(self, name: str, submission: SubmitApplication, *, mapped: bool) -> str:
        """The path of a queue that does not exist by this name. As in Hadoop the attempt of an
        application with a master does not find its queue by a partial path
        (Hadoop: RMAppAttemptImpl.ScheduleTransition)."""
        state = self._state
        path = naming.in_full(state, name)
        if path != name and not mapped and partitions.needs_default(state, submission):
            message = f"Could not find queue for application : {name}. Name all of it: {path}"
            raise Refusal("unknown-queue", message)
        return path

    def _placed(self, submission: SubmitApplication) -> tuple[str, bool]:
        """The queue, and whether a mapping chose it."""
        state = self._state
        tagged = placed_as(state.settings.tag_users, submission.user, submission.tags)
        if tagged is not None:
            name = self._mapped(submission, tagged, submission.tagged_groups)
            found = None if name is None else naming.find(state, name)
            if found is not None and may_submit(found, submission.user, submission.groups):
                return found.name, True
        name = self._mapped(submission, submission.user, submission.groups)
        return name or submission.queue or "default", name is not None

    def _mapped(
        self, submission: SubmitApplication, user: str, groups: Sequence[str]
    ) -> str | None:
        """The queue that a mapping chooses for a user."""
        state = self._state
        request = MappingRequest(
            user, tuple(groups), submission.queue or "default", submission.name
        )
        override = state.settings.mappings_override
        try:
            return place(state.settings.mappings, request, QueueIndex(state), override=override)
        except Misplaced as refusal:
            raise Refusal("rejected-by-placement", str(refusal)) from refusal

    def _check_rights(
        self, queue: CapacityQueue | None, name: str, submission: SubmitApplication
    ) -> int:
        settings = self._state.settings
        if queue is None:
            tree.check_access(self._state, name, submission)
        if queue is None or not queue.leaf:
            return 0
        priority = admission.priority_of(
            settings, queue, submission.user, submission.groups, submission.priority
        )
        if settings.acl_enabled and not may_submit(queue, submission.user, submission.groups):
            raise Refusal(
                "access-denied",
                f"User {submission.user} does not have permission to submit to queue {queue.name}",
            )
        return priority

    def _leaf(self, step: Step, name: str, submission: SubmitApplication) -> CapacityQueue:
        state = self._state
        if naming.ambiguous(state, name):
            raise Refusal(
                "ambiguous-queue",
                f"Application submitted by user {submission.user} to ambiguous queue: {name}"
                " please use full queue path instead",
            )
        queue = naming.find(state, name)
        if queue is None:
            if "." not in name:
                raise Refusal(
                    "unknown-queue",
                    f"Application submitted by user {submission.user} to unknown queue: {name}."
                    f" The leaf queues are {listed(self._leaves())}",
                )
            leaf = tree.create(state, step, name)
            for event in tuple(step.events):
                if isinstance(event, QueueCreated):
                    above = state.queues[event.queue].parent or state.root
                    activation.activate_below(state, step, state.made_below(above))
            return leaf
        if not queue.leaf:
            advice = leaves_below(queue.name, self._leaves())
            reason = (
                f"Application submitted by user {submission.user} to non-leaf queue: {queue.name}"
            )
            raise Refusal("not-a-leaf-queue", reason + advice, queue.name)
        return queue

    def _leaves(self) -> list[str]:
        return [queue.name for queue in self._state.queues.values() if queue.leaf]

    def start_attempt(self, step: Step, application: Application, attempt: int) -> None:
        """Put an attempt into its queue; it becomes active when there is room for its master."""
        state = self._state
        leaf = state.queue_of(application.queue)
        may_run = limits.may_run(state, application.user, leaf)
        step.emit(AttemptStarted(application.id, attempt, may_run))
        if may_run:
            activation.activate_if_any_nodes(state, step, leaf)

    def end_attempt(self, step: Step, application: Application, *, failed: bool = False) -> None:
        """Remove an attempt, and let applications start that waited for it."""
        state = self._state
        leaf = state.queue_of(application.queue)
        held = application.id in leaf.held
        step.emit(AttemptEnded(application.id, failed))
        activation.activate(state, step, leaf)
        if not held:
            activation.wake_after_leaving(state, step, leaf, application.user)

    def in_order_of_end(self, holder: Application | Node) -> Sequence[ContainerId]:
        """Containers that end together, in Hadoop's order."""
        if isinstance(holder, Node):
            return containers.of_node(self._state, holder)
        return containers.of_application(self._state, self._state.attempts[holder.id])

    def move(self, step: Step, application: Application, queue: str) -> None:
        """Move an application to another leaf; a move to its own leaf counts as leaving and
        entering (Hadoop: CapacityScheduler.moveApplication)."""
        state = self._state
        mover = state.attempts.get(application.id)
        target = naming.find(state, queue)
        if target is None:
            raise Refusal("unknown-queue", f"The specified Queue: {queue} doesn't exist")
        if not target.leaf:
            raise Refusal(
                "not-a-leaf-queue", f"The specified Queue: {target.name} is not a Leaf Queue"
            )
        if mover is None:
            admission.check_leaf(step, target, application.user)
            move_deferred(step, self._state, application, target.name)
            return
        source = mover.leaf
        admission.check_leaf(step, target, mover.user)
        partitions.check_move(mover, target)
        may_run = mover.id not in source.held  # max-parallel-apps is not checked again
        step.emit(ApplicationMoved(mover.id, target.name, may_run))
        activation.activate(state, step, source)
        if may_run:
            step.emit(ApplicationAdmitted(mover.id, woken=True))
            activation.activate_if_any_nodes(state, step, target)
        step.emit(AsksChanged(mover.id, ()))

    def set_priority(self, step: Step, application: Application, priority: int) -> None:
        """Change an application's priority, at most to the cluster's maximum
        (Hadoop: CapacityScheduler.updateApplicationPriority).

        As in Hadoop the priority resolved at submission counts as the present one: setting that
        again changes nothing, and a new attempt starts with it.
        """
        state = self._state
        attempt = state.attempts.get(application.id)
        settings = state.settings
        limited = min(priority, settings.maximum_application_priority)
        leaf = state.queue_of(application.queue)
        admission.check_priority(settings, leaf, application.user, application.groups, limited)
        if limited == application.first_priority:  # as in Hadoop it cannot be set back
            return
        moves = attempt is not None and (
            attempt.stage == Stage.HELD or attempt.id in attempt.leaf.unsorted
        )
        if limited != application.priority or moves:  # see `reprioritise`
            step.emit(PriorityChanged(application.id, limited))

    def may_administer(self, queue: str, user: str, groups: Sequence[str]) -> bool:
        """Whether a user may kill or move other users' applications in a queue
        (Hadoop: CapacityScheduler.checkAccess)."""
        settings = self._state.settings
        if not settings.acl_enabled or allows(settings.administrators_acl, user, groups):
            return True
        found = self._state.queues.get(queue)
        return found is not None and may_administer(found, user, groups)

    def may_submit(self, queue: str, user: str, groups: Sequence[str]) -> bool:
        """Whether a user may submit applications to a queue."""
        leaf = naming.find(self._state, queue)
        if not self._state.settings.acl_enabled or leaf is None:
            return True
        return may_submit(leaf, user, groups)

    def lifetime_s(self, queue: str, requested_s: int) -> int:
        """The lifetime that a leaf grants for a requested one; 0 or less: no limit
        (Hadoop: CapacityScheduler.checkAndGetApplicationLifetime)."""
        return admission.lifetime_s(self._state.queue_of(queue), requested_s)

    def maximum_lifetime_s(self, queue: str) -> int:
        """The longest lifetime that a leaf grants; 0 or less: no limit."""
        return self._state.queue_of(queue).maximum_lifetime_s

    # Sizes of containers.

    def validate(self, step: Step, queue: str, resources: Sequence[Resource]) -> None:
        """Refuse containers larger than the maximum of the queue or the cluster."""
        state = self._state
        most = state.largest_container(step.now_ms, state.queues.get(queue))
        self._check_sizes(resources, most, queue)

    def _check_sizes(self, resources: Sequence[Resource], most: Resource, queue: str) -> None:
        names = self._state.types.names
        for resource in resources:
            for name, amount, largest in zip(names, resource, most, strict=True):
                if amount < 0 or amount > largest:
                    raise Refusal(
                        "invalid-resource-request",
                        f"Invalid resource request, requested {name}={amount} is below 0 or more"
                        f" than the maximum allowed allocation of queue {queue}, {name}={largest}",
                    )

    def normalise(self, step: Step, queue: str, resource: Resource) -> Resource:
        """The size that is granted for an ask of this size
        (Hadoop: SchedulerUtils.getNormalizedResource)."""
        return self._state.normalise(step.now_ms, resource)

    # Time.

    def node_changed(self, step: Step) -> None:
        """Run activation passes, since more masters may fit; also after a resize to the same
        size."""
        if not step.events and ROOT in self._state.queues:
            step.emit(LimitsComputed(ROOT))
        activation.activate_for_node(self._state, step)

    def beat(self, step: Step, node: str) -> None:
        """Assign containers on a node."""
        found = self._state.nodes.get(node)
        if found is not None:
            Heartbeat(self._state, step, found).run()

    def update(self, step: Step) -> None:
        """Run one round of the older auto-creation; all else is computed when something changes."""
        if self._state.settings.monitor.legacy_queue_management:
            management.run(self._state, step)

    def preempt(self, step: Step) -> None:
        """Run one round of the preemption monitor, if configured."""
        if self._state.settings.monitor.enabled:
            Monitor(self._state, step).run()

    def monitor_interval_ms(self) -> int | None:
        """None while there are no asks and no selected containers, or nothing in use that could be
        preempted (Hadoop: ProportionalCapacityPreemptionPolicy)."""
        state = self._state
        monitor = state.settings.monitor
        if not monitor.enabled or monitor.observe_only or not state.queues:
            return None
        shares = state.root.shares.values()
        asked = state.selected_ms or any(any(s.pending) or any(s.killable) for s in shares)
        return monitor.interval_ms if asked and any(any(share.used) for share in shares) else None

    def update_interval_ms(self) -> int | None:
        """None unless a round of the older auto-creation would change something
        (Hadoop: GuaranteedOrZeroCapacityOverTimePolicy)."""
        state = self._state
        if not state.settings.monitor.legacy_queue_management:
            return None
        changes = any(True for _ in management.changes(state))
        return state.settings.monitor.legacy_interval_ms if changes else None

    # Views.

    def queue_views(self, now_ms: int | None = None) -> list[QueueView]:
        """All queues, root first, parents before children."""
        return at_once(self.queue_views_in_steps(now_ms))

    def queue_views_in_steps(self, now_ms: int | None = None) -> Steps[list[QueueView]]:
        """The same with a pause after each queue."""
        at_ms = UNBOUNDED if now_ms is None else now_ms
        return views.queue_views(self._state, at_ms)

    def leaf_shares(self) -> dict[str, Resource]:
        """The fair share of each leaf queue, as in its view, without the rest of it."""
        queues = self._state.queues.values()
        return {one.name: one.shares[""].effective_minimum for one in queues if one.leaf}

    def partition_levels(self) -> list[PartitionLevel]:
        """What each leaf queue uses of each partition, without what is reserved, and its guaranteed
        capacity there."""
        return [
            PartitionLevel(
                queue.name, label, subtract(share.used, share.reserved), share.effective_minimum
            )
            for queue in self._state.queues.values()
            if queue.leaf
            for label, share in queue.shares.items()
        ]

    def leaf_guarantees(self) -> dict[str, Resource]:
        """The capacity of each leaf queue, which is its fair share too."""
        return self.leaf_shares()

    def application_view(self, application: ApplicationId) -> ApplicationView:
        """One application; raises KeyError."""
        return views.application_view(self._state, self._state.applications[application])
