"""Owns what a demonstration has come to: its figures and checks, of a server that is done.

Decides nothing about what is shown.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean

import msgspec

from fairshare.client.client import Client
from fairshare.demonstration import verification
from fairshare.demonstration.casualty import Casualty
from fairshare.demonstration.director import Director
from fairshare.demonstration.entitlement import read_entitlements
from fairshare.demonstration.measurement import (
    ApplicationSpan,
    ContainerSpan,
    Figures,
    figures_of,
)
from fairshare.demonstration.observation import MEMORY, places_of
from fairshare.demonstration.preparation import Prepared
from fairshare.demonstration.teams import ADHOC, QUERY_TASKS, RESEARCH, SETTINGS, TEAMS
from fairshare.demonstration.verification import Check, RangeResult

Applications = Mapping[str, Sequence[str]]
"""The ids of each team's applications."""


class Outcome(msgspec.Struct, frozen=True):
    """What a demonstration has come to. `places`: how many containers the cluster has room for."""

    figures: Figures
    checks: tuple[Check, ...]
    frequent: tuple[tuple[str, list[str]], ...]
    places: int


def outcome_of(
    client: Client,
    scheduler: str,
    configuration: Path,
    director: Director,
    prepared: Prepared,
    exchange: Path,
) -> Outcome:
    """Gather everything. The server must still run, and the folder be there."""
    cluster = client.cluster()
    memory_mb = cluster.total[MEMORY]
    owed = read_entitlements(configuration, TEAMS, memory_mb)
    # What the server itself has said goes before the file.
    owed |= {team: mean(shares) for team, shares in director.owed.items() if shares}
    wanted = {team: mean(parts or [0.0]) for team, parts in director.wanted.items()}
    applications = director.applications
    spans = {team: [span_of(client, name) for name in applications[team]] for team in TEAMS}
    parts = verification.read_reduced(exchange, prepared.plan.reduces)
    return Outcome(
        figures=figures_of(
            scheduler, spans, memory_mb, wanted, owed, SETTINGS[scheduler].researchers
        ),
        checks=_checks(client, applications, director.casualty, prepared, parts),
        frequent=tuple(verification.most_frequent(parts)),
        places=places_of(cluster, SETTINGS[scheduler].container),
    )


def span_of(client: Client, name: str) -> ApplicationSpan:
    """The server's record of an application that is over."""
    application = client.application(name)
    containers = tuple(
        ContainerSpan(c.allocated_ms, c.finished_ms, c.resources.get(MEMORY, 0))
        for c in client.containers(name)
        if c.allocated_ms is not None and c.finished_ms is not None
    )
    finished_ms = application.finished_ms or application.submitted_ms
    return ApplicationSpan(application.submitted_ms, finished_ms, containers)


def _checks(
    client: Client,
    applications: Applications,
    casualty: Casualty,
    prepared: Prepared,
    parts: Sequence[dict[str, list[int]]],
) -> tuple[Check, ...]:
    plan = prepared.plan
    ranges = [
        msgspec.json.decode(output, type=RangeResult)
        for name in applications[RESEARCH]
        for output in verification.outputs(client, name)
    ]
    answers = [
        (client.application(name).name, [int(n) for n in verification.outputs(client, name)])
        for name in applications[ADHOC]
    ]
    tasks = [task for team in TEAMS for name in applications[team] for task in client.tasks(name)]
    ranges_expected = plan.research_tasks * (2 if len(applications[RESEARCH]) > 1 else 1)
    expected = ranges_expected + plan.maps + plan.reduces + QUERY_TASKS * plan.pace.queries
    counted = verification.direct_count(document.path for document in prepared.documents)
    searched = verification.direct_count(document.path for document in prepared.searched)
    return (
        verification.check_research(ranges, plan),
        verification.check_production(parts, counted, plan),
        verification.check_queries(answers, searched),
        verification.check_tasks(tasks, expected),
        verification.check_casualty(casualty),
    )
