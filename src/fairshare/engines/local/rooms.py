"""Owns which room is free on the engine's nodes while containers end.

The state keeps the room of a container that it knows to run until its end was reported. It does
not know all that runs here: a container that is ended before its start was reported, one that lazy
preemption gives others the room of, one of another life of the journal. What comes in their place
waits here until their processes have ended: so that a node never runs more than it has because
somebody is slow to die.
"""

from collections.abc import Iterable, Mapping

from fairshare.engines.local.watched import Watched
from fairshare.engines.protocol import NodeOffer


class Rooms:
    """What the containers hold on each node, those that are ending among them."""

    def __init__(self, offers: Iterable[NodeOffer]) -> None:
        self._totals = {offer.node: offer.resources for offer in offers}
        self._held: dict[str, dict[str, int]] = {name: {} for name in self._totals}
        self._ending: dict[str, int] = {}

    def enter(self, watched: Watched) -> None:
        """A container is there."""
        self._add(watched, 1)

    def ends(self, watched: Watched) -> None:
        """Its end was decided."""
        if not watched.ending:
            watched.ending = True
            self._ending[watched.launch.node] = self._ending.get(watched.launch.node, 0) + 1

    def leave(self, watched: Watched) -> None:
        """All its processes are gone."""
        self._add(watched, -1)
        if watched.ending:
            self._ending[watched.launch.node] -= 1

    def has_to_wait(self, node: str, wanted: Mapping[str, int]) -> bool:
        """Whether a container would be too much there now, and somebody is about to end.

        If nobody is, it begins: the state knows what it does.
        """
        if not self._ending.get(node):
            return False
        held, totals = self._held[node], self._totals[node]
        return any(held.get(name, 0) + amount > totals.get(name, 0)
                   for name, amount in wanted.items() if amount)  # fmt: skip

    def _add(self, watched: Watched, sign: int) -> None:
        held = self._held.get(watched.launch.node)
        if held is not None:  # else of an earlier server, which had other nodes
            for name, amount in watched.launch.resources.items():
                held[name] = held.get(name, 0) + sign * amount
