"""Owns the reasons for waiting that only the FIFO scheduler knows. Changes nothing."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from fairshare.model.asks import AskKey
from fairshare.model.identifiers import ApplicationId
from fairshare.model.nodes import Node
from fairshare.model.resources import Resource
from fairshare.schedulers.reasons import FEW, Reason, standing_before

if TYPE_CHECKING:
    from fairshare.schedulers.fifo.state import FifoApplication, FifoState


class FifoLimits:
    """There are no limits: applications are served in the order of submission."""

    def __init__(self, state: "FifoState", application: "FifoApplication") -> None:
        self._state = state
        self._application = application

    def of_application(self) -> Sequence[Reason]:
        """None."""
        return ()

    def of_ask(self, key: AskKey, size: Resource) -> Sequence[Reason]:
        """None."""
        return ()

    def partition(self, key: AskKey) -> Iterable[Node]:
        """All nodes."""
        return self._state.nodes.values()

    def ahead(self, key: AskKey) -> tuple[int, tuple[ApplicationId, ...]]:
        """The applications submitted before."""
        mine = self._application.entry
        if mine is None:
            return 0, ()
        line = (a for a in self._state.line.members if a is not None and a.entry is not None)
        before = standing_before(((a.id, a.entry) for a in line), mine)
        return len(before), tuple(before[:FEW])

    def preempting(self) -> Sequence[int]:
        """None: the FIFO scheduler does not preempt."""
        return ()
