"""What YARN's REST interface shows of the Fair Scheduler of MapReduce, which YARN has not."""

from fairshare.core.model.resources import Resource
from fairshare.core.schedulers.pools.state import PoolsState
from fairshare.core.schedulers.protocol import State
from fairshare.yarn.views.interface import YarnInterface


class PoolsYarn(YarnInterface):
    """The pool scheduler: what YARN shows of any scheduler that it does not know."""

    def configured_maximum(self, state: State) -> Resource:
        """A job's master occupies no slots: it may have any size."""
        assert isinstance(state, PoolsState)
        return state.settings.maximum_allocation
