"""What is drawn, and what is printed where there is no terminal."""

from collections.abc import Callable

import msgspec
import pytest
from rich.console import RenderableType

from fairshare.client.answers import Application, Cluster, GroupProgress, Progress, Queue
from fairshare.demonstration import observation
from fairshare.demonstration.observation import Happening, QueryStatus, Snapshot, TeamStatus
from fairshare.demonstration.picture import happening_line, line, picture, share_bar

Render = Callable[[RenderableType], str]

SNAPSHOT = Snapshot(
    at_s=83.0,
    scheduler="fair",
    places=12,
    teams=(
        TeamStatus("research", True, True, False, 4 / 12, 1.0, 1 / 3, "ranges 70/127"),
        TeamStatus("production", True, True, False, 7 / 12, 1.0, 0.5, "maps 78/78, reduces 0/6"),
        TeamStatus("adhoc"),
    ),
    queries=QueryStatus(),
    queries_total=20,
    happenings=tuple(Happening(float(n), f"happening {n}") for n in range(9)),
)


def test_the_picture_shows_what_each_team_has_and_is_owed(render: Render) -> None:
    text = render(picture(SNAPSHOT))
    assert "1:23" in text
    assert "fair: every team gets its share" in text
    research = next(row for row in text.splitlines() if row.startswith("research"))
    assert "33%  33% ranges 70/127" in research
    assert text.count("■") == 11
    assert text.count("□") == 1
    assert "not here yet" in text
    assert "no query yet" in text
    assert "happening 8" in text
    assert "happening 0" not in text  # only the last ones


def test_the_picture_fits_into_a_terminal_of_the_usual_size(render: Render) -> None:
    teams = tuple(msgspec.structs.replace(team, over=True) for team in SNAPSHOT.teams[:2])
    adhoc = TeamStatus("adhoc", True, True, False, detail="20 answered, 20 waiting", owed=1.0)
    times = tuple(range(10_000, 40_000, 1_500))
    crowded = msgspec.structs.replace(
        SNAPSHOT,
        teams=(*teams, adhoc),
        queries=QueryStatus(times[:10], times[10:]),
        happenings=tuple(Happening(599.0, "word " * 30) for _ in range(9)),
    )
    for shown in (SNAPSHOT, crowded):
        rows = render(picture(shown)).splitlines()
        assert len(rows) <= 22
        assert max(map(len, rows)) <= 80
    assert "…" not in "".join(render(picture(crowded)).splitlines()[:8])


def test_waiting_queries_are_in_brackets(render: Render) -> None:
    queries = QueryStatus(answered_ms=(900, 1_100), waiting_ms=(25_040,))
    text = render(picture(msgspec.structs.replace(SNAPSHOT, queries=queries)))
    assert "0.9 1.1 (25.0)" in text
    assert "2 of 20 queries answered; the longest took 25.0 s until now" in text


def test_a_terminal_without_unicode_gets_letters(render: Render) -> None:
    text = render(picture(SNAPSHOT, ascii_only=True))
    assert text.isascii()
    assert "R R R R P P P P P P P ." in text


def test_a_scheduler_that_owes_nothing_shows_no_share(render: Render) -> None:
    teams = tuple(msgspec.structs.replace(team, owed=None) for team in SNAPSHOT.teams)
    shown = msgspec.structs.replace(SNAPSHOT, teams=teams, scheduler="fifo")
    text = render(picture(shown, ascii_only=True))
    assert "first come, first served" in text
    assert "33%    - ranges" in text
    assert "owed" not in line(shown)


@pytest.mark.parametrize(
    ("has", "owed", "expected"),
    [
        (0.0, None, "........"),
        (0.0, 0.01, "|......."),
        (0.5, 0.5, "###|...."),
        (1.0, 0.5, "###|####"),
        (1.2, 1.0, "#######|"),
    ],
)
def test_the_mark_of_a_bar_ends_what_is_owed(has: float, owed: float | None, expected: str) -> None:
    assert share_bar(has, owed, 8, ascii_only=True) == expected


def test_a_line_for_a_log_says_the_same() -> None:
    queries = QueryStatus(answered_ms=(900,), waiting_ms=(1_500,))
    shown = msgspec.structs.replace(SNAPSHOT, queries=queries)
    assert line(shown) == (
        "1:23  research 33% (owed 33%), ranges 70/127;"
        " production 58% (owed 50%), maps 78/78, reduces 0/6; longest query 1.5 s"
    )
    assert happening_line(Happening(3.0, "something")) == "0:03  * something"


CLUSTER = Cluster(total={"memory-mb": 3072, "vcores": 12})


def application(state: str, succeeded: int, used_mb: int) -> Application:
    return Application(
        id="a",
        state=state,
        used={"memory-mb": used_mb},
        demand={"memory-mb": 2 * used_mb},
        progress=Progress(total=10, succeeded=succeeded),
        groups=(GroupProgress("map", 8, succeeded=6), GroupProgress("reduce", 2)),
        containers=used_mb // 256,
    )


def test_a_team_is_the_sum_of_its_applications() -> None:
    queue = Queue(name="root.production", fair_share={"memory-mb": 1536})
    applications = [application("RUNNING", 6, 768), application("FINISHED", 10, 0)]
    team = observation.team_status(
        "production", applications, {queue.name: queue}, CLUSTER, all_arrived=True
    )
    assert (team.has, team.wants, team.owed) == (0.25, 0.5, 0.5)
    assert (team.active, team.over) == (True, False)
    assert team.detail == "maps 6/8, reduces 0/2, maps 6/8, reduces 0/2"


def test_a_team_is_over_when_all_has_arrived_and_ended() -> None:
    ended = [application("FINISHED", 10, 0)]
    for all_arrived in (True, False):
        team = observation.team_status("adhoc", ended, {}, CLUSTER, all_arrived=all_arrived)
        assert (team.over, team.active, team.owed) == (all_arrived, False, None)
    assert not observation.team_status("adhoc", [], {}, CLUSTER, all_arrived=True).over


def test_queries_are_listed_in_the_order_of_their_submission() -> None:
    queries = [
        Application(id="c", state="RUNNING", submitted_ms=90),
        Application(id="b", state="FINISHED", submitted_ms=50, finished_ms=70),
        Application(id="a", state="FINISHED", submitted_ms=10, finished_ms=60),
    ]
    found = observation.query_status(queries, now_ms=95)
    assert (found.answered_ms, found.waiting_ms) == ((50, 20), (5,))
    assert found.longest_ms == 50


def test_the_scarcer_resource_says_how_many_containers_there_is_room_for() -> None:
    assert observation.places_of(CLUSTER, {"memory-mb": 256, "vcores": 1}) == 12
    assert observation.places_of(CLUSTER, {"memory-mb": 256, "vcores": 2}) == 6
