"""The creation and removal of queues: by a load, on demand, and after their expiration time.

Decides by `step.emit` alone (Hadoop: CapacitySchedulerQueueManager).
"""

from typing import TYPE_CHECKING

from fairshare.core.model.events import (
    ConfigurationLoaded,
    QueueCreated,
    QueueDynamicChanged,
    QueueRemoved,
    QueuesConfigured,
)
from fairshare.core.model.inputs import SubmitApplication
from fairshare.core.model.queues import ROOT, parent_name
from fairshare.core.schedulers.access_lists import allows
from fairshare.core.schedulers.capacity import management, naming
from fairshare.core.schedulers.capacity.admission import may_submit
from fairshare.core.schedulers.capacity.checks import faults_of_created, refusals, sizes, still_held
from fairshare.core.schedulers.capacity.configuration import settings_of
from fairshare.core.schedulers.capacity.events import QueueExpiring
from fairshare.core.schedulers.capacity.plan import named_queues
from fairshare.core.schedulers.capacity.queues import CapacityQueue
from fairshare.core.schedulers.capacity.settings import CapacitySettings
from fairshare.core.schedulers.capacity.state import CapacityState
from fairshare.core.schedulers.protocol import Refusal

if TYPE_CHECKING:
    from fairshare.core.schedulers.protocol import Step

MOST_CHILDREN = 1000


def follow(
    state: CapacityState,
    step: "Step",
    new: CapacitySettings,
    encoded: bytes,
    epoch_ms: int,
) -> None:
    """Apply settings, all or none: raises Refusal with all faults."""
    wrong = [fault.message for fault in refusals(new, state if ROOT in state.queues else None)]
    if wrong:
        prefix = "Failed to re-init queues : " if ROOT in state.queues else ""
        raise Refusal("invalid-configuration", prefix + "; ".join(wrong))
    step.emit(ConfigurationLoaded(encoded, epoch_ms))
    named = named_queues(new)
    for queue in reversed(tuple(state.queues.values())):
        gone = queue.name not in named and not (queue.dynamic and _keeps(state, named, queue))
        turned = named.get(queue.name, queue.leaf) != queue.leaf
        if (gone or turned) and queue.name in state.queues:
            _remove(state, step, queue)
    for name, leaf in named.items():
        live_queue = state.queues.get(name)
        if live_queue is None:
            step.emit(QueueCreated(name, leaf, False))
        elif live_queue.dynamic:
            step.emit(QueueDynamicChanged(name, False))
    step.emit(QueuesConfigured(()))
    management.run_after_reload(state, step)


def reaches_queues(new: CapacitySettings) -> bool:
    """Whether settings are valid enough for Hadoop to start changing queues before it refuses
    them."""
    return not any(sizes(new))


def is_sound(state: CapacityState) -> bool:
    """Whether the settings in force would still be accepted."""
    return not any(refusals(state.settings, state))


def _keeps(state: CapacityState, named: dict[str, bool], queue: CapacityQueue) -> bool:
    """Whether a queue created on demand is kept: its parent is still a parent."""
    above = parent_name(queue.name)
    if above in named:
        return not named[above]
    return above in state.queues and _keeps(state, named, state.queues[above])


def _remove(state: CapacityState, step: "Step", queue: CapacityQueue) -> None:
    for child in tuple(queue.children.values()):
        _remove(state, step, child)
    if queue.name in state.queues:
        step.emit(QueueRemoved(queue.name))


def create(state: CapacityState, step: "Step", name: str) -> CapacityQueue:
    """Create a missing leaf and its missing ancestors; raises Refusal where that is not allowed.

    If `root.teams` allows it, `root.teams.red.ann` creates the parent `red` and the leaf `ann`,
    since two levels below a queue of the file are allowed unless the settings say otherwise
    (Hadoop: CapacitySchedulerQueueManager.createQueue).
    """
    missing = [name]
    while (above := parent_name(missing[-1])) not in state.queues:
        if not above:
            raise _unknown(name)
        missing.append(above)
    parent = state.queues[above]
    legacy = bool(parent.settings.legacy_dynamic_leaves)
    if parent.leaf or not (parent.dynamic_eligible or (legacy and len(missing) == 1)):
        raise _unknown(name)
    if not all(name.split(".")):
        raise _unknown(name)
    for path in missing:
        if path in state.departed:
            raise Refusal("unknown-queue", f"{path} cannot be made: {still_held(state, path)}")
    _check_depth(state, parent, name, len(missing))
    _check_children(state, parent, name, legacy=legacy)
    if legacy:
        management.check_room(state, parent, name)
    names = [(path, path == name) for path in reversed(missing)]
    for fault in faults_of_created(state, parent, names):
        message = f"Cannot auto create queue {fault.queue}: {fault.message}"
        raise Refusal("unusable-template", message)
    for path in reversed(missing):
        step.emit(QueueCreated(path, path == name, True))
    if legacy:
        management.begin(state, step, state.queues[name])
    return state.queues[name]


def _unknown(name: str) -> Refusal:
    return Refusal(
        "unknown-queue",
        f"Application submitted to unknown queue: {name}. It does not exist, and nothing above it"
        " may create it",
        name,
    )


