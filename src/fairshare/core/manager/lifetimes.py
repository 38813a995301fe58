"""Owns the lifetime of applications: an application that runs longer, counted from its submission,
is killed.

The application requests a lifetime, its queue limits it
(Hadoop: CapacityScheduler.checkAndGetApplicationLifetime). Changes the state only through
`step.emit`; the runtime sends `LifetimeOver` when a lifetime expires.
"""

from fairshare.core.model.applications import Application
from fairshare.core.model.events import LifetimeSet
from fairshare.core.model.inputs import NO_CONDITIONS
from fairshare.core.schedulers.protocol import Refusal, Scheduler, Step

TYPE = "LIFETIME"
"""Hadoop's name for this type of timeout, the only type that exists."""


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

    def set_deadline(self, step: Step, application: Application) -> None:
        """Set the end of an application that does not start yet: its deadline, if it has one."""
        if application.submission.deadline_ms:
            step.emit(LifetimeSet(application.id, application.submission.deadline_ms))

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
