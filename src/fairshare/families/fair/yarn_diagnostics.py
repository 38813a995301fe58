"""Owns the Fair Scheduler's diagnostics of waiting and refused applications, in Hadoop's words
(Hadoop: FSAppAttempt, MaxRunningAppsEnforcer). Scripts parse these texts for names, so they are
written as Hadoop writes them.
"""

from typing import Final

from fairshare.model.applications import Application
from fairshare.schedulers.fair.reasons import run_limit
from fairshare.schedulers.fair.state import FairState
from fairshare.schedulers.fair.wording import queue_of_refusal
from fairshare.schedulers.queue_names import without_leaves

WAITS: Final = "Application is added to the scheduler and is not yet activated."


def why_waits(state: FairState, application: Application) -> str:
    """Why an attempt waits for its master's container; empty once it may run."""
    if application.attempt.runnable:
        return ""
    attempt = state.attempts.get(application.id)
    limit = None if attempt is None else run_limit(state, attempt)
    if limit is None:
        return WAITS
    holder = f'user "{limit.user}"' if limit.user else f'queue "{limit.queue}"'
    return f"{WAITS} The {holder} has reached the maximum limit of runnable applications."


def refusal(application: Application, name: str, code: str) -> str:
    """Why a submission was refused. Hadoop names the application in one message of this
    scheduler."""
    queue = queue_of_refusal(code, application.diagnostics)
    if not queue:
        return without_leaves(application.diagnostics)
    return f"User {application.user} does not have permission to submit {name} to queue {queue}"
