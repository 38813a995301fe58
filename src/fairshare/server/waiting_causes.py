"""Owns the number of waiting applications by their main cause, for the metrics.

Each application costs a look at its limits, so they are counted in slices: decisions and other
requests run in between, and an application counts as it is when it is looked at. Knows no metric
and no HTTP.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Mapping
from typing import Final

from fairshare.schedulers.offers import Survey
from fairshare.server.service import Service

SLICE_S: Final = 0.004
"""How long one slice may delay other work."""

LEAST_AGE_S: Final = 2.0
REST_PER_COST: Final = 20
"""A count that took t seconds is kept for 20 t, so that counting takes at most 5 % of a core."""

NO_CAUSE: Final = "next-beat"
"""The cause of an application that nothing holds back: a coming heartbeat serves it."""


class WaitingCauses:
    """The counts of one service, in its event loop."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._fresh_until_s = 0.0
        self._counting = asyncio.Lock()
        self.counts: Mapping[str, int] = {}
        """Applications that wait, by the first of their reasons, as `refresh` last found them."""

    async def refresh(self) -> None:
        """Count again if the last count is too old. Callers wait for one count together."""
        async with self._counting:
            if time.monotonic() < self._fresh_until_s:
                return
            cost_s = await self._count()
            self._fresh_until_s = time.monotonic() + max(LEAST_AGE_S, REST_PER_COST * cost_s)

    async def _count(self) -> float:
        """Count all applications that wait; how long that held the loop (s), in all."""
        service = self._service
        applications = service.state.applications
        counts: Counter[str] = Counter()
        version, survey = service.version, Survey()
        began_s, cost_s = time.perf_counter(), 0.0
        for number in tuple(applications):
            application = applications.get(number)
            if application is None or application.over:
                continue
            if application.attempt.asks.wanting or not application.attempt.active:
                counts[service.main_cause(number, survey) or NO_CAUSE] += 1
            slice_s = time.perf_counter() - began_s
            if slice_s >= SLICE_S:
                cost_s += slice_s
                await asyncio.sleep(0)
                began_s = time.perf_counter()
                if service.version != version:
                    version, survey = service.version, Survey()
        self.counts = counts
        return cost_s + time.perf_counter() - began_s
