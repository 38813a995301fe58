"""YARN's words for the states of applications and attempts (Hadoop: YarnApplicationState,
YarnApplicationAttemptState).
"""

from typing import Final

from fairshare.core.model.applications import Application
from fairshare.core.model.events import ApplicationState
from fairshare.runtime.projections.attempt_history import ApplicationAttempts, Attempt

FINAL_STATUSES: Final = ("UNDEFINED", "SUCCEEDED", "FAILED", "KILLED", "ENDED")
_ENDS: Final = {
    ApplicationState.FINISHED: "FINISHED",
    ApplicationState.FAILED: "FAILED",
    ApplicationState.KILLED: "KILLED",
    ApplicationState.REJECTED: "FAILED",
}


def public_state(application: Application, history: ApplicationAttempts) -> str:
    """One of `APPLICATION_STATES`: once its master has reported its outcome, it is FINISHED."""
    if application.over and not history.unregistered:
        return _ENDS[application.state]
    if application.over or application.attempt.unregistered is not None:
        return "FINISHED"
    if application.attempt.number == 0:
        return "SUBMITTED"
    waits = bool(application.submission.tasks) and not application.attempt.runnable
    return "RUNNING" if application.attempt.registered and not waits else "ACCEPTED"


def internal_state(application: Application, history: ApplicationAttempts) -> str:
    """As `public_state`, but FINISHING while a master that has reported its outcome still runs."""
    if application.attempt.unregistered is not None and not application.over:
        return "FINISHING"
    return public_state(application, history)


def final_status(application: Application, history: ApplicationAttempts) -> str:
    """The outcome that the master reported; else that of the application; UNDEFINED while it
    lives."""
    last = history.attempt
    if last is not None and last.final_status:
        return last.final_status
    if application.attempt.unregistered is not None:
        return application.attempt.unregistered.final_status
    if not application.over:
        return "UNDEFINED"
    status = _ENDS[application.state]
    return "SUCCEEDED" if status == "FINISHED" else status


def finished_ms(application: Application, history: ApplicationAttempts) -> int:
    """When it ended, or when its master reported its outcome; 0 while it lives."""
    last = history.attempt
    if application.attempt.unregistered is not None and last is not None:
        return last.finished_ms
    return application.finished_ms or 0


def attempt_state(application: Application, attempt: Attempt) -> str:
    """The state of one attempt: SCHEDULED until it has a container for its master."""
    if attempt.end:
        return attempt.end
    if attempt.final_status:
        return "FINISHING"
    if attempt.registered:
        return "RUNNING"
    if attempt.launched_ms:
        return "LAUNCHED"
    if attempt.master is not None:
        return "ALLOCATED"
    return "SCHEDULED" if application.managed else "LAUNCHED"
