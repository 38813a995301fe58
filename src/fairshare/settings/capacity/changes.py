"""Owns what of the Capacity Scheduler's configuration may change while it runs: what a refresh
takes over, and what a change by document makes of the properties.

All of capacity-scheduler.xml may change but what is read at the start alone. Whether the tree that
runs can become the new one is for the scheduler to say. Pure functions; they do not know who asked
for a change (Hadoop: CapacityScheduler.reinitialize, MutableCSConfigurationProvider).
"""

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from fairshare.core.model.queues import ROOT, parent_name
from fairshare.core.schedulers.capacity.settings import CapacitySettings
from fairshare.documents import literals
from fairshare.errors import InputError
from fairshare.settings.capacity.mappings import ENGINES
from fairshare.settings.capacity.monitor import ENABLE, POLICIES, PREEMPTION
from fairshare.settings.capacity.names import PREFIX
from fairshare.settings.capacity.scheduler_settings import CALCULATOR
from fairshare.settings.configuration import Entry
from fairshare.settings.configuration_update import BAD_UPDATE, QueueChange, Update

_OF_THE_START: Final = (
    "types",
    "minimum_allocation",
    "maximum_override_delay_ms",
    "maximum_application_priority",
    "acl_enabled",
    "administrators_acl",
    "master_max_attempts",
    "heartbeat_interval_ms",
    "dominant",
    "reservations",
    "workflow_tag_prefix",
)
_MONITORS_OF_THE_START: Final = (
    "enabled",
    "monitor_on",
    "auto_removal",
    "legacy_queue_management",
)
_PROPERTIES_OF_THE_START: Final = (CALCULATOR, ENABLE, POLICIES)


def refreshed_capacity(in_force: CapacitySettings, now: CapacitySettings) -> CapacitySettings:
    """The new settings, with what only a restart changes as it is."""
    kept = {name: getattr(in_force, name) for name in _OF_THE_START}
    monitors = {name: getattr(in_force.monitor, name) for name in _MONITORS_OF_THE_START}
    monitor = msgspec.structs.replace(now.monitor, **monitors)
    if not in_force.reservations:
        kept["continue_looking"] = False
    return msgspec.structs.replace(now, monitor=monitor, **kept)


def is_refreshed(name: str) -> bool:
    """Whether a refresh takes over the value of a property."""
    return name.startswith((PREFIX, PREEMPTION, ENGINES)) and name not in _PROPERTIES_OF_THE_START


def unreserving(capacity: CapacitySettings) -> CapacitySettings:
    """The same without reservations.

    `reservations-continue-look-all-nodes` goes with them: where a container would need another
    reservation given up first, it takes the room that it waits for away from its siblings.
    """
    return msgspec.structs.replace(capacity, reservations=False, continue_looking=False)


def apply_update(properties: Mapping[str, str], update: Update) -> dict[str, str]:
    """The properties after an update, in their order; raises InputError (`bad-update`).

    Whether the result makes sense as a whole is not asked here.

    >>> from fairshare.settings.configuration_update import read_json
    >>> old = {"yarn.scheduler.capacity.root.queues": "a"}
    >>> apply_update(old, read_json('{"add-queue": {"queue-name": "root.b"}}'))
    {'yarn.scheduler.capacity.root.queues': 'a,b'}
    """
    found = dict(properties)
    for queue in update.remove:
        _remove(found, queue)
    for change in update.add:
        _add(found, change)
    for change in update.update:
        _put(found, f"{PREFIX}{change.queue}.", change.entries)
    _put(found, "", update.globals)
    return found


def _remove(properties: dict[str, str], queue: str) -> None:
    """Take a queue and all below it out, whatever is written of them."""
    if not _is_below_root(queue):
        raise InputError(BAD_UPDATE, f"Can't remove queue {queue}")
    siblings = _children(properties, parent_name(queue))
    name = queue.rpartition(".")[2]
    if name not in siblings:
        raise InputError(BAD_UPDATE, f"Queue {queue} not found")
    _set_children(properties, parent_name(queue), [one for one in siblings if one != name])
    for key in [key for key in properties if key.startswith(f"{PREFIX}{queue}.")]:
        del properties[key]


def _add(properties: dict[str, str], change: QueueChange) -> None:
    queue = change.queue
    if not _is_below_root(queue):
        raise InputError(BAD_UPDATE, f"Can't add invalid queue {queue}")
    parent = parent_name(queue)
    siblings = _children(properties, parent)
    name = queue.rpartition(".")[2]
    if name in siblings:
        raise InputError(BAD_UPDATE, f"Can't add existing queue {queue}")
    _set_children(properties, parent, [*siblings, name])
    _put(properties, f"{PREFIX}{queue}.", change.entries)
    if not siblings:
        # The parent was a leaf so far: a leaf's ordering policy means nothing to a parent.
        properties.pop(f"{PREFIX}{parent}.ordering-policy", None)


def _put(properties: dict[str, str], prefix: str, entries: Iterable[Entry]) -> None:
    for name, value in entries:
        if value:
            properties[prefix + name] = value
        else:
            properties.pop(prefix + name, None)


def _is_below_root(queue: str) -> bool:
    """Whether a text is a full path of a queue other than root."""
    parts = queue.split(".")
    return len(parts) > 1 and parts[0] == ROOT and all(parts)


def _children(properties: Mapping[str, str], parent: str) -> list[str]:
    written = properties.get(f"{PREFIX}{parent}.queues", "")
    return [name for part in written.split(",") if (name := literals.trim(part))]


def _set_children(properties: dict[str, str], parent: str, names: list[str]) -> None:
    key = f"{PREFIX}{parent}.queues"
    if names:
        properties[key] = ",".join(names)
    else:
        properties.pop(key, None)
