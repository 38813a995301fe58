"""Owns the time of a demonstration: what is due is handed in, then everything is looked at, until
all is over; and the list of what has happened. Must not know what is handed in, or how it is shown.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from math import inf
from typing import Generic, Protocol, TypeVar

from fairshare.client.answers import Application
from fairshare.client.client import Client
from fairshare.demonstration.errors import DemonstrationFailed
from fairshare.demonstration.observation import Happening

PACE_S = 0.25
"""How often the cluster is looked at. What is measured does not depend on it."""

LONGEST_S = 240.0


class Due(Protocol):
    """Something to hand in, and when."""

    @property
    def at_s(self) -> float:
        """Seconds after the beginning."""


DueType = TypeVar("DueType", bound=Due)


class Timeline(ABC, Generic[DueType]):
    """One course of things; `waiting` is what is not due yet, in the order of time."""

    def __init__(self, client: Client, arrivals: Sequence[DueType]) -> None:
        self.client = client
        self.waiting = list(arrivals)
        self.happenings: list[Happening] = []
        self._told: set[str] = set()
        self._began_s = 0.0

    def run(self) -> None:
        """From the first application to the end of the last; raises DemonstrationFailed."""
        self._began_s = time.monotonic()
        while True:
            while self.waiting and self.waiting[0].at_s <= self.at_s:
                self.hand_in(self.waiting.pop(0))
            if self.look():
                return
            if self.at_s > LONGEST_S:
                raise DemonstrationFailed(
                    f"not over after {LONGEST_S:g} s, and so given up: this machine has become much"
                    " slower than it was at the beginning; try again when it has less to do"
                )
            next_s = min((arrival.at_s for arrival in self.waiting[:1]), default=inf)
            time.sleep(max(0.0, min(PACE_S, next_s - self.at_s)))

    @abstractmethod
    def hand_in(self, arrival: DueType) -> None:
        """Submit what is due."""

    @abstractmethod
    def look(self) -> bool:
        """Show how everything stands; whether all is over."""

    @property
    def at_s(self) -> float:
        """Seconds since the beginning."""
        return time.monotonic() - self._began_s

    def check(self, applications: Iterable[Application]) -> None:
        """Raise DemonstrationFailed if one of them has ended otherwise than well."""
        for each in applications:
            if each.over and each.state != "FINISHED":
                raise DemonstrationFailed(
                    f"{each.name} of {each.user} ended as {each.state}: {each.diagnostics}\n"
                    + self.client.failure_log(each.id)
                )

    def tell(self, text: str) -> None:
        """Something has happened now."""
        self.happenings.append(Happening(self.at_s, text))

    def tell_once(self, text: str) -> None:
        """The same, unless it was told before."""
        if text not in self._told:
            self._told.add(text)
            self.tell(text)
