"""Owns what YARN's REST interface shows of the Fair Scheduler of MapReduce, which YARN has not."""

from fairshare.families.yarn.interface import YarnInterface
from fairshare.model.resources import Resource
from fairshare.schedulers.pools.state import PoolsState
from fairshare.schedulers.protocol import State


class PoolsYarn(YarnInterface):
    """The pool scheduler: what YARN shows of any scheduler that it does not know."""

    def configured_maximum(self, state: State) -> Resource:
        """A job's master occupies no slots: it may have any size."""
        assert isinstance(state, PoolsState)
        return state.settings.maximum_allocation
