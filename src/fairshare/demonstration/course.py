"""Owns the course of a demonstration: submits applications when they are due, looks at the cluster
until all are over, and lists what has happened. Must not know how anything is shown. With `--crash`
the server is killed while containers run, and another one takes over its state directory and its
containers."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import inf
from typing import Generic

from fairshare.client.answers import Application, Container, Queue
from fairshare.client.client import Client
from fairshare.demonstration.errors import DemonstrationFailed
from fairshare.demonstration.observation import (
    Happening,
    Snapshot,
    detail_of,
    owed_part,
    places_of,
    query_status,
    team_status,
)
from fairshare.demonstration.teams import ADHOC, RESEARCH, TEAMS, Arrival, Setting, Work
from fairshare.demonstration.verification import RUNNING

ENOUGH = 2
"""The least number of running containers, so that there is something to take over."""


def crash(
    client: Client, restart: Callable[[], None], applications: Mapping[str, Iterable[str]]
) -> str | None:
    """Kill the server if all teams have applications and enough containers run.

    `restart` kills it, and returns when another server answers in its place. Returns what has
    happened, None if it is too early. Raises DemonstrationFailed if a container was lost.
    """

    def containers() -> list[Container]:
        names = [name for found in applications.values() for name in found]
        return [container for name in names for container in client.containers(name)]

    if not all(applications.values()):
        return None
    before = {one.id for one in containers() if one.state == RUNNING}
    if len(before) < ENOUGH:
        return None
    restart()
    found = {one.id: one for one in containers() if one.id in before}
    ended = sum(one.over for one in found.values())
    lost = sorted(name for name in before if name not in found or (found[name].exit_code or 0) < 0)
    if lost:
        raise DemonstrationFailed(f"the crash has cost containers: {', '.join(lost)}")
    return (
        f"the server was killed; another one has taken over: of {len(before)} containers"
        f" {len(before) - ended} run on, {ended} have ended meanwhile with their exit codes"
    )


PACE_S = 0.25
"""How often the course looks at the cluster. Measurements do not depend on it."""

LONGEST_S = 240.0

Found = Mapping[str, Sequence[Application]]
"""Each team's applications, as the server answered."""


