"""Owns what of the Capacity Scheduler's configuration a refresh takes over
(Hadoop: CapacityScheduler.reinitialize).

All of capacity-scheduler.xml may change but what is read at the start alone. Whether the tree that
runs can become the new one is for the scheduler to say.
"""

from typing import Final

import msgspec

from fairshare.families.capacity.mappings import ENGINES
from fairshare.families.capacity.monitor import ENABLE, POLICIES, PREEMPTION
from fairshare.families.capacity.names import PREFIX
from fairshare.families.capacity.scheduler_settings import CALCULATOR
from fairshare.schedulers.capacity.settings import CapacitySettings

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
