"""When applications start that do not start at once, how long they may run, and holding, releasing
and requeueing.

An application starts when it is not held, its instant has come, and all applications that it waits
for have ended as it demands. If one of them has ended otherwise, it never can, and is killed. An
application that runs longer than its lifetime, counted from its submission, is killed: it requests
a lifetime, its queue limits it (Hadoop: CapacityScheduler.checkAndGetApplicationLifetime). The
runtime sends `LifetimeOver` when a lifetime expires.
"""

import msgspec

from fairshare.core.manager.lifecycle import Lifecycle
from fairshare.core.model.applications import Application
from fairshare.core.model.events import (
    ApplicationDeferred,
    ApplicationEnded,
    ApplicationState,
    ContainerCompleted,
    ExitCode,
    LifetimeSet,
)
from fairshare.core.model.identifiers import ApplicationId, application_name
from fairshare.core.model.inputs import NO_CONDITIONS, Condition, StartConditions, SubmitApplication
from fairshare.core.schedulers.protocol import Refusal, Scheduler, Step
from fairshare.wording import no_application

TYPE = "LIFETIME"
"""Hadoop's name for this type of timeout, the only type that exists."""

MOST_FOLLOWED = 10_000
"""So many conditions of other applications are looked at in search of a cycle."""


class Lifetimes:
    """Sets the ends of applications, within the limits of their queues."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler

    def begin(self, step: Step, application: Application) -> None:
        """Set the end of an application that starts, if it or its queue has a lifetime, or if it
        has a deadline.

        An application that requests 60 s in a queue with a maximum of 10 s ends 10 s after its
        submission, or, if it was deferred, after its start.
        """
        requested_s = application.submission.lifetime_s
        lifetime_s = self._scheduler.lifetime_s(application.queue, requested_s)
        ends = [step.now_ms + lifetime_s * 1_000] if lifetime_s > 0 else []
        ends += [application.submission.deadline_ms] if application.submission.deadline_ms else []
        if ends and min(ends) != application.expires_ms:
            step.emit(LifetimeSet(application.id, min(ends)))

    def change(self, step: Step, application: Application, expires_ms: int) -> None:
        """Change the end, at most to the queue's maximum; raises Refusal for an instant that is
        not in the future."""
        if expires_ms <= step.now_ms:
            raise Refusal(
                "invalid-lifetime",
                f"application {application.id} cannot end at {expires_ms} ms, which is not in the"
                f" future: it is {step.now_ms} ms; kill it instead",
            )
        most_s = self._scheduler.maximum_lifetime_s(application.queue)
        if most_s > 0:
            expires_ms = min(expires_ms, _counted_from(application) + most_s * 1_000)
        if expires_ms != application.expires_ms:
            step.emit(LifetimeSet(application.id, expires_ms))


def is_over(step: Step, application: Application) -> bool:
    """Whether the application's lifetime has expired and the application is still alive."""
    ends_ms = application.expires_ms
    return ends_ms is not None and ends_ms <= step.now_ms and not application.over


def diagnostics(application: Application) -> str:
    """The diagnostics of an application that was killed because its lifetime expired."""
    if application.expires_ms == application.submission.deadline_ms:
        return "Application killed: its deadline has passed."
    lived_s = ((application.expires_ms or 0) - _counted_from(application)) / 1_000
    return f"Application killed: its lifetime ({TYPE}) of {lived_s:g} s is over."


def _counted_from(application: Application) -> int:
    """The instant from which its lifetime counts: its submission, or, if that had conditions for
    the start, the start of its attempt."""
    if application.submission.start == NO_CONDITIONS:
        return application.submitted_ms
    return application.attempt.started_ms or application.submitted_ms


def _with(
    start: StartConditions, after: tuple[Condition, ...] | None, begin_ms: int | None
) -> StartConditions:
    """Conditions of which some are replaced."""
    return StartConditions(
        start.after if after is None else after,
        start.begin_ms if begin_ms is None else begin_ms,
        start.held,
    )


REQUEUED = "Container killed: its application was requeued"
QUEUE_REMOVED = "Application killed: its queue was removed before it could start."

_ENDS = {
    "ok": frozenset({ApplicationState.FINISHED}),
    "failed": frozenset(
        {ApplicationState.FAILED, ApplicationState.KILLED, ApplicationState.REJECTED}
    ),
    "any": frozenset(ApplicationState),
}
"""By the outcome that is demanded, the final states that fulfil it."""


