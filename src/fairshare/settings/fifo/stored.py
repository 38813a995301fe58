"""Owns the list of the FIFO scheduler's classes in snapshots, with their tags and fields."""

from typing import Final

from fairshare.core.schedulers import fifo
from fairshare.core.schedulers.fifo import FifoAttempt, FifoScheduler, FifoState
from fairshare.settings.stored_class import StoredClass

STORED_CLASSES: Final = (
    StoredClass("fifo-attempt", FifoAttempt),
    StoredClass("fifo-scheduler", FifoScheduler, ("_state",)),
    StoredClass("fifo-settings", fifo.FifoSettings),
    StoredClass("fifo-state", FifoState, ("line", "started_ms"), state=True),
)
