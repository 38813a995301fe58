"""How much work there is, and when it arrives."""

from itertools import pairwise
from pathlib import Path

import pytest

from fairshare.demonstration import teams
from fairshare.demonstration.applications import plan as work
from fairshare.demonstration.applications.plan import (
    QUERY_TASKS,
    REDUCES,
    Plan,
    plan_of,
    wanted_bytes,
)
from fairshare.demonstration.machine import Rates
from fairshare.demonstration.teams import QUICK, WHOLE, Pace
from fairshare.demonstration.work import primes

RATES = Rates(numbers=2_000_000, mapped_bytes=2_500_000, searched_bytes=25_000_000)


def plan(rates: Rates = RATES, processors: int = 2, pace: Pace = WHOLE) -> Plan:
    return plan_of(rates, processors, pace, 60_000_000, 4_000)


def test_the_work_follows_the_speed_of_the_machine() -> None:
    found = plan()
    assert (found.research_tasks, found.numbers_per_task) == (127, 600_000)
    assert found.numbers == 127 * 600_000
    assert found.maps == 80  # 60 MB in parts of 0.15 * 2 * 2.5 MB
    assert found.query_bytes == 5_000_000
    assert wanted_bytes(RATES, 2, WHOLE) == 60_000_000


def test_half_the_processors_have_as_many_tasks_of_half_the_size() -> None:
    one, two = plan(processors=1), plan(processors=2)
    assert one.research_tasks == two.research_tasks
    assert one.numbers_per_task * 2 == two.numbers_per_task


@pytest.mark.parametrize("speed", [1e-3, 1e12])
def test_a_machine_of_an_odd_speed_still_gets_work_that_can_be_done(speed: float) -> None:
    found = plan(Rates(speed, speed, speed))
    assert found.numbers_per_task >= 1
    assert found.numbers <= primes.LARGEST
    assert 1 <= found.maps <= found.documents


@pytest.mark.parametrize("pace", [WHOLE, QUICK])
def test_one_team_has_the_machine_alone_until_the_others_arrive(pace: Pace) -> None:
    found = plan(pace=pace)
    arrivals = work.arrivals(found, Path("folder"))
    assert all(a.at_s <= b.at_s for a, b in pairwise(arrivals))
    assert [a.team for a in arrivals[:3]] == [teams.RESEARCH, teams.PRODUCTION, teams.ADHOC]
    assert len(arrivals) == 2 + pace.queries
    # What comes first is not over when the last team begins, were the machine its own.
    assert arrivals[2].at_s < pace.research_s


def test_every_team_asks_for_what_the_plan_says() -> None:
    found = plan()
    by_team = {a.team: a.work for a in work.arrivals(found, Path("folder"))}
    counts = {team: [g.count for g in by_team[team].tasks] for team in teams.TEAMS}
    assert counts == {
        teams.RESEARCH: [127],
        teams.PRODUCTION: [80, REDUCES],
        teams.ADHOC: [QUERY_TASKS],
    }
    assert {s.queue for s in by_team.values()} == set(teams.TEAMS)
    assert by_team[teams.PRODUCTION].tasks[1].after == (work.MAP,)


def test_users_with_weights_count_the_same_numbers_in_smaller_tasks() -> None:
    found = plan()
    setting = teams.SETTINGS["capacity"]
    ranges = []
    for submission in work.research(found, setting):
        (group,) = submission.tasks
        numbers, skipped = map(int, group.arguments[-2:])
        assert group.resources == {"memory-mb": 128, "vcores": 8}
        ranges.append((submission.user, skipped * numbers, (skipped + group.count) * numbers))
    assert ranges == [("bob", 0, 84 * 300_000), ("ann", 84 * 300_000, found.numbers)]
