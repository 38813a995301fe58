"""The lifecycle of applications: attempts, their requests, and the consequences of an end.

`resource_manager.py` calls these steps; they change the state only through `step.emit`.
"""

from collections.abc import Sequence

import msgspec

from fairshare.core.manager import groups
from fairshare.core.manager.requests import entries, label_of
from fairshare.core.model.applications import Application
from fairshare.core.model.events import (
    ApplicationEnded,
    ApplicationState,
    AsksChanged,
    ContainerAllocated,
    ContainerCompleted,
    ContainerLaunched,
    ExitCode,
    GangResumed,
    MasterStarted,
    RequestRefused,
    TaskKilled,
)
from fairshare.core.model.identifiers import APPLICATION_SHIFT, attempt_of
from fairshare.core.model.resources import Resource
from fairshare.core.model.tasks import GROUP_REQUESTS, is_own_failure
from fairshare.core.model.time_limits import limit_in, limits_of
from fairshare.core.model.work import ContainerRequest
from fairshare.core.schedulers.protocol import Refusal, Scheduler, Step
from fairshare.core.schedulers.reasons import Bound

MASTER_PRIORITY = 0
"""The request priority of a master's own container, as in Hadoop."""

ENDED = "Container killed: its application has ended"


class Lifecycle:
    """The lifecycle of all applications of one scheduler."""

    def __init__(self, scheduler: Scheduler) -> None:
        self.scheduler = scheduler
        self.state = scheduler.state
        """The state of the cluster."""
        self.lost_masters: list[Application] = []  # in one step, until it is over

    def start_attempt(self, step: Step, application: Application) -> None:
        """Start the first or the next attempt: request its master's container, or, for a prepared
        application without a master, go live at once."""
        self.scheduler.start_attempt(step, application, application.attempt.number + 1)
        master = application.submission.master
        if master is not None and application.attempt.comes_back:
            return  # its master is still alive, and will register again
        if master is not None:
            requests = [ContainerRequest(1, master, priority=MASTER_PRIORITY)]
            try:
                self._enter(step, application, requests, check=application.attempt.number > 1)
            except (
                Refusal
            ) as refusal:  # the queue lost a resource type; the attempt waits, as in Hadoop
                step.emit(RequestRefused(application.id, refusal.code, refusal.reason))
        elif application.submission.prepared:
            self.go_live(step, application)

    def go_live(self, step: Step, application: Application) -> None:
        """The master runs: enter the requests and the task groups of the submission."""
        step.emit(MasterStarted(application.id))
        requests = application.submission.requests
        if requests:
            try:
                self.ask(step, application, requests)
            except Refusal as refusal:
                step.emit(RequestRefused(application.id, refusal.code, refusal.reason))
        self.ask_for_groups(step, application)

    def ask_for_groups(self, step: Step, application: Application) -> None:
        """Request containers for the task groups that are ready."""
        if application.tasks.groups:
            self._enter_tasks(step, application, groups.due_requests(application))

    def ask(
        self, step: Step, application: Application, requests: tuple[ContainerRequest, ...]
    ) -> None:
        """Change the application's requests; raises Refusal, and then changes none of them."""
        self.scheduler.validate(step, application.queue, [r.resource for r in requests])
        self._enter(step, application, list(requests), check=True)

    def _enter(
        self,
        step: Step,
        application: Application,
        requests: list[ContainerRequest],
        *,
        check: bool = False,
    ) -> None:
        if not requests:
            return
        asks = entries(self.scheduler, step, application, requests)
        if check:  # the scheduler checks the requested sizes, before rounding
            sizes = {(one.priority, one.request): one.resource for one in requests}
            asked = [
                msgspec.structs.replace(one, resource=sizes[one.priority, one.request])
                for one in asks
            ]
            self.scheduler.check_asks(application.id, application.queue, asked)
        step.emit(AsksChanged(application.id, asks))

    def gang_due(self, step: Step, application: Application, number: int) -> None:
        """A gang has waited for long enough: it gives up, or, if it did that before, asks again.

        Without effect if it is not due; a paused one is due as soon as there is room for all of it.
        """
        gang = self.state.gangs.get((application.id, number))
        if gang is None or gang.due_ms is None:
            return
        if gang.paused and self._is_held(application):
            if gang.due_ms <= step.now_ms:
                groups.pause_gang(step, self.state, application, number)
            return
        progress = application.tasks.groups[number]
        due = gang.due_ms <= step.now_ms
        if not gang.paused:
            if due:
                groups.give_up_gang(step, self.state, application, number)
                withdrawn = groups.request(number, progress, -progress.spec.count)
                self._enter(step, application, [withdrawn])
            return
        request = groups.request(number, progress, len(progress.waiting))
        place = application, progress, *self._place_of(step, application, request)
        if due or groups.gang_has_room(self.state, *place):
            count = groups.most_of_gang(self.state, *place)
            if count < len(progress.waiting):
                groups.pause_gang(step, self.state, application, number, count)
            else:
                step.emit(GangResumed(application.id, number))
                self._enter(step, application, [request])

    def _place_of(
        self, step: Step, application: Application, request: ContainerRequest
    ) -> tuple[Resource, str, Sequence[Bound]]:
        """The size and the partition of the containers that a gang requests, and its limits."""
        size = self.scheduler.normalise(step, application.queue, request.resource)
        label = label_of(self.scheduler, application, request)
        return size, label, self.scheduler.limits_of(application.id).bounds(size, label)

    def _enter_tasks(
        self, step: Step, application: Application, requests: list[ContainerRequest]
    ) -> None:
        """Enter requests for tasks, without those of gangs that wait or do not fit at all; none if
        the application is held."""
        if not requests or self._is_held(application):
            return
        self._enter(step, application, [r for r in requests if self._asks(step, application, r)])

    def _asks(self, step: Step, application: Application, request: ContainerRequest) -> bool:
        number = request.request - GROUP_REQUESTS
        progress = application.tasks.groups[number]
        if not progress.starts_together:
            return True
        if groups.is_gang_paused(self.state, application, number):
            return False
        if groups.held_by_gang(self.state, application, number):
            return True
        place = application, progress, *self._place_of(step, application, request)
        count = groups.most_of_gang(self.state, *place)
        if count < len(progress.waiting):
            groups.pause_gang(step, self.state, application, number, count)
            return False
        return True

    def _is_held(self, application: Application) -> bool:
        deferred = self.state.deferred
        return bool(deferred) and application.id in deferred and deferred[application.id].held

    def can_pause(self, application: Application) -> bool:
        """Whether the manager decides what an active application starts: it has groups of tasks,
        or its master waits for its container."""
        if application.managed:
            return application.attempt.waits_for_master
        return bool(application.tasks.groups)

    def withdraw(self, step: Step, application: Application) -> None:
        """Withdraw the requests of an application that `can_pause`."""
        master = application.submission.master
        if master is not None:
            self._enter(step, application, [ContainerRequest(-1, master, priority=MASTER_PRIORITY)])
            return
        self.withdraw_tasks(step, application)

    def withdraw_tasks(self, step: Step, application: Application) -> None:
        """Withdraw the requests for its tasks."""
        groups_ = enumerate(application.tasks.groups)
        asked = [
            groups.request(number, progress, -progress.spec.count)
            for number, progress in groups_
            if progress.started and progress.waiting
        ]
        self._enter(step, application, asked)

    def ask_again(self, step: Step, application: Application) -> None:
        """Request what `withdraw` withdrew, and what has become due since."""
        master = application.submission.master
        if master is not None:
            self._enter(step, application, [ContainerRequest(1, master, priority=MASTER_PRIORITY)])
            return
        self.ask_for_tasks(step, application)

    def ask_for_tasks(self, step: Step, application: Application) -> None:
        """Request what `withdraw_tasks` withdrew, and what has become due since."""
        self.ask_for_missing(step, application)
        self.ask_for_groups(step, application)

    def end(
        self, step: Step, application: Application, state: ApplicationState, diagnostics: str
    ) -> None:
        """End an application and its containers."""
        if application.attempt.active:
            containers = list(self.scheduler.in_order_of_end(application))
            if state != ApplicationState.KILLED and application.attempt.master in containers:
                # A finished master exits by itself, before the other containers are stopped.
                containers.sort(key=lambda container: container != application.attempt.master)
            for container in containers:
                step.emit(ContainerCompleted(container, ExitCode.ABORTED, ENDED))
            self.scheduler.end_attempt(step, application)
        step.emit(ApplicationEnded(application.id, state, diagnostics))

    def kill_task(
        self, step: Step, application: Application, number: int, task: int, diagnostics: str
    ) -> None:
        """End one task for good, and the application if nothing else of it can run."""
        board = application.tasks
        progress = board.groups[number]
        container = progress.running.get(task)
        step.emit(TaskKilled(application.id, number, task, diagnostics))
        if container is not None:
            step.emit(ContainerCompleted(container, ExitCode.ABORTED, diagnostics))
            return  # what follows from its end includes the rest
        surplus = self._asked(application, number) - progress.due
        if surplus > 0:
            self._enter(step, application, [groups.request(number, progress, -surplus)])
        self._end_if_over(step, application)

    def end_unregistered(self, step: Step, application: Application) -> None:
        """End an application with the final status that its master reported."""
        report = application.attempt.unregistered
        assert report is not None
        states = {"FAILED": ApplicationState.FAILED, "KILLED": ApplicationState.KILLED}
        state = states.get(report.final_status, ApplicationState.FINISHED)
        self.end(step, application, state, report.diagnostics)

    def follow_allocated(self, step: Step, event: ContainerAllocated) -> None:
        """Launch the driver or the task that a newly allocated container is for."""
        application = self.state.applications[event.application]
        if event.master:
            driver = application.submission.driver
            if driver is not None:
                limit = limit_in(limits_of(self.state), application.queue)
                step.emit(
                    ContainerLaunched(event.container, driver, time_limit_ms=limit.maximum_ms)
                )
        elif event.request >= GROUP_REQUESTS:
            number = event.request - GROUP_REQUESTS
            progress = application.tasks.groups[number]
            if progress.starts_together:
                groups.hold_for_gang(step, self.state, event, number)
            elif progress.due:
                step.emit(
                    ContainerLaunched(
                        event.container,
                        None,
                        number,
                        progress.waiting[0],
                        progress.spec.time_limit_ms,
                    )
                )
            else:
                step.emit(ContainerCompleted(event.container, ExitCode.ABORTED, "no task is left"))

    def follow_completed(self, step: Step, event: ContainerCompleted) -> None:
        """After the end of a task's container, retry or finish the task; after the end of the
        master's container, end the attempt."""
        container = event.container
        application = self.state.applications[container >> APPLICATION_SHIFT]
        attempt = application.attempt
        of_master = container == attempt.master
        if not of_master and not application.tasks.groups:
            return  # its own master sees to it
        if application.finished_ms is not None:
            return
        if not attempt.active or attempt_of(container) != attempt.number:
            return
        if of_master:
            self._master_completed(step, application, event)
        else:
            self._task_completed(step, application, event)

    def _master_completed(
        self, step: Step, application: Application, event: ContainerCompleted
    ) -> None:
        if application.attempt.unregistered is not None:
            self.end_unregistered(step, application)
            return
        details = application.submission.details
        succeeded = event.exit_code == 0
        if succeeded and application.submission.driver is not None and not details.must_unregister:
            self.end(step, application, ApplicationState.FINISHED, event.diagnostics)
            return
        failed = is_own_failure(event.exit_code) or (succeeded and details.must_unregister)
        attempts = self.scheduler.master_attempts
        wanted = details.max_attempts
        if 0 < wanted < attempts:
            attempts = wanted
        if failed and (event.cannot_start or application.failures(step.now_ms) + 1 >= attempts):
            self.end(
                step,
                application,
                ApplicationState.FAILED,
                f"its master {_failure(attempts, event)}",
            )
            return
        for container in self.scheduler.in_order_of_end(application):
            # The next attempt takes over what runs already, as in Hadoop
            # (`CapacityScheduler.doneApplicationAttempt`), but for tasks of groups: for these it
            # requests containers itself.
            outlives = (
                details.keep_containers
                and container in self.state.running
                and container not in application.tasks.assigned
            )
            if not outlives:
                step.emit(
                    ContainerCompleted(container, ExitCode.ABORTED, "Container killed: master lost")
                )
        self.scheduler.end_attempt(step, application, failed=failed)
        self.lost_masters.append(application)

    def restart(self, step: Step) -> None:
        """Start the next attempts of the applications whose masters were lost in this step.

        Called after all lost containers have ended: when several masters are lost with a node, no
        application starts a new attempt before the others have left their queues, as in Hadoop.
        """
        lost, self.lost_masters = self.lost_masters, []
        for application in lost:
            if not application.over:
                self.start_attempt(step, application)

    def _task_completed(
        self, step: Step, application: Application, event: ContainerCompleted
    ) -> None:
        board = application.tasks
        hopeless = board.hopeless
        if hopeless is not None:
            number, task = hopeless
            spec = board.groups[number].spec
            together = board.groups[number].restarts_together
            failed = "tasks of the gang" if together else f"task {spec.index_of(task)} of group"
            self.end(
                step,
                application,
                ApplicationState.FAILED,
                f"{failed} {spec.name} {_failure(spec.attempts, event)}",
            )
            return
        if self._end_if_over(step, application) or not board.waits:
            return  # then nothing is to be started again, or asked for
        if board.depends_on_running:
            groups.restart_broken_gangs(step, application)
        # A task that succeeded does not wait again, and the others of its group were asked for.
        if event.exit_code != 0 or board.depends_on_running:
            self.ask_for_missing(step, application)
        self.ask_for_groups(step, application)

    def _end_if_over(self, step: Step, application: Application) -> bool:
        """End an application without a master of which nothing runs, or can; whether it ended."""
        board = application.tasks
        if application.submission.master is not None or not board.over:
            return False
        if board.complete:
            self.end(step, application, ApplicationState.FINISHED, "")
            return True
        failed = any(progress.lost_tasks for progress in board.groups)
        state = ApplicationState.FAILED if failed else ApplicationState.KILLED
        self.end(step, application, state, groups.losses(board))
        return True

    def ask_for_missing(self, step: Step, application: Application) -> None:
        """Request containers for the waiting tasks that the outstanding requests do not cover."""
        missing = []
        for number, progress in enumerate(application.tasks.groups):
            if not progress.waiting or not progress.started:
                continue
            count = progress.due - self._asked(application, number)
            if progress.spec.gang:
                count -= groups.held_by_gang(self.state, application, number)
            if count > 0:
                missing.append(groups.request(number, progress, count))
        self._enter_tasks(step, application, missing)

    @staticmethod
    def _asked(application: Application, number: int) -> int:
        """How many containers a group's outstanding requests are for."""
        priority = application.tasks.groups[number].spec.priority
        key = application.attempt.asks.keys.get((priority, GROUP_REQUESTS + number))
        return key.anywhere.count if key is not None and key.anywhere else 0


