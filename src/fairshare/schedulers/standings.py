"""Owns the question what of applications' views others may change, put to whichever scheduler.

Who keeps what he has written of an application asks for this instead of the whole view, which is
many times as much work.
"""

from collections.abc import Callable

from fairshare.model.applications import Application
from fairshare.model.resources import Resource, positive, subtract, total
from fairshare.schedulers.capacity import views as capacity
from fairshare.schedulers.capacity.applications import CapacityApplication
from fairshare.schedulers.capacity.state import CapacityState
from fairshare.schedulers.fair import views as fair
from fairshare.schedulers.fair.applications import FairApplication
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
    rooms: dict[str, Resource] = {}
    free = positive(subtract(state.total, state.used))

    def look(application: Application) -> Standing:
        if isinstance(state, FairState) and isinstance(application, FairApplication):
            return fair.standing(state, application, rooms)
        if isinstance(state, CapacityState) and isinstance(application, CapacityApplication):
            return capacity.standing(state, application)
        demand = total((application.used, application.asks.pending), len(state.none))
        return Standing(demand, state.none, free, application.diagnostics)

    return look
