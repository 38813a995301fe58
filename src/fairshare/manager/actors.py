"""Owns the question who may change an application: its owner, and who administers its queue.

Changes nothing; knows no list of names, which the schedulers keep.
"""

from fairshare.model.applications import Application
from fairshare.model.inputs import ChangeLifetime, KillApplication, MoveApplication, SetPriority
from fairshare.schedulers.protocol import Refusal, Scheduler


def check_actor(
    scheduler: Scheduler,
    application: Application,
    given: KillApplication | MoveApplication | SetPriority | ChangeLifetime,
) -> None:
    """The owner may, and who administers the queue; without a name it is the system itself."""
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
