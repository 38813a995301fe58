"""Owns the fields of an application view that change without an event naming the application, for
each scheduler.

Callers that cache what they have written of an application read these instead of the whole view,
which costs many times as much.
"""

from collections.abc import Callable

from fairshare.model.applications import Application
from fairshare.model.resources import positive, subtract, total
from fairshare.schedulers.capacity import views as capacity
from fairshare.schedulers.capacity.state import CapacityState
from fairshare.schedulers.fair import views as fair
from fairshare.schedulers.fair.state import FairState
from fairshare.schedulers.protocol import Scheduler
from fairshare.schedulers.views import Standing


def standings(scheduler: Scheduler) -> Callable[[Application], Standing] | None:
    """A function that returns the standing of an application, valid until the state changes.

    None: any field of an application's view may change at any time.
    """
    state = scheduler.state
    if scheduler.name == "pools":
        return None
    free = positive(subtract(state.total, state.used))

    if isinstance(state, FairState):
        return fair.standings(state)
    if isinstance(state, CapacityState):
        return capacity.standings(state)

    def look(application: Application) -> Standing:
        demand = total((application.used, application.asks.pending), len(state.none))
        return Standing(demand, state.none, free, application.diagnostics)

    return look
