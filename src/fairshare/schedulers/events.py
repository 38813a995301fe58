"""Owns the list of all events: those that all schedulers have in common, and those of each one."""

from fairshare.model.events import ClusterEvent
from fairshare.schedulers.capacity.events import CapacityEvent
from fairshare.schedulers.fair.events import FairEvent

AnyEvent = ClusterEvent | CapacityEvent | FairEvent
"""What a journal may contain: its decoders are built from this union."""
