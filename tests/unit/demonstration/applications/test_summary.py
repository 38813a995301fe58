"""The words at the end."""

from collections.abc import Callable

import msgspec
from rich.console import RenderableType

from fairshare.demonstration.applications.archive import Run
from fairshare.demonstration.applications.plan import Plan
from fairshare.demonstration.applications.summary import advice, frequent, happened
from fairshare.demonstration.measurement import QueryMetrics, RunMetrics, TeamMetrics, UserMetrics
from fairshare.demonstration.summary import Results, report
from fairshare.demonstration.teams import WHOLE
from fairshare.demonstration.verification import Check

Render = Callable[[RenderableType], str]

PLAN = Plan(WHOLE, 2, 127, 600_000, 80, 6, 60_000_000, 4_000, 5_000_000)
FAIR = RunMetrics(
    scheduler="fair",
    total_ms=42_400,
    contended_ms=21_100,
    busy=0.974,
    teams={
        "research": TeamMetrics(1.0, 1 / 3, 0.374, 0, 39_600),
        "production": TeamMetrics(1.0, 0.5, 0.505, 76, 29_900),
        "adhoc": TeamMetrics(0.15, 1 / 6, 0.121, 395, 25_400),
    },
    queries=QueryMetrics(20, 100, 800, 1_100, 1_800),
)
FIFO = msgspec.structs.replace(
    FAIR, scheduler="fifo", queries=QueryMetrics(20, 19_800, 29_900, 20_900, 30_800)
)
CHECKS = (Check(True, "research: all is well"), Check(True, "adhoc: all is well"))
FREQUENT = (("code", ["self", "if"]), ("comment", []))


def results(metrics: RunMetrics, other: Run | None = None) -> Results:
    words = frequent(FREQUENT)
    return Results(
        list(happened(metrics, PLAN, 12, other)), CHECKS, words, list(advice(metrics, other))
    )


def text_of(render: Render, metrics: RunMetrics, other: Run | None = None, **more: bool) -> str:
    return render(report(results(metrics, other), **more))


def test_the_summary_lists_the_share_and_the_wait_of_each_team(render: Render) -> None:
    text = text_of(render, FAIR)
    assert "a machine of 12 containers of 256 MB, on 2 processors, for 42.4 s" in flat(text)
    production = next(row for row in text.splitlines() if row.startswith("production"))
    assert production.split() == ["production", "100%", "50%", "50%", "0.08", "s", "29.9", "s"]
    assert "half of them began within 0.10 s and were answered within 1.1 s" in flat(text)
    assert "in code: self, if." in flat(text)
    assert "make demo SCHEDULER=fifo" in text
    assert max(map(len, text.splitlines())) <= 80


def test_the_summary_lists_the_expected_and_actual_parts_of_users_with_weights(
    render: Render,
) -> None:
    users = (UserMetrics("bob", 1, 1 / 3, 0.4), UserMetrics("ann", 2, 2 / 3, 0.6))
    capacity = msgspec.structs.replace(FAIR, scheduler="capacity", users=users)
    text = text_of(render, capacity)
    rows = [row.split() for row in text.splitlines()]
    assert ["ann", "2", "67%", "60%"] in rows
    assert ["bob", "1", "33%", "40%"] in rows
    assert "serve --conf examples/three-teams-capacity" in text
    assert max(map(len, text.splitlines())) <= 80
    both = text_of(render, capacity, Run(0.0, FIFO))
    assert "19 times as long" in flat(both)
    assert "fifo, 19" in both
    assert "whatever came before it" in flat(text_of(render, capacity, Run(0.0, FAIR)))


def test_nothing_is_compared_that_was_not_measured(render: Render) -> None:
    text = text_of(render, FIFO)
    assert "both schedulers" not in text
    assert "times as long" not in text
    assert "The same work with the Fair Scheduler, and both compared" in flat(text)
    assert "what fair-scheduler.xml would promise" in flat(text)


def test_both_runs_are_side_by_side_and_the_other_has_its_date(render: Render) -> None:
    for metrics, other in ((FIFO, FAIR), (FAIR, FIFO)):
        text = text_of(render, metrics, Run(0.0, other))
        rows = [row.split() for row in text.splitlines()]
        assert [
            "half",
            "of",
            "the",
            "queries",
            "answered",
            "within",
            "1.1",
            "s",
            "20.9",
            "s",
        ] in rows
        assert f"{other.scheduler}, 19" in text  # 1970, or 1969 in the west
        assert f"{metrics.scheduler}, now" in text
        assert "19 times as long" in flat(text)


def test_no_advantage_is_claimed_where_there_was_none(render: Render) -> None:
    text = text_of(render, msgspec.structs.replace(FIFO, queries=FAIR.queries), Run(0.0, FAIR))
    assert "times as long" not in text
    assert "did not wait longer with FIFO" in flat(text)


def test_the_slowest_query_is_compared_where_half_of_them_met_no_load(render: Render) -> None:
    queries = QueryMetrics(20, 10, 7_600, 1_100, 8_300)
    text = text_of(render, msgspec.structs.replace(FIFO, queries=queries), Run(0.0, FAIR))
    assert "the slowest query took 5 times as long" in flat(text)


def test_a_check_that_failed_is_seen(render: Render) -> None:
    checks = (*CHECKS, Check(False, "production: 3 words are missing"))
    found = msgspec.structs.replace(results(FAIR), checks=checks)
    text = render(report(found))
    assert "✗ production: 3 words are missing" in text
    assert text.count("✓") == 2 + 1  # and nothing is left
    plain = render(report(found, ascii_only=True))
    assert "BAD production" in plain
    assert plain.isascii()


def flat(text: str) -> str:
    """The text without its line breaks."""
    return " ".join(text.split())
