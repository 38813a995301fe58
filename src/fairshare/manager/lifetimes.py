"""Owns when an application must end though it is not done: its lifetime, from its submission on.

The wish is the application's, the limit its queue's. Decides by `step.emit` alone
(spec/capacity.md 20); whoever drives the manager says when the instant has come.
"""

from fairshare.model.applications import Application
from fairshare.model.events import LifetimeSet
from fairshare.schedulers.protocol import LimitsLifetimes, Refusal, Scheduler, Step

TYPE = "LIFETIME"
"""What Hadoop calls this kind of timeout; the only one that there is."""


class Lifetimes:
    """What the queues of one scheduler grant, or that they limit nothing."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._limits = scheduler if isinstance(scheduler, LimitsLifetimes) else None

    def begin(self, step: Step, application: Application) -> None:
        """Set the end of an application that has just been submitted, if it has one.

        With a wish of 60 s and a queue that grants at most 10 s it ends 10 s after its submission.
        """
        lifetime_s = application.submission.lifetime_s
        if self._limits is not None:
            lifetime_s = self._limits.lifetime_s(application.queue, lifetime_s)
        if lifetime_s > 0:
            step.emit(LifetimeSet(application.id, application.submitted_ms + lifetime_s * 1_000))

    def change(self, step: Step, application: Application, expires_ms: int) -> None:
        """Set another end, at most as late as the queue grants; raises Refusal for a past one."""
        if expires_ms <= step.now_ms:
            raise Refusal(
                "invalid-lifetime",
                f"application {application.id} cannot end at {expires_ms} ms, which is not in the"
                f" future: it is {step.now_ms} ms; kill it instead",
            )
        if self._limits is not None:
            most_s = self._limits.maximum_lifetime_s(application.queue)
            if most_s > 0:
                expires_ms = min(expires_ms, application.submitted_ms + most_s * 1_000)
        if expires_ms != application.expires_ms:
            step.emit(LifetimeSet(application.id, expires_ms))


def is_over(step: Step, application: Application) -> bool:
    """Whether it must end now."""
    ends_ms = application.expires_ms
    return ends_ms is not None and ends_ms <= step.now_ms and not application.over


def diagnostics(application: Application) -> str:
    """Why it has ended, in words for its user."""
    lived_s = ((application.expires_ms or 0) - application.submitted_ms) / 1_000
    return f"Application killed: its lifetime ({TYPE}) of {lived_s:g} s is over."
