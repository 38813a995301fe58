"""Owns the checks before an application enters a leaf: at submission, and at a move.

Raises Refusal in Hadoop's words; changes nothing (Hadoop: LeafQueue.validateSubmitApplication,
CapacityScheduler.preValidateMoveApplication).
"""

from typing import TYPE_CHECKING

from fairshare.core.schedulers.capacity import management
from fairshare.core.schedulers.capacity.events import UserNoted
from fairshare.core.schedulers.capacity.queues import RUNNING, CapacityQueue
from fairshare.core.schedulers.capacity.state import CapacityState
from fairshare.core.schedulers.protocol import Refusal

if TYPE_CHECKING:
    from fairshare.core.schedulers.protocol import Step


def check_system(state: CapacityState) -> None:
    """Check that the whole system has room for one more application."""
    if state.root.number_of_applications >= state.settings.maximum_applications:
        raise Refusal(
            "system-limit",
            "Maximum system application limit reached, cannot accept submission: there are"
            f" {state.root.number_of_applications} applications",
        )


def check_leaf(step: "Step", leaf: CapacityQueue, user: str) -> None:
    """Check that a leaf and its ancestors accept one more application of a user.

    As in Hadoop a leaf has a record of the user as soon as it counts the user's applications, even
    if it refuses; and a leaf of the older auto-creation has no maximum of applications.
    """
    if leaf.state != RUNNING:
        raise _stopped(leaf)
    limited = not management.is_made(leaf)
    accepted = len(leaf.waiting) + len(leaf.active) + len(leaf.held)
    if limited and accepted >= leaf.maximum_applications:
        raise Refusal(
            "queue-limit",
            f"Queue {leaf.name} already has {accepted} applications, cannot accept submission of"
            f" another one (the maximum is {leaf.maximum_applications})",
        )
    record = leaf.users.get(user)
    own = 0 if record is None else record.applications
    stopped = next((above for above in leaf.path[1:] if above.state != RUNNING), None)
    exceeded = limited and own >= leaf.maximum_per_user
    if record is None and (exceeded or stopped is not None):
        step.emit(UserNoted(leaf.name, user))
    if exceeded:
        raise Refusal(
            "user-limit",
            f"Queue {leaf.name} already has {own} applications from user {user}, cannot accept"
            f" submission of another one (the maximum is {leaf.maximum_per_user})",
        )
    if stopped is not None:
        raise _stopped(stopped)


def _stopped(queue: CapacityQueue) -> Refusal:
    name = queue.name
    reason = f"Queue {name} is STOPPED. Cannot accept submission of applications"
    return Refusal("queue-stopped", reason, name)
