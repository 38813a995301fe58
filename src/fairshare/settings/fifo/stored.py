"""Owns the list of the FIFO scheduler's classes in snapshots, with their tags and fields."""

from typing import Final

from fairshare.core.schedulers.fifo import settings as fifo_settings
from fairshare.core.schedulers.fifo.scheduler import FifoScheduler
from fairshare.core.schedulers.fifo.state import FifoAttempt, FifoState
from fairshare.settings.stored_class import StoredClass

STORED_CLASSES: Final = (
    StoredClass("fifo-attempt", FifoAttempt),
    StoredClass("fifo-scheduler", FifoScheduler, ("_state",)),
    StoredClass("fifo-settings", fifo_settings.FifoSettings),
    StoredClass("fifo-state", FifoState, ("line", "started_ms"), state=True),
)