class Starts:
    """Starts applications of one manager."""

    def __init__(self, lives: Lifecycle, lifetimes: Lifetimes) -> None:
        self._lives = lives
        self._state = lives.state
        self._lifetimes = lifetimes
        self.awaited: list[ApplicationId] = []  # in one step, until `resume`

    def check(self, step: Step, submission: SubmitApplication) -> None:
        """Raise Refusal for conditions that name what does not exist, or contradict each other."""
        for condition in submission.start.after:
            if condition.application not in self._state.applications:
                raise Refusal("unknown-application", no_application(self._name(condition)))
            if condition.outcome not in _ENDS:
                raise Refusal("invalid-condition", f"an outcome is one of {', '.join(_ENDS)}")
        deadline_ms = submission.deadline_ms
        if deadline_ms and deadline_ms <= step.now_ms:
            raise Refusal("invalid-deadline", "the deadline is not in the future")
        if deadline_ms and deadline_ms <= submission.start.begin_ms:
            raise Refusal("invalid-deadline", "the deadline is not after the begin")

    def begin(self, step: Step, application: Application) -> None:
        """Start a new application, or defer it."""
        if application.submission.start == NO_CONDITIONS:
            self._start(step, application)
            return
        if application.submission.deadline_ms:  # it ends then, even if it has not started
            step.emit(LifetimeSet(application.id, application.submission.deadline_ms))
        self._look(step, application, application.submission.start)

    def check_change(
        self,
        step: Step,
        application: Application,
        after: tuple[Condition, ...] | None,
        begin_ms: int | None,
    ) -> None:
        """Raise Refusal unless an application waits for its start, and could start under these
        conditions."""
        start = self._state.deferred.get(application.id)
        if start is None or application.attempt.active:
            raise Refusal(
                "already-started",
                f"application {application.id} has started: what it was to wait for cannot be"
                " changed any more; hold it, and what has not begun waits",
            )
        changed = _with(start, after, begin_ms)
        self.check(step, msgspec.structs.replace(application.submission, start=changed))
        waiting, seen = [one.application for one in changed.after], set[ApplicationId]()
        followed = 0
        while waiting:
            other = waiting.pop()
            if other == application.id:
                raise Refusal(
                    "invalid-condition",
                    f"application {application.id} would wait for itself, through those that it is"
                    " to wait for",
                )
            if other not in seen:
                seen.add(other)
                left = self._state.deferred.get(other, NO_CONDITIONS)
                followed += len(left.after)
                if followed > MOST_FOLLOWED:
                    raise Refusal(
                        "invalid-condition",
                        f"those that application {application.id} is to wait for wait themselves,"
                        f" under more than {MOST_FOLLOWED} conditions in all: name fewer",
                    )
                waiting += [one.application for one in left.after]

    def change(
        self,
        step: Step,
        application: Application,
        after: tuple[Condition, ...] | None,
        begin_ms: int | None,
    ) -> None:
        """Replace what an application waits for; it starts if nothing is left."""
        self._look(step, application, _with(self._state.deferred[application.id], after, begin_ms))

    def due(self, step: Step, application: Application) -> None:
        """The instant of a deferred application has come."""
        start = self._state.deferred.get(application.id)
        if start is not None:
            self._look(step, application, start)

    def ended(self, step: Step, event: ApplicationEnded) -> None:
        """An application has ended: `resume` looks at those that wait for it."""
        if self._state.dependents:
            self.awaited += self._state.dependents.get(event.application, ())

    def resume(self, step: Step) -> None:
        """Look at the applications that waited for one that has ended in this step."""
        awaited, self.awaited = self.awaited, []
        for number in dict.fromkeys(awaited):
            application = self._state.applications[number]
            if not application.over:
                self.due(step, application)

    def hold(self, step: Step, application: Application) -> None:
        """Let an application start nothing more until it is released; what runs goes on."""
        start = self._state.deferred.get(application.id, NO_CONDITIONS)
        if start.held:
            return
        if application.attempt.active and not self._lives.can_pause(application):
            raise Refusal(
                "cannot-hold",
                f"the master of application {application.id} decides what it starts, and was"
                " started already: kill or requeue it",
            )
        step.emit(ApplicationDeferred(application.id, msgspec.structs.replace(start, held=True)))
        if application.attempt.active:
            self._lives.withdraw(step, application)

    def release(self, step: Step, application: Application) -> None:
        """Let a held application go on."""
        start = self._state.deferred.get(application.id, NO_CONDITIONS)
        if not start.held:
            raise Refusal("not-held", f"application {application.id} is not held")
        released = msgspec.structs.replace(start, held=False)
        if not application.attempt.active:
            self._look(step, application, released)
            return
        step.emit(ApplicationDeferred(application.id, released))
        self._lives.ask_again(step, application)

    def requeue(self, step: Step, application: Application) -> None:
        """End all that runs of an application, and let it begin again, with its next attempt."""
        if not application.attempt.active:
            raise Refusal("not-started", f"application {application.id} has not started")
        given = application.submission
        if not given.tasks and given.driver is None:
            raise Refusal(
                "cannot-requeue",
                f"the master of application {application.id} was not started by the server, which"
                " cannot start it again",
            )
        for container in self._lives.scheduler.in_order_of_end(application):
            step.emit(ContainerCompleted(container, ExitCode.ABORTED, REQUEUED))
        self._lives.scheduler.end_attempt(step, application)
        self._lives.lost_masters.append(application)

    def _look(self, step: Step, application: Application, start: StartConditions) -> None:
        """Start an application if nothing is left to wait for; kill it if it can never start."""
        left: list[Condition] = []
        for condition in start.after:
            other = self._state.applications.get(condition.application)
            if other is None:
                continue
            if not other.over:
                left.append(condition)
            elif other.state not in _ENDS[condition.outcome]:
                wanted = "ends well" if condition.outcome == "ok" else "fails"
                words = (
                    f"Application killed: it was to start when {self._name(condition)} {wanted},"
                    f" which ended as {other.state}."
                )
                self._lives.end(step, application, ApplicationState.KILLED, words)
                return
        begin_ms = start.begin_ms if start.begin_ms > step.now_ms else 0
        now = StartConditions(tuple(left), begin_ms, start.held)
        if now != self._state.deferred.get(application.id, NO_CONDITIONS):
            step.emit(ApplicationDeferred(application.id, now))
        if now == NO_CONDITIONS:
            self._start(step, application)

    def _start(self, step: Step, application: Application) -> None:
        try:
            self._state.ancestry(application.queue)
        except KeyError:
            self._lives.end(step, application, ApplicationState.KILLED, QUEUE_REMOVED)
            return
        self._lifetimes.begin(step, application)
        self._lives.start_attempt(step, application)

    def _name(self, condition: Condition) -> str:
        return application_name(self._state.epoch_ms, condition.application)
