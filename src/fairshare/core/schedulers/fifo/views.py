"""Owns the fields of a FIFO application that other applications change. Changes nothing."""

from fairshare.core.model.applications import Application
from fairshare.core.model.resources import positive, subtract, total
from fairshare.core.schedulers.fifo.state import FifoState
from fairshare.core.schedulers.views import VolatileFields, VolatileFieldsOf


def volatile_fields(state: FifoState) -> VolatileFieldsOf:
    """A function for the fields of application views that other applications may change."""
    free = positive(subtract(state.total, state.used))

    def look(application: Application) -> VolatileFields:
        demand = total((application.used, application.attempt.asks.pending), len(state.none))
        return VolatileFields(demand, state.none, free, application.diagnostics)

    return look
