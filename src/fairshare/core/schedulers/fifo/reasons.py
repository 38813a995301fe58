"""Owns the reasons for waiting that only the FIFO scheduler knows. Changes nothing."""

from typing import TYPE_CHECKING

from fairshare.core.model.asks import AskKey
from fairshare.core.model.identifiers import ApplicationId
from fairshare.core.schedulers.base import BaseLimits
from fairshare.core.schedulers.reasons import MOST_AHEAD, applications_before

if TYPE_CHECKING:
    from fairshare.core.schedulers.fifo.state import FifoAttempt, FifoState


class FifoLimits(BaseLimits):
    """There are no limits: applications are served in the order of submission."""

    _state: "FifoState"
    _attempt: "FifoAttempt"

    def ahead(self, key: AskKey) -> tuple[int, tuple[ApplicationId, ...]]:
        """The applications submitted before."""
        mine = self._attempt.entry
        if mine is None:
            return 0, ()
        line = (a for a in self._state.line.members if a is not None and a.entry is not None)
        before = applications_before(((a.id, a.entry) for a in line), mine)
        return len(before), tuple(before[:MOST_AHEAD])