class Course(ABC, Generic[Work]):
    """One course. `applications` has the ids of each team's applications in order of arrival.

    `wanted` and `owed` collect each team's demand and its shares of the setting's resources, as
    parts of the cluster and at most 1.0, at each look that found all three active. `crashed`: the
    server was killed. A subclass says what else happens at a look.
    """

    def __init__(self, client: Client, arrivals: Sequence[Arrival[Work]], setting: Setting) -> None:
        self.client = client
        self._waiting = list(arrivals)
        self._queries_total = sum(arrival.team == ADHOC for arrival in arrivals)
        self._setting = setting
        self.applications: dict[str, list[str]] = {team: [] for team in TEAMS}
        self.wanted: dict[str, list[float]] = {team: [] for team in TEAMS}
        self.owed: dict[str, dict[str, list[float]]] = {
            team: {resource: [] for resource in setting.resources} for team in TEAMS
        }
        self._happenings: list[Happening] = []
        self._began_s = 0.0
        self._restart: Callable[[], None] | None = None
        self.crashed = False

    def run(
        self, show: Callable[[Snapshot], None], restart: Callable[[], None] | None = None
    ) -> None:
        """From the first application to the end of the last; raises DemonstrationFailed.

        `show` gets what each look found. `restart` kills the server once all teams are at work, and
        returns when another one answers; None: the server is not killed.
        """
        self._restart = restart
        self._began_s = time.monotonic()
        while True:
            while self._waiting and self._waiting[0].at_s <= self._at_s:
                self._arrive(self._waiting.pop(0))
            if self._look(show):
                return
            if self._at_s > LONGEST_S:
                raise DemonstrationFailed(
                    f"not over after {LONGEST_S:g} s, and so given up: this machine has become much"
                    " slower than it was at the beginning; try again when it has less to do"
                )
            next_s = min((arrival.at_s for arrival in self._waiting[:1]), default=inf)
            time.sleep(max(0.0, min(PACE_S, next_s - self._at_s)))

    @abstractmethod
    def submit(self, work: Work) -> str:
        """Submit an arrival's work; returns the application's id."""

    def act(self, found: Found, queues: Mapping[str, Queue]) -> bool:
        """Do and report what belongs to this demonstration; False to continue looking."""
        return True

    def detail(self, team: str, applications: Sequence[Application]) -> str:
        """How far a team's applications are."""
        return detail_of(team, applications)

    def report(self, text: str, *, once: bool = False) -> None:
        """Add to what has happened, `once` only if it has not been reported before."""
        if not (once and any(happening.text == text for happening in self._happenings)):
            self._happenings.append(Happening(self._at_s, text))

    @property
    def _at_s(self) -> float:
        """Seconds since the beginning."""
        return time.monotonic() - self._began_s

    def _arrive(self, arrival: Arrival[Work]) -> None:
        submitted = self.applications[arrival.team]
        submitted.append(self.submit(arrival.work))
        if len(submitted) == 1:
            self.report(self._arrival_text(arrival))

    def _arrival_text(self, arrival: Arrival[Work]) -> str:
        setting = self._setting
        if arrival.team == ADHOC:
            many = f"{self._queries_total} {setting.queries}"
            return f"{ADHOC} begins to ask: {many}, one after another"
        if arrival.team == RESEARCH:
            users = [f"{user} (weight {w})" for user, w in setting.researchers.items()]
            return f"{RESEARCH} takes the idle {setting.idle}: " + (
                " and ".join(users) or arrival.words
            )
        return f"{arrival.team} arrives: {arrival.words}"

    def _look(self, show: Callable[[Snapshot], None]) -> bool:
        """Show the cluster; whether all is over."""
        if self._restart is not None and not self.crashed:
            happened = crash(self.client, self._restart, self.applications)
            if happened:
                self.crashed = True
                self.report(happened)
        cluster = self.client.cluster()
        found = {team: self._found(team) for team in TEAMS}
        self._check([application for team in TEAMS for application in found[team]])
        queues = {queue.name: queue for queue in self.client.queues()}
        settled = self.act(found, queues)
        coming = {arrival.team for arrival in self._waiting}
        resource = self._setting.resources[0]
        statuses = tuple(
            team_status(
                team, found[team], queues, cluster, team not in coming, resource, self.detail
            )
            for team in TEAMS
        )
        for status in statuses:
            if status.over:
                self.report(f"{status.name} has everything done", once=True)
        if all(status.active for status in statuses):
            for status in statuses:
                self.wanted[status.name].append(min(1.0, status.wants))
                for kind, parts in self.owed[status.name].items():
                    part = owed_part(status.name, queues, cluster, kind)
                    if part is not None:
                        parts.append(part)
        show(
            Snapshot(
                at_s=self._at_s,
                scheduler=cluster.scheduler,
                places=places_of(cluster, self._setting.container),
                teams=statuses,
                queries=query_status(found[ADHOC], cluster.now_ms),
                queries_total=self._queries_total,
                happenings=tuple(self._happenings),
                unit=self._setting.unit.format(total=cluster.total.get(resource, 0)),
            )
        )
        return settled and not self._waiting and all(status.over for status in statuses)

    def _found(self, team: str) -> Sequence[Application]:
        if team == ADHOC:
            return self.client.applications(user=ADHOC)
        return [self.client.application(name) for name in self.applications[team]]

    def _check(self, applications: Sequence[Application]) -> None:
        """Raise DemonstrationFailed if an application has failed or was killed."""
        for each in applications:
            if each.over and each.state != "FINISHED":
                raise DemonstrationFailed(
                    f"{each.name} of {each.user} ended as {each.state}: {each.diagnostics}\n"
                    + self.client.failure_log(each.id)
                )
