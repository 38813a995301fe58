"""Owns the permission check for changes of an application: its owner and the administrators of
its queue have permission.

Changes nothing, and does not read access lists: the schedulers keep them.
"""

from fairshare.core.model.applications import Application
from fairshare.core.model.inputs import (
    ChangeLifetime,
    HoldApplication,
    KillApplication,
    KillTask,
    MoveApplication,
    ReleaseApplication,
    RequeueApplication,
    SetPriority,
)
from fairshare.core.schedulers.protocol import Refusal, Scheduler

Change = (
    KillApplication
    | KillTask
    | MoveApplication
    | SetPriority
    | ChangeLifetime
    | HoldApplication
    | ReleaseApplication
    | RequeueApplication
)


def check_actor(
    scheduler: Scheduler,
    application: Application,
    given: Change,
) -> None:
    """Raise Refusal unless the user owns the application or administers its queue.

    An empty user name means the system itself, which is always permitted.
    """
    user = given.user
    if not user or user == application.user:
        return
    if not scheduler.may_administer(application.queue, user, given.groups):
        raise Refusal(
            "access-denied",
            f"User {user} does not have permission to change application {given.application}:"
            f" only its owner {application.user} may, and who administers queue"
            f" {application.queue}",
        )
