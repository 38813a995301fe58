"""The resource manager: the meaning of each input, and the consequences of each event.

`handle(now_ms, input)` is the only entry point: a pure step that returns events. One method handles
each input; then the manager visits every event of the step once, since some have consequences here
(a container for a task is launched, a lost container is requested again).
"""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import islice
from typing import Any

import msgspec

from fairshare.core.manager import bookings, budgets, groups, lifetimes, nodes, reports, updates
from fairshare.core.manager.lifecycle import Lifecycle
from fairshare.core.manager.lifetimes import Lifetimes, Starts
from fairshare.core.manager.requests import change_labels, check_tasks
from fairshare.core.model.applications import Application
from fairshare.core.model.events import (
    ApplicationEnded,
    ApplicationMoved,
    ApplicationNumberTaken,
    ApplicationRejected,
    ApplicationState,
    ApplicationSubmitted,
    AsksChanged,
    BlacklistChanged,
    ContainerAllocated,
    ContainerCompleted,
    ContainerLaunched,
    Event,
    ExitCode,
    MasterUnregistered,
    NumbersContinued,
    RequestRefused,
    TasksAdded,
)
from fairshare.core.model.identifiers import (
    NUMBERS_AHEAD,
    ApplicationId,
    ContainerId,
    application_name,
)
from fairshare.core.model.inputs import (
    AddLabels,
    AddTasks,
    AdvanceBookings,
    BeginDue,
    CancelBooking,
    ChangeBlacklist,
    ChangeLifetime,
    ContainerExited,
    ContainerStarted,
    ContinueNumbers,
    DecommissionNode,
    DrainNode,
    FinishApplication,
    ForgetApplications,
    GangDue,
    HoldApplication,
    Input,
    KillApplication,
    KillTask,
    LabelNodes,
    LaunchContainer,
    LifetimeOver,
    LoadConfiguration,
    MakeBooking,
    MasterRegistered,
    MoveApplication,
    NodeBeat,
    NodeDue,
    NodeJoined,
    NodeLost,
    NodeResized,
    OvercommitOver,
    PreemptContainers,
    ReleaseApplication,
    ReleaseContainers,
    ReloadRefused,
    RemoveLabels,
    RequestContainers,
    RequeueApplication,
    ReserveApplication,
    SetPriority,
    SetSafeMode,
    SubmitApplication,
    TasksDue,
    TidyQueues,
    UndrainNode,
    UnregisterMaster,
    UpdateApplication,
    UpdateShares,
    UpdateUsage,
)
from fairshare.core.model.queues import full_name
from fairshare.core.model.tasks import GROUP_REQUESTS
from fairshare.core.model.time_limits import (
    TimeLimits,
    limit_in,
    limits_of,
    too_long,
    with_defaults,
)
from fairshare.core.model.work import TaskGroup
from fairshare.core.schedulers.protocol import Refusal, Scheduler, State, Step
from fairshare.errors import InvariantViolation, UndecidedError
from fairshare.wording import no_application

Change = (
    KillApplication
    | KillTask
    | MoveApplication
    | SetPriority
    | UpdateApplication
    | ChangeLifetime
    | HoldApplication
    | ReleaseApplication
    | RequeueApplication
)


def check_actor(
    scheduler: Scheduler,
    application: Application,
    request: Change,
) -> None:
    """Raise Refusal unless the user owns the application or administers its queue.

    An empty user name means the system itself, which is always permitted.
    """
    user = request.user
    if not user or user == application.user:
        return
    if not scheduler.may_administer(application.queue, user, request.groups):
        raise Refusal(
            "access-denied",
            f"User {user} does not have permission to change application {request.application}:"
            f" only its owner {application.user} may, and who administers queue"
            f" {application.queue}",
        )


UNPLACEABLE = "invalid-queue-name"
"""The code of a refusal after which the application exists without an attempt until it is
killed."""


