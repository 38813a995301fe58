"""Owns the course of the demonstration: hands applications in when they are due, looks, and tells.

Must not know how anything is shown.
"""

import time
from collections.abc import Callable, Sequence
from math import inf

from fairshare.client.answers import Application, Cluster
from fairshare.client.client import Client
from fairshare.demonstration.casualty import Casualty, Stage
from fairshare.demonstration.errors import DemonstrationFailed
from fairshare.demonstration.observation import (
    Happening,
    Snapshot,
    places_of,
    query_status,
    team_status,
)
from fairshare.demonstration.teams import (
    ADHOC,
    ONE_USER_EACH,
    PRODUCTION,
    RESEARCH,
    TEAMS,
    Arrival,
    Setting,
)

PACE_S = 0.25
"""How often the cluster is looked at. What is measured does not depend on it."""

LONGEST_S = 240.0


class Director:
    """One course. `applications` has the ids of each team's applications in order of arrival.

    `wanted` and `owed` collect each team's claims, as parts of the memory and at most 1.0, whenever
    all three were active.
    """

    def __init__(
        self,
        client: Client,
        arrivals: Sequence[Arrival],
        kill_after: float,
        show: Callable[[Snapshot], None],
        setting: Setting = ONE_USER_EACH,
    ) -> None:
        self._client = client
        self._waiting = list(arrivals)
        self._queries_total = sum(arrival.team == ADHOC for arrival in arrivals)
        self._show = show
        self._setting = setting
        self._happenings: list[Happening] = []
        self._told_over: set[str] = set()
        self._began_s = 0.0
        self.applications: dict[str, list[str]] = {team: [] for team in TEAMS}
        self.casualty = Casualty(client, kill_after)
        self.wanted: dict[str, list[float]] = {team: [] for team in TEAMS}
        self.owed: dict[str, list[float]] = {team: [] for team in TEAMS}

    def run(self) -> None:
        """From the first application to the end of the last; raises DemonstrationFailed."""
        self._began_s = time.monotonic()
        while True:
            self._hand_in()
            if self._look():
                return
            if self._at_s > LONGEST_S:
                raise DemonstrationFailed(
                    f"not over after {LONGEST_S:g} s, and so given up: this machine has become much"
                    " slower than it was at the beginning; try again when it has less to do"
                )
            next_s = min((arrival.at_s for arrival in self._waiting[:1]), default=inf)
            time.sleep(max(0.0, min(PACE_S, next_s - self._at_s)))

    @property
    def _at_s(self) -> float:
        return time.monotonic() - self._began_s

    def _hand_in(self) -> None:
        while self._waiting and self._waiting[0].at_s <= self._at_s:
            arrival = self._waiting.pop(0)
            first = not self.applications[arrival.team]
            self.applications[arrival.team].append(self._client.submit(arrival.submission))
            if first:
                self._tell(self._arrival_text(arrival))

    def _arrival_text(self, arrival: Arrival) -> str:
        groups = " and ".join(f"{g.count} {g.name}s" for g in arrival.submission.tasks)
        if arrival.team == ADHOC:
            return f"{ADHOC} begins to ask: {self._queries_total} short queries, one after another"
        if arrival.team == RESEARCH:
            return f"{RESEARCH} takes the idle machine: {self._researchers(arrival, groups)}"
        return f"{arrival.team} arrives: {arrival.submission.name}, {groups}"

    def _researchers(self, arrival: Arrival, groups: str) -> str:
        weights = self._setting.researchers
        if not weights:
            return f"{arrival.submission.name}, {groups}"
        return " and ".join(f"{user} (weight {weight})" for user, weight in weights.items())

    def _look(self) -> bool:
        """Show how everything stands; whether all is over."""
        client, cluster = self._client, self._client.cluster()
        found = {team: self._found(team) for team in TEAMS}
        for each in (application for team in TEAMS for application in found[team]):
            if each.over and each.state != "FINISHED":
                raise DemonstrationFailed(
                    f"{each.name} of {each.user} ended as {each.state}: {each.diagnostics}\n"
                    + client.failure_log(each.id)
                )
        for application in found[PRODUCTION]:
            happened = self.casualty.step(application)
            if happened:
                self._tell(happened)
        snapshot = self._snapshot(cluster, found)
        self._note_claims(snapshot)
        self._show(snapshot)
        settled = self.casualty.stage in (Stage.WAITING, Stage.SUCCEEDED)
        return settled and not self._waiting and all(team.over for team in snapshot.teams)

    def _found(self, team: str) -> list[Application]:
        if team == ADHOC:
            return list(self._client.applications(user=ADHOC))
        return [self._client.application(name) for name in self.applications[team]]

    def _snapshot(self, cluster: Cluster, found: dict[str, list[Application]]) -> Snapshot:
        queues = {queue.name: queue for queue in self._client.queues()}
        coming = {arrival.team for arrival in self._waiting}
        statuses = tuple(
            team_status(team, found[team], queues, cluster, team not in coming) for team in TEAMS
        )
        for status in statuses:
            if status.over and status.name not in self._told_over:
                self._told_over.add(status.name)
                self._tell(f"{status.name} has everything done")
        return Snapshot(
            at_s=self._at_s,
            scheduler=cluster.scheduler,
            places=places_of(cluster, self._setting.container),
            teams=statuses,
            queries=query_status(found[ADHOC], cluster.now_ms),
            queries_total=self._queries_total,
            happenings=tuple(self._happenings),
        )

    def _note_claims(self, snapshot: Snapshot) -> None:
        """What each team wants and is owed, whenever all of them are active."""
        if all(team.active for team in snapshot.teams):
            for team in snapshot.teams:
                self.wanted[team.name].append(min(1.0, team.wants))
                if team.owed is not None:
                    self.owed[team.name].append(team.owed)

    def _tell(self, text: str) -> None:
        self._happenings.append(Happening(self._at_s, text))