def _check_depth(state: CapacityState, parent: CapacityQueue, name: str, missing: int) -> None:
    fixed = parent
    depth = missing
    while fixed.dynamic and fixed.parent is not None:
        fixed = fixed.parent
        depth += 1
    most = fixed.settings.maximum_queue_depth
    if most is None:
        most = state.settings.maximum_queue_depth
    if depth > most:
        raise Refusal(
            "queue-depth",
            f"Could not auto create queue {name}: it would be {depth} levels below {fixed.name},"
            f" and {most} are allowed",
        )


def _check_children(
    state: CapacityState, parent: CapacityQueue, name: str, *, legacy: bool
) -> None:
    settings = parent.settings
    most = settings.legacy_maximum_leaves if legacy else settings.maximum_dynamic_children
    field = "legacy_maximum_leaves" if legacy else "maximum_dynamic_children"
    if unreadable := settings.unreadable.get(f"maker:{field}"):
        raise Refusal("unusable-template", f"Cannot auto create queue {name}: {unreadable}")
    most = MOST_CHILDREN if most is None else most
    children = parent.children.values()
    if len(parent.children) >= most:
        raise Refusal(
            "too-many-queues",
            f"Cannot auto create queue {name}: {parent.name} has {len(parent.children)} children,"
            f" and {most} are allowed",
        )
    # As in Hadoop one weight on any partition suffices: a child may also have no capacity.
    weights = not children or any(
        share.weight >= 0 for child in children for share in child.shares.values()
    )
    if not legacy and state.settings.legacy_queue_mode and not weights:
        raise Refusal(
            "not-in-weight-mode",
            f"Cannot auto create queue {name}: the children of {parent.name} have percentages or"
            " amounts, and only weights leave room for more",
        )


def check_access(state: CapacityState, name: str, submission: SubmitApplication) -> None:
    """Raise Refusal if the user may not submit to a queue that does not exist yet
    (Hadoop: RMAppManager).

    The access lists of the existing ancestors count, and those of templates for the queues to be
    created.
    """
    if not state.settings.acl_enabled or "." not in name:
        return
    missing = [name]
    while (above := parent_name(missing[-1])) not in state.queues:
        if not above:
            return  # such a queue cannot be created
        missing.append(above)
    if may_submit(state.queues[above], submission.user, submission.groups):
        return
    for path in missing:
        own = settings_of(state.settings, path, leaf=path == name, dynamic=True)
        lists = (own.submit_acl, own.administer_acl)
        if any(
            acl is not None and allows(acl, submission.user, submission.groups) for acl in lists
        ):
            return
    raise Refusal(
        "access-denied",
        f"User {submission.user} does not have permission to submit to queue {name}",
    )


def check_mapped(state: CapacityState, name: str, submission: SubmitApplication) -> None:
    """Raise Refusal if a submission names a leaf of the older auto-creation, existing or not
    (Hadoop: ManagedParentQueue).

    Only queue mappings may place applications in such leaves.
    """
    found = naming.find(state, name)
    parent = found.parent if found is not None else state.queues.get(parent_name(name))
    if management.makes_leaves(parent) and (found is None or found.dynamic):
        raise Refusal(
            "not-mapped",
            f"Application submission by user : {submission.user} to specified queue : {name} is"
            " prohibited. Verify automatic queue mapping for user exists in"
            " yarn.scheduler.capacity.queue-mappings",
        )


def may_expire(queue: CapacityQueue) -> bool:
    """Whether a queue was created on demand, is empty, and is removed if it stays empty."""
    if not queue.dynamic or queue.parent is None or queue.children:
        return False
    if management.is_made(queue):
        return False  # as in Hadoop, leaves of the older auto-creation are kept
    if queue.number_of_applications or queue.attempts:
        return False
    return queue.settings.remove_dynamic is not False


def expires(state: CapacityState) -> bool:
    """Whether a round could change anything."""
    made = [queue for queue in state.queues.values() if queue.dynamic]
    return any(may_expire(queue) or queue.expiring_ms is not None for queue in made)


def remove_idle(state: CapacityState, step: "Step") -> None:
    """Run one round of the removal of queues created on demand
    (Hadoop: AutoCreatedQueueDeletionPolicy).

    A queue is removed when this round and the previous one have found it empty and its last
    application was submitted longer ago than the settings allow, in whole seconds: with 300 s and
    rounds 300 s apart, after 301 to 600 s. An application submitted in between restarts the count
    of rounds.
    """
    wait_s = state.settings.queue_expiration_ms // 1000
    empty = [queue for queue in reversed(tuple(state.queues.values())) if may_expire(queue)]
    for queue in state.queues.values():
        if queue.expiring_ms is not None and queue not in empty:
            step.emit(QueueExpiring(queue.name, False))
    for queue in empty:
        if queue.expiring_ms is None:
            step.emit(QueueExpiring(queue.name))
        elif (step.now_ms - queue.idle_since_ms) // 1000 > wait_s:
            step.emit(QueueRemoved(queue.name))
        else:
            step.emit(QueueExpiring(queue.name, False))
