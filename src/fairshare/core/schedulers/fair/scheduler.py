"""The Fair Scheduler's interface to the resource manager; the other modules have the rules."""

from collections.abc import Iterable, Sequence

from fairshare.core.model.applications import Application
from fairshare.core.model.events import (
    ApplicationAdmitted,
    ApplicationMoved,
    AttemptEnded,
    AttemptStarted,
    ConfigurationLoaded,
    QueuesConfigured,
    SharesUpdated,
)
from fairshare.core.model.identifiers import ApplicationId, ContainerId
from fairshare.core.model.inputs import SubmitApplication
from fairshare.core.model.nodes import Node
from fairshare.core.model.queues import full_name
from fairshare.core.model.resources import UNBOUNDED, Resource, ResourceTypes, add, fits, smallest
from fairshare.core.model.work import ResourceRequest
from fairshare.core.placement.rules import (
    Misplaced,
    Request,
    RuleSettings,
    clean,
    derived_rules,
    place,
    placed_as,
    use_names,
)
from fairshare.core.schedulers.access_lists import allows
from fairshare.core.schedulers.base import decoded
from fairshare.core.schedulers.calculators import normalise
from fairshare.core.schedulers.fair import (
    containers,
    limits,
    preemption,
    sharing,
    starvation,
    tree,
    views,
)
from fairshare.core.schedulers.fair.assignment import Heartbeat
from fairshare.core.schedulers.fair.attempts import FairAttempt
from fairshare.core.schedulers.fair.limits import may_administer, may_submit
from fairshare.core.schedulers.fair.queues import FairQueue, common_ancestor
from fairshare.core.schedulers.fair.reasons import FairLimits
from fairshare.core.schedulers.fair.settings import FairSettings
from fairshare.core.schedulers.fair.state import FairState
from fairshare.core.schedulers.protocol import (
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


class FairScheduler(Scheduler):
    """YARN's Fair Scheduler (Hadoop: FairScheduler)."""

    name = "fair"
    limits_type = FairLimits

    def __init__(self, types: ResourceTypes) -> None:
        self._state = FairState(types)

    @property
    def state(self) -> FairState:
        """The cluster; only events change it."""
        return self._state

    @property
    def master_attempts(self) -> int:
        """The maximum number of master attempts, the first one included."""
        return self._state.settings.master_max_attempts

    # Configuration and queues.

    def load(self, step: Step, settings: bytes, epoch_ms: int) -> None:
        """Apply settings, at the start or at a reload."""
        state = self._state
        decoded(settings, FairSettings, state.types)
        before = frozenset(state.settings.allocations.queues)
        step.emit(ConfigurationLoaded(settings, epoch_ms))
        step.emit(QueuesConfigured(tree.policies_to_change(state)))
        tree.follow_configuration(state, step, before)
        step.emit(QueuesConfigured(()))  # again, now that all queues exist
        self._admit(step, limits.candidates_after_reload(state), None)

    def tidy(self, step: Step) -> None:
        """Remove empty queues that the file does not name; retry pending conversions."""
        tree.tidy(self._state, step)

    def configured(self, name: str) -> bool:
        """Whether the file names a queue, and it exists."""
        queue = self._state.queues.get(name)
        return queue is not None and not queue.dynamic

    def is_leaf(self, name: str) -> bool:
        """Whether a queue exists, as a leaf."""
        queue = self._state.queues.get(name)
        return queue is not None and queue.leaf

    # Applications.

    def place(self, step: Step, submission: SubmitApplication) -> tuple[str, int]:
        """Choose the queue, and create it if necessary; all applications have priority 0
        (Hadoop: FairScheduler.addApplication)."""
        settings = self._state.settings
        if submission.recovering:
            name = tree.queue_of_plan(settings.allocations, full_name(submission.queue))
            return self._place_recovering(step, name), 0
        rules = settings.allocations.rules or derived_rules(
            user_as_default=settings.user_as_default_queue,
            allow_undeclared=settings.allow_undeclared_pools,
        )
        request = Request(submission.user, submission.groups, submission.queue or "default")
        try:
            name = self._place_by_tag(rules, submission) or place(rules, request, self)
        except Misplaced as refusal:
            raise Refusal(
                "rejected-by-placement", f"{refusal}. {self._advice(rules, request)}"
            ) from refusal
        user, groups = submission.user, submission.groups
        if settings.acl_enabled and not may_submit(settings.allocations, name, user, groups):
            raise Refusal(
                "access-denied", f"User {user} does not have permission to submit to {name}"
            )
        name = tree.queue_of_plan(settings.allocations, name)
        master = submission.master
        if master is not None:
            self._check_sizes((master,), self.maximum_allocation(step.now_ms, name), name)
        leaf = tree.get_or_create(self._state, step, name, leaf=True)
        if leaf is None:
            found = self._state.queues.values()
            advice = leaves_below(name, (queue.name for queue in found if queue.leaf))
            raise Refusal("not-a-leaf-queue", f"{name} is not a leaf queue{advice}")
        if not may_submit(settings.allocations, name, user, groups):
            reason = f"User {user} cannot submit applications to queue {name}"
            raise Refusal("access-denied", reason, name)
        if master is not None:
            self._check_zero(leaf, self.normalise(step, name, master))
        return name, 0

    def _advice(self, rules: Sequence[RuleSettings], request: Request) -> str:
        """Advice for a rejected submission: the queues of the file, if a rule looks at the name."""
        if not use_names(rules):
            by_user = any(rule.name == "user" and rule.parent is None for rule in rules)
            queue = f"the queue root.{clean(request.user)}" if by_user else "one that they choose"
            return f"They use no queue that a submission names: an administrator has to add {queue}"
        queues = self._state.queues.values()
        names = [queue.name for queue in queues if queue.leaf and not queue.dynamic]
        if not names:
            return "The allocation file names no queue"
        named = request.queue
        hint = "Name a queue" if named == "default" else f"There is no queue {named!r}"
        return f"{hint}; the allocation file has {listed(names)}"

    def _place_by_tag(
        self, rules: Sequence[RuleSettings], submission: SubmitApplication
    ) -> str | None:
        """The queue of the user that a tag names, if it exists and the submitting user may use it
        (Hadoop: RMAppManager.getUserNameForPlacement)."""
        settings = self._state.settings
        tagged = placed_as(settings.tag_users, submission.user, submission.tags)
        if tagged is None:
            return None
        request = Request(tagged, submission.tagged_groups, submission.queue or "default")
        name = place(rules, request, self)
        user, groups = submission.user, submission.groups
        usable = name in self._state.queues
        return name if usable and may_submit(settings.allocations, name, user, groups) else None

    def _place_recovering(self, step: Step, name: str) -> str:
        leaf = tree.get_or_create(self._state, step, name, leaf=True)
        if leaf is None:
            leaf = tree.get_or_create(self._state, step, "root.recovery", leaf=True)
        if leaf is None:
            raise Refusal("not-a-leaf-queue", f"neither {name} nor root.recovery is a leaf queue")
        return leaf.name

    def start_attempt(self, step: Step, application: Application, attempt: int) -> None:
        """Put an attempt into its queue, runnable or waiting."""
        leaf = self._state.queues[application.queue]
        runnable = limits.may_run(self._state, application.user, leaf)
        step.emit(AttemptStarted(application.id, attempt, runnable))
        if attempt > 1:
            preemption.forget_room_made_before(self._state, step, application.id)

    def end_attempt(self, step: Step, application: Application, *, failed: bool = False) -> None:
        """Remove an attempt, and let applications start that waited for it."""
        was_runnable = application.attempt.runnable
        leaf = self._state.queues[application.queue]
        step.emit(AttemptEnded(application.id, failed))
        if was_runnable:
            self._admit_after_leaving(step, leaf, application.user)

    def in_order_of_end(self, holder: Application | Node) -> Sequence[ContainerId]:
        """Containers that end together, in Hadoop's order."""
        state = self._state
        if isinstance(holder, Node):
            return containers.containers_of_node(state, holder)
        return containers.containers_of_application(state, state.attempts[holder.id])

    def _admit_after_leaving(self, step: Step, leaf: FairQueue, user: str) -> None:
        lists = limits.candidates_after_leaving(self._state, leaf, user)
        self._admit(step, lists, len(lists))

    def _admit(self, step: Step, lists: list[list[FairAttempt]], most: int | None) -> None:
        admitted = 0
        for attempt in limits.in_order_of_start(lists):
            if most is not None and admitted >= most:
                return
            if attempt.runnable:
                continue
            if limits.may_run(self._state, attempt.user, attempt.leaf):
                step.emit(ApplicationAdmitted(attempt.id))
                admitted += 1

    def move(self, step: Step, application: Application, queue: str) -> None:
        """Move an application to another leaf (Hadoop: FairScheduler.moveApplication)."""
        state = self._state
        mover = state.attempts.get(application.id)
        plans = state.settings.allocations
        target = state.queues.get(tree.queue_of_plan(plans, full_name(queue)))
        if target is None or not target.leaf:
            raise Refusal("unknown-queue", f"Target queue {queue} not found or is not a leaf queue")
        if mover is None:
            move_deferred(step, self._state, application, target.name)
            return
        source = mover.leaf
        if target is source:
            return
        runnable = limits.may_run(state, mover.user, target)
        if mover.runnable:
            self._check_move(mover, source, target)
            if not runnable:
                raise Refusal(
                    "move-exceeds-limit",
                    f"Moving the application to {target.name} would exceed a limit on running"
                    " applications that it counts against itself",
                )
        was_runnable = mover.runnable
        step.emit(ApplicationMoved(mover.id, target.name, runnable))
        if was_runnable:
            self._admit_after_leaving(step, source, mover.user)

    def _check_move(self, mover: FairAttempt, source: FairQueue, target: FairQueue) -> None:
        shared = common_ancestor(source, target)
        for queue in target.path:
            if queue is shared:
                return
            if queue.running == queue.max_running:
                raise Refusal(
                    "move-exceeds-limit",
                    f"Moving the application to {target.name} would violate the maxRunningApps"
                    f" of queue {queue.name} ({queue.max_running})",
                )
            if not fits(add(queue.used, mover.used), queue.max_share):
                raise Refusal(
                    "move-exceeds-limit",
                    f"Moving the application to {target.name} would violate the maxShare"
                    f" of queue {queue.name}",
                )

    def set_priority(self, step: Step, application: Application, priority: int) -> None:
        """Refuse: the Fair Scheduler does not support priorities of applications."""
        raise Refusal(
            "not-supported", "Update application priority is not supported in Fair Scheduler"
        )

    # Access.

    def may_administer(self, queue: str, user: str, groups: Sequence[str]) -> bool:
        """Whether yarn.admin.acl or the queue's lists allow it; always without yarn.acl.enable."""
        settings = self._state.settings
        return (
            not settings.acl_enabled
            or allows(settings.administrators, user, groups)
            or may_administer(settings.allocations, full_name(queue) if queue else "", user, groups)
        )

    def may_submit(self, queue: str, user: str, groups: Sequence[str]) -> bool:
        """Whether the queue's lists allow it; always without yarn.acl.enable
        (Hadoop: FairScheduler.checkAccess)."""
        settings = self._state.settings
        return not settings.acl_enabled or may_submit(
            settings.allocations, full_name(queue), user, groups
        )

    # Sizes of containers.

    def maximum_allocation(self, now_ms: int, queue: str) -> Resource:
        """The maximum size of a container in a queue
        (Hadoop: FairScheduler.getMaximumResourceCapability).

        Some seconds after the start at most the size of the largest nodes, for each type
        separately.
        """
        state = self._state
        maximum = state.settings.maximum_allocation
        up_ms = now_ms - (state.started_ms or 0)
        if state.nodes and up_ms > state.settings.maximum_override_delay_ms:
            maximum = smallest(maximum, state.largest_node())
        leaf = state.queues.get(queue)
        if leaf is None or leaf.max_container is None:
            return maximum
        return smallest(maximum, leaf.max_container)

    def validate(self, step: Step, queue: str, resources: Sequence[Resource]) -> None:
        """Refuse containers larger than the queue's maximum, or of a type that it may not use."""
        self._check_sizes(resources, self.maximum_allocation(step.now_ms, queue), queue)

    def check_asks(
        self, application: ApplicationId, queue: str, requests: Iterable[ResourceRequest]
    ) -> None:
        """Refuse asks for a type of which the queue's maximum is 0."""
        state = self._state
        maximum = state.queues[queue].max_share
        if 0 not in maximum:
            return
        names = state.types.names
        refused = []
        for request in requests:
            amounts = zip(names, request.resource, maximum, strict=True)
            if nothing := [name for name, amount, most in amounts if amount > 0 and most == 0]:
                refused.append((request, nothing))
        if refused:
            text = limits.zero_amount(state.types, state.epoch_ms, application, queue, refused)
            raise Refusal("zero-resource-queue", text)

    def _check_sizes(self, resources: Sequence[Resource], maximum: Resource, queue: str) -> None:
        names = self._state.types.names
        for resource in resources:
            if len(resource) == len(maximum) and min(resource) >= 0 and fits(resource, maximum):
                continue
            for name, amount, most in zip(names, resource, maximum, strict=True):
                if amount < 0:
                    raise Refusal(
                        "invalid-resource-request",
                        f"Invalid resource request, requested {name}={amount} is below 0",
                    )
                if amount > most:
                    configured = self._state.settings.maximum_allocation
                    text = limits.too_large(self._state.types, name, resource, maximum, configured)
                    raise Refusal("invalid-resource-request", text)

    def _check_zero(self, leaf: FairQueue, resource: Resource) -> None:
        names = self._state.types.names
        for name, amount, most in zip(names, resource, leaf.max_share, strict=True):
            if amount > 0 and most == 0:
                raise Refusal(
                    "zero-resource-queue",
                    f"Queue {leaf.name} has zero amount of resource {name}, but the request"
                    f" needs {amount}",
                )

    def normalise(self, step: Step, queue: str, resource: Resource) -> Resource:
        """At least the minimum, rounded up to the increment, at most the maximum
        (Hadoop: FairScheduler.getNormalizedResource)."""
        settings = self._state.settings
        return normalise(
            resource,
            settings.minimum_allocation,
            settings.increment_allocation,
            self.maximum_allocation(step.now_ms, queue),
        )

    # Time.

    def beat(self, step: Step, node: str) -> None:
        """Assign containers on a node."""
        found = self._state.nodes.get(node)
        if found is not None:
            Heartbeat(self._state, step, found).run()

    def update(self, step: Step) -> None:
        """Kill due containers; compute demand, fair shares and starvation; preempt for starved
        applications."""
        state = self._state
        preemption.kill_due(state, step)
        if sharing.update_due(state) or starvation.check_due(state):
            step.emit(SharesUpdated())
            preemption.serve_starved(state, step)
            preemption.kill_due(state, step)

    def preempt(self, step: Step) -> None:
        """Kill the containers whose preemption is due."""
        preemption.kill_due(self._state, step)

    def next_deadline_ms(self) -> int | None:
        """When the next marked container is to be killed."""
        return min(self._state.kills.values(), default=None)

    def update_interval_ms(self) -> int | None:
        """How often starvation must be checked even without other input; None: no pending asks."""
        interval_ms = self.clock_interval_ms()
        return interval_ms if interval_ms is not None and self._state.root.asking else None

    def clock_interval_ms(self) -> int | None:
        """The maximum age of the last starvation check before a change; None: not checked."""
        state = self._state
        return state.settings.update_interval_ms if starvation.check_due(state) else None

    def update_due(self) -> bool:
        """Whether an update would change anything but the starvation clocks."""
        return sharing.update_due(self._state)

    # Views.

    def queue_views(self, now_ms: int | None = None) -> list[QueueView]:
        """All queues, root first, parents before children."""
        return at_once(self.queue_views_in_steps(now_ms))

    def queue_views_in_steps(self, now_ms: int | None = None) -> Steps[list[QueueView]]:
        """The same with a pause after each queue."""
        at_ms = UNBOUNDED if now_ms is None else now_ms
        return views.queue_views(self._state, lambda queue: self.maximum_allocation(at_ms, queue))

    def leaf_shares(self) -> dict[str, Resource]:
        """The fair share of each leaf queue, as in its view, without the rest of it."""
        return {one.name: one.fair_share for one in self._state.queues.values() if one.leaf}

    def leaf_guarantees(self) -> dict[str, Resource]:
        """The minimum share of each leaf queue."""
        return {one.name: one.min_share for one in self._state.queues.values() if one.leaf}

    def application_view(self, application: ApplicationId) -> ApplicationView:
        """One application; raises KeyError."""
        return views.application_view(self._state, self._state.applications[application])
