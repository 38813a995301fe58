"""Owns the course of the demonstration: hands applications in when they are due, looks, and tells.

Must not know how anything is shown.
"""

from collections.abc import Callable, Sequence

from fairshare.client.answers import Application, Cluster
from fairshare.client.client import Client
from fairshare.demonstration.casualty import Casualty, Stage
from fairshare.demonstration.crash import Crash
from fairshare.demonstration.observation import (
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
from fairshare.demonstration.timeline import Timeline


class Director(Timeline[Arrival]):
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
        super().__init__(client, arrivals)
        self._queries_total = sum(arrival.team == ADHOC for arrival in arrivals)
        self._show = show
        self._setting = setting
        self.applications: dict[str, list[str]] = {team: [] for team in TEAMS}
        self.casualty = Casualty(client, kill_after)
        self._crash: Crash | None = None
        self.wanted: dict[str, list[float]] = {team: [] for team in TEAMS}
        self.owed: dict[str, list[float]] = {team: [] for team in TEAMS}

    def crash_with(self, restart: Callable[[], None]) -> None:
        """Have the server killed when all teams are at work; `restart` does it."""
        self._crash = Crash(self.client, restart, self.tell, lambda: self.applications)

    def hand_in(self, arrival: Arrival) -> None:
        """Submit what is due; the first of each is told."""
        first = not self.applications[arrival.team]
        self.applications[arrival.team].append(self.client.submit(arrival.submission))
        if first:
            self.tell(self._arrival_text(arrival))

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

    def look(self) -> bool:
        """Show how everything stands; whether all is over."""
        if self._crash is not None:
            self._crash.step()
        cluster = self.client.cluster()
        found = {team: self._found(team) for team in TEAMS}
        self.check(application for team in TEAMS for application in found[team])
        for application in found[PRODUCTION]:
            happened = self.casualty.step(application)
            if happened:
                self.tell(happened)
        snapshot = self._snapshot(cluster, found)
        self._note_claims(snapshot)
        self._show(snapshot)
        settled = self.casualty.stage in (Stage.WAITING, Stage.SUCCEEDED)
        return settled and not self.waiting and all(team.over for team in snapshot.teams)

    def _found(self, team: str) -> list[Application]:
        if team == ADHOC:
            return list(self.client.applications(user=ADHOC))
        return [self.client.application(name) for name in self.applications[team]]

    def _snapshot(self, cluster: Cluster, found: dict[str, list[Application]]) -> Snapshot:
        queues = {queue.name: queue for queue in self.client.queues()}
        coming = {arrival.team for arrival in self.waiting}
        statuses = tuple(
            team_status(team, found[team], queues, cluster, team not in coming) for team in TEAMS
        )
        for status in statuses:
            if status.over:
                self.tell_once(f"{status.name} has everything done")
        return Snapshot(
            at_s=self.at_s,
            scheduler=cluster.scheduler,
            places=places_of(cluster, self._setting.container),
            teams=statuses,
            queries=query_status(found[ADHOC], cluster.now_ms),
            queries_total=self._queries_total,
            happenings=tuple(self.happenings),
        )

    def _note_claims(self, snapshot: Snapshot) -> None:
        """What each team wants and is owed, whenever all of them are active."""
        if all(team.active for team in snapshot.teams):
            for team in snapshot.teams:
                self.wanted[team.name].append(min(1.0, team.wants))
                if team.owed is not None:
                    self.owed[team.name].append(team.owed)