def _failure(attempts: int, event: ContainerCompleted) -> str:
    """What a task or a master did in vain, for its application's diagnostics."""
    if event.cannot_start:
        words = event.diagnostics.strip()
        return f"cannot start (exit code {event.exit_code}), and was not tried again: {words}"
    if event.at_limit:
        words = event.diagnostics.strip() or "it reached a limit"
        return f"failed, with no further attempt: {words}"
    return f"failed {_times_and_last(attempts, event)}"


def _times_and_last(attempts: int, event: ContainerCompleted) -> str:
    """The number of failures and the last exit code, which is not repeated if the engine's
    diagnostics start with it: `4 times, the last time with exit code 1: no such file`."""
    if event.exit_code < 0:  # Hadoop's code of an end from outside, which its words say better
        head = "once" if attempts == 1 else f"{attempts} times"
        return f"{head}; {event.diagnostics.strip() or 'its container was ended'}"
    code = f"exit code {event.exit_code}"
    more = event.diagnostics.strip()
    if more.startswith(code) and not more[len(code) : len(code) + 1].isdigit():
        more = more.removeprefix(code).lstrip(" .:,\n")
    head = f"once, with {code}" if attempts == 1 else f"{attempts} times, the last time with {code}"
    return f"{head}. {more}".rstrip() if more else f"{head}."
