"""Owns delay scheduling: the locality that an ask accepts, and when it is relaxed.

An ask accepts node-local containers first, then those of its racks, then any. Its locality is
relaxed after enough missed opportunities (a part of the cluster's nodes), or after enough time with
continuous scheduling (Hadoop: FSAppAttempt.getAllowedLocalityLevel).
"""

from typing import TYPE_CHECKING, NamedTuple

from fairshare.core.model.asks import AskKey
from fairshare.core.model.events import Locality, OffersCounted
from fairshare.core.schedulers.fair.attempts import FairAttempt
from fairshare.core.schedulers.fair.state import FairState

if TYPE_CHECKING:
    from fairshare.core.schedulers.protocol import Step


class Patience(NamedTuple):
    """The locality that one ask accepts, and how long it has waited."""

    level: Locality
    opportunities: int
    since_ms: int


class Patiences:
    """The patience of all asks that are offered a node during one heartbeat.

    It is kept here during the heartbeat, and recorded as one event for each ask at its end.
    """

    def __init__(self, state: FairState, now_ms: int) -> None:
        settings = state.settings
        self._by_time = settings.continuous_scheduling
        if self._by_time:
            self._waits_ms = (settings.locality_delay_node_ms, settings.locality_delay_rack_ms)
            self.in_force = min(self._waits_ms) >= 0
        else:
            node, rack = settings.locality_threshold_node, settings.locality_threshold_rack
            self.in_force = node >= 0 and rack >= 0
            if not self.in_force:
                return  # nearly always, and then nothing else is read
            self._thresholds = (min(node, 1.0), min(rack, 1.0))
        self._now_ms = now_ms
        self._nodes = len(state.nodes)
        self._changed: dict[tuple[int, tuple[int, int]], Patience] = {}

    def offered(self, attempt: FairAttempt, key: AskKey) -> Locality:
        """Count one more offer, and return the locality that the ask accepts now."""
        if not self.in_force:
            return Locality.OFF_SWITCH
        before = self.now(attempt, key)
        now = before._replace(opportunities=before.opportunities + 1)
        now = self._by_waiting(attempt, now) if self._by_time else self._by_offers(now)
        self._changed[attempt.id, key.order] = now
        return now.level

    def allocated(self, attempt: FairAttempt, key: AskKey, level: Locality) -> None:
        """A container nearer than the accepted locality sets the ask back to that level
        (Hadoop: FSAppAttempt.resetAllowedLocalityLevel)."""
        if not self.in_force:
            return
        before = self.now(attempt, key)
        if level < before.level:
            self._changed[attempt.id, key.order] = before._replace(level=level)

    def now(self, attempt: FairAttempt, key: AskKey) -> Patience:
        """An ask's patience, including this heartbeat."""
        changed = self._changed.get((attempt.id, key.order))
        return changed or Patience(key.level, key.opportunities, key.since_ms)

    def _by_offers(self, now: Patience) -> Patience:
        if now.level == Locality.OFF_SWITCH:
            return now
        if not now.since_ms:  # the first offer only starts the clock
            return now._replace(since_ms=self._now_ms or 1)
        threshold = self._thresholds[now.level]
        if now.opportunities > self._nodes * threshold:
            return Patience(Locality(now.level + 1), 0, self._now_ms)
        return now

    def _by_waiting(self, attempt: FairAttempt, now: Patience) -> Patience:
        if now.level == Locality.OFF_SWITCH:
            return now
        if now.level == Locality.NODE_LOCAL and not now.since_ms:
            return now._replace(since_ms=self._now_ms or 1)
        since_ms = now.since_ms or attempt.started_ms
        if self._now_ms - since_ms > self._waits_ms[now.level]:
            return Patience(Locality(now.level + 1), 0, self._now_ms)
        return now

    def record(self, step: "Step", state: FairState) -> None:
        """Emit events for what has changed."""
        for (number, order), patience in self._changed.items():
            key = state.attempts[number].asks.keys.get(order)
            if key is not None and patience != (key.level, key.opportunities, key.since_ms):
                step.emit(
                    OffersCounted(
                        number,
                        *order,
                        patience.opportunities,
                        patience.level,
                        patience.since_ms,
                    )
                )
        self._changed.clear()
