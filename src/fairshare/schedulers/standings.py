"""Owns the question what of applications' views others may change, put to whichever scheduler.

Who keeps what he has written of an application asks for this instead of the whole view, which is
many times as much work.
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
    """How to ask for the standing of an application, for as long as the state stays as it is.

    None: all of an application's view may change at any time.
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