class ResourceManager:
    """Manages the applications of one scheduler and its state."""

    def __init__(self, scheduler: Scheduler) -> None:
        self.scheduler = scheduler
        self._state = scheduler.state
        self._lifetimes = Lifetimes(scheduler)
        self._lives = Lifecycle(scheduler)
        self._starts = Starts(self._lives, self._lifetimes)
        self._consequences: dict[type, Callable[[Step, Any], None]] = {
            ContainerCompleted: self._lives.follow_completed,
            ApplicationEnded: self._starts.ended,
            ApplicationMoved: partial(budgets.follow_moved, self._state),
            AsksChanged: partial(budgets.follow_asks, self._state),
        }
        self._inputs: dict[type, Callable[[Step, Any], None]] = {
            NodeBeat: self._node_beat,
            ContainerExited: partial(reports.exited, self._state),
            ContainerStarted: partial(reports.started, self._state),
            LoadConfiguration: self._load_configuration,
            ReloadRefused: self._reload_refused,
            NodeJoined: partial(nodes.join, scheduler),
            NodeLost: partial(nodes.lose, scheduler, self._lives),
            NodeResized: partial(nodes.resize, scheduler),
            OvercommitOver: self._overcommit_over,
            GangDue: self._gang_due,
            TasksDue: self._tasks_due,
            NodeDue: partial(reports.node_due, self._state),
            DrainNode: partial(nodes.drain, scheduler),
            DecommissionNode: partial(nodes.drain, scheduler),
            UndrainNode: partial(nodes.undrain, scheduler),
            SetSafeMode: partial(nodes.set_safe_mode, scheduler),
            AddLabels: partial(change_labels, scheduler),
            RemoveLabels: partial(change_labels, scheduler),
            LabelNodes: partial(change_labels, scheduler),
            UpdateShares: self._update_shares,
            UpdateUsage: partial(budgets.update, scheduler),
            MakeBooking: partial(bookings.make, scheduler),
            CancelBooking: partial(bookings.cancel, scheduler),
            AdvanceBookings: partial(bookings.advance, scheduler),
            TidyQueues: self._tidy_queues,
            PreemptContainers: self._preempt_containers,
            SubmitApplication: self._submit,
            ReserveApplication: self._reserve_application,
            ContinueNumbers: self._continue_numbers,
            MasterRegistered: self._master_registered,
            UnregisterMaster: self._unregister_master,
            RequestContainers: self._request_containers,
            ReleaseContainers: self._release_containers,
            LaunchContainer: self._launch_container,
            AddTasks: self._add_tasks,
            ChangeBlacklist: self._change_blacklist,
            FinishApplication: self._finish,
            KillApplication: self._kill,
            KillTask: self._kill_task,
            MoveApplication: self._move,
            SetPriority: self._set_priority,
            UpdateApplication: self._update,
            ForgetApplications: partial(reports.forget, self._state),
            ChangeLifetime: self._change_lifetime,
            LifetimeOver: self._lifetime_over,
            HoldApplication: self._defer,
            ReleaseApplication: self._defer,
            RequeueApplication: self._defer,
            BeginDue: self._begin_due,
        }

    @property
    def state(self) -> State:
        """The state of the cluster."""
        return self._state

    def handle(
        self, now_ms: int, input_: Input, following: Input | None = None
    ) -> tuple[Event, ...]:
        """Decide on one input; the events have been applied to the state when this returns.

        Without events the state is unchanged. A client's mistake is an event too (RequestRefused,
        ApplicationRejected). Raises UndecidedError for a defect that occurs before the first
        event; any other exception leaves the state inconsistent.

        `following` is the input that the caller handles next without reading the state before:
        when a thousand nodes join an empty cluster one after the other, the capacities of its
        queues are computed once.
        """
        state = self._state
        step = Step(now_ms, state)
        events = step.events
        try:
            try:
                self._inputs[type(input_)](step, input_)
            except Refusal as refusal:
                application = getattr(input_, "application", 0)
                step.emit(RequestRefused(application, refusal.code, refusal.reason))
            self.scheduler.settle(step)
            if events:
                followed = self._follow(step, 0)
                while self._lives.lost_masters or self._starts.awaited:
                    self._lives.restart(step)
                    self._starts.resume(step)
                    followed = self._follow(step, followed)
            if (
                following is None
                or state.applications
                or type(following) is not NodeJoined
                or type(input_) is not NodeJoined
            ):
                state.settle()
        except Exception as error:
            if events or isinstance(error, InvariantViolation):
                raise
            raise UndecidedError(f"{type(input_).__name__}: {error!r}") from error
        return tuple(events)

    def _follow(self, step: Step, followed: int) -> int:
        """Handle the consequences of the events after the first `followed`; returns the number of
        all events."""
        events, consequence_of = step.events, self._consequences.get
        for event in islice(events, followed, None) if followed else events:  # grows meanwhile
            if type(event) is ContainerAllocated:
                if event.master or event.request >= GROUP_REQUESTS:
                    self._lives.follow_allocated(step, event)
                continue
            consequence = consequence_of(type(event))
            if consequence is not None:
                consequence(step, event)
        return len(events)

    # Nodes and configuration.

    def _load_configuration(self, step: Step, request: LoadConfiguration) -> None:
        self.scheduler.load(step, request.settings, request.epoch_ms)
        budgets.follow(self._state, step)

    def _reload_refused(self, step: Step, request: ReloadRefused) -> None:
        self.scheduler.go_back(step)

    def _overcommit_over(self, step: Step, over: OvercommitOver) -> None:
        nodes.enforce_overcommit(self.scheduler, step, over.node)

    def _node_beat(self, step: Step, beat: NodeBeat) -> None:
        if beat.node in self._state.drains:
            nodes.shrink(self.scheduler, step, beat.node)
        elif not self._state.safe_mode and not self._state.waits_for_node(beat.node):
            self.scheduler.beat(step, beat.node)

    def _update_shares(self, step: Step, request: UpdateShares) -> None:
        if not self._state.safe_mode:
            self.scheduler.update(step)

    def _tidy_queues(self, step: Step, request: TidyQueues) -> None:
        self.scheduler.tidy(step)

    def _preempt_containers(self, step: Step, request: PreemptContainers) -> None:
        if not self._state.safe_mode:
            self.scheduler.preempt(step)

    # Applications, as clients submit and change them.

    def _submit(self, step: Step, submission: SubmitApplication) -> None:
        if nodes.refuse_in_safe_mode(self.scheduler, step):
            return
        number = self._state.next_application if submission.number is None else submission.number
        if number in self._state.applications:
            raise Refusal("repeated-number", f"there is an application {number} already")
        if not 1 <= number < self._state.next_application + NUMBERS_AHEAD:
            raise Refusal(
                "unknown-number",
                f"{number} is far beyond the numbers of applications so far: ask for a new one",
            )
        try:
            groups.check_groups(submission.tasks)
            self.scheduler.check_labels(submission)
            self._starts.check(step, submission)
            queue, priority = self.scheduler.place(step, submission)
            tasks = self._limited(queue, submission.tasks)
            if tasks is not submission.tasks:
                submission = msgspec.structs.replace(submission, tasks=tasks)
            self._check_tasks(step, number, queue, submission.tasks)
            budgets.check(self._state, step.now_ms, queue, submission)
        except Refusal as refusal:
            if refusal.code == UNPLACEABLE:
                # As in Hadoop: the client gets the error, and the application exists until killed.
                step.emit(ApplicationSubmitted(number, submission, full_name(submission.queue), 0))
                step.emit(RequestRefused(number, refusal.code, refusal.reason))
                return
            step.emit(
                ApplicationRejected(number, submission, refusal.code, refusal.reason, refusal.queue)
            )
            return
        step.emit(ApplicationSubmitted(number, submission, queue, priority))
        self._starts.begin(step, self._state.applications[number])

    def _reserve_application(self, step: Step, request: ReserveApplication) -> None:
        step.emit(ApplicationNumberTaken(max(self._state.next_application, request.at_least)))

    def _continue_numbers(self, step: Step, request: ContinueNumbers) -> None:
        last = max(self._state.next_application - 1, request.application)
        step.emit(NumbersContinued(last, request.first_container))

    def _check_tasks(
        self, step: Step, number: ApplicationId, queue: str, tasks: Sequence[TaskGroup]
    ) -> None:
        self.scheduler.validate(step, queue, [group.resource for group in tasks])
        normalise = partial(self.scheduler.normalise, step, queue)
        self.scheduler.check_asks(number, queue, groups.asks_anywhere(tasks, normalise))

    @property
    def _time_limits(self) -> TimeLimits:
        return limits_of(self._state)

    def _limited(self, queue: str, tasks: tuple[TaskGroup, ...]) -> tuple[TaskGroup, ...]:
        """Groups of tasks with the time limits that they get in a queue; raises Refusal."""
        limits = self._time_limits
        if not limits:
            return tasks
        tasks = with_defaults(limits, queue, tasks)
        self._check_time(queue, [group.time_limit_ms for group in tasks])
        return tasks

    def _check_time(self, queue: str, asked_ms: Sequence[int | None]) -> None:
        if reason := too_long(self._time_limits, queue, asked_ms):
            raise Refusal("time-limit-too-long", reason)

    def _known(self, number: ApplicationId) -> Application:
        application = self._state.applications.get(number)
        if application is None:
            name = application_name(self._state.epoch_ms, number)
            raise Refusal("unknown-application", no_application(name))
        return application

    def _running(self, number: ApplicationId) -> Application:
        application = self._known(number)
        if not application.attempt.active or not application.attempt.registered:
            raise Refusal("not-running", f"application {number} is not running")
        return application

    def _not_over(self, number: ApplicationId) -> Application:
        application = self._known(number)
        if application.over:
            raise Refusal(
                "application-over", f"application {number} is already {application.state}"
            )
        return application

    def _to_change(self, request: Change) -> Application:
        """The application of a request; raises Refusal unless its user may change it."""
        application = self._not_over(request.application)
        check_actor(self.scheduler, application, request)
        return application

    def _master_registered(self, step: Step, request: MasterRegistered) -> None:
        application = self._not_over(request.application)
        prepared = application.submission.prepared
        if application.attempt.master is None and not application.attempt.comes_back and prepared:
            raise Refusal("not-running", f"the master of {request.application} does not run yet")
        if not application.attempt.registered:
            self._lives.go_live(step, application)

    def _unregister_master(self, step: Step, request: UnregisterMaster) -> None:
        application = self._running(request.application)
        if application.attempt.unregistered is None:
            step.emit(MasterUnregistered(application.id, request.final_status, request.diagnostics))
            # Otherwise the end of the master's container ends the application.
            if application.attempt.master not in application.containers:
                self._lives.end_unregistered(step, application)

    def _request_containers(self, step: Step, request: RequestContainers) -> None:
        self._lives.ask(step, self._running(request.application), request.requests)

    def _release_containers(self, step: Step, request: ReleaseContainers) -> None:
        application = self._running(request.application)
        for container in request.containers:
            self._check_live(application, container)
        for container in dict.fromkeys(request.containers):
            step.emit(
                ContainerCompleted(container, ExitCode.ABORTED, "Container released by application")
            )

    def _check_live(self, application: Application, container: ContainerId) -> None:
        if container not in application.containers:
            raise Refusal("unknown-container", f"{container} is not one of its live containers")

    def _launch_container(self, step: Step, request: LaunchContainer) -> None:
        application = self._running(request.application)
        self._check_live(application, request.container)
        if request.container in application.attempt.launched:
            raise Refusal(
                "already-launched", f"container {request.container} runs something already"
            )
        limit_ms = request.time_limit_ms
        if application.submission.driver is not None:  # masters of Hadoop's have lifetimes
            if limit_ms is None:
                limit_ms = limit_in(self._time_limits, application.queue).default_ms
            self._check_time(application.queue, [limit_ms])
        step.emit(ContainerLaunched(request.container, request.command, time_limit_ms=limit_ms))

    def _add_tasks(self, step: Step, request: AddTasks) -> None:
        application = self._running(request.application)
        groups.check_groups(request.tasks, [g.spec for g in application.tasks.groups])
        tasks = self._limited(application.queue, request.tasks)
        self._check_tasks(step, application.id, application.queue, tasks)
        check_tasks(self.scheduler, application, tasks)
        step.emit(TasksAdded(request.application, tasks))
        self._lives.ask_for_groups(step, application)

    def _change_blacklist(self, step: Step, request: ChangeBlacklist) -> None:
        present = self._running(request.application).attempt.blacklist
        gone = (*present, *request.remove)
        add = tuple(place for place in dict.fromkeys(request.add) if place not in gone)
        remove = tuple(place for place in request.remove if place in present)
        if add or remove:
            step.emit(BlacklistChanged(request.application, add, remove))

    def _finish(self, step: Step, request: FinishApplication) -> None:
        application = self._not_over(request.application)
        state = ApplicationState.FINISHED if request.succeeded else ApplicationState.FAILED
        self._lives.end(step, application, state, request.diagnostics)

    def _kill(self, step: Step, request: KillApplication) -> None:
        application = self._to_change(request)
        # With a master that has unregistered it ends with the master's status, as in Hadoop.
        if application.attempt.unregistered is None:
            self._lives.end(step, application, ApplicationState.KILLED, request.diagnostics)

    def _kill_task(self, step: Step, request: KillTask) -> None:
        application = self._to_change(request)
        groups.check_killable(application, request.group, request.task)
        self._lives.kill_task(step, application, request.group, request.task, request.diagnostics)

    def _move(self, step: Step, request: MoveApplication) -> None:
        application = self._to_change(request)
        user, groups = request.user, request.groups
        if user and not (
            self.scheduler.may_submit(request.queue, user, groups)
            or self.scheduler.may_administer(request.queue, user, groups)
        ):
            raise Refusal(
                "access-denied",
                f"User {user} does not have permission to submit to {request.queue}",
            )
        board = application.tasks.groups
        self._check_time(
            full_name(request.queue),
            [group.spec.time_limit_ms for group in board if group.waits or group.running],
        )
        self.scheduler.move(step, application, request.queue)

    def _set_priority(self, step: Step, request: SetPriority) -> None:
        application = self._to_change(request)
        self.scheduler.set_priority(step, application, request.priority)

    def _update(self, step: Step, request: UpdateApplication) -> None:
        application = self._to_change(request)
        limit_ms = request.changes.time_limit_ms
        if limit_ms is not None:
            self._check_time(application.queue, [limit_ms or None])
        check = partial(self._check_tasks, step, application.id, application.queue)
        user, groups = request.user, request.groups
        updates.update(
            step,
            self._lives,
            self._starts,
            check,
            application,
            request.changes,
            administers=not user or self.scheduler.may_administer(application.queue, user, groups),
        )

    def _change_lifetime(self, step: Step, request: ChangeLifetime) -> None:
        application = self._to_change(request)
        self._lifetimes.change(step, application, request.expires_ms)

    def _lifetime_over(self, step: Step, over: LifetimeOver) -> None:
        application = self._state.applications.get(over.application)
        if application is not None and lifetimes.is_over(step, application):
            state = ApplicationState.KILLED
            self._lives.end(step, application, state, lifetimes.diagnostics(application))

    def _defer(
        self, step: Step, request: HoldApplication | ReleaseApplication | RequeueApplication
    ) -> None:
        application = self._to_change(request)
        change = {
            HoldApplication: self._starts.hold,
            ReleaseApplication: self._starts.release,
            RequeueApplication: self._starts.requeue,
        }[type(request)]
        change(step, application)

    def _begin_due(self, step: Step, due: BeginDue) -> None:
        application = self._state.applications.get(due.application)
        if application is not None and not application.over:
            self._starts.due(step, application)

    def _tasks_due(self, step: Step, due: TasksDue) -> None:
        application = self._state.applications.get(due.application)
        if application is not None and reports.tasks_due(step, application):
            self._lives.ask_for_missing(step, application)

    def _gang_due(self, step: Step, due: GangDue) -> None:
        application = self._state.applications.get(due.application)
        if application is not None and application.attempt.active:
            self._lives.gang_due(step, application, due.group)
