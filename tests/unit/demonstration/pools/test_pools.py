"""The demonstration of MapReduce: its configuration, amounts, texts, metrics, checks and words."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from fairshare.client.answers import Application, Container
from fairshare.demonstration.corpus import Document
from fairshare.demonstration.errors import DemonstrationFailed
from fairshare.demonstration.measurement import span_of
from fairshare.demonstration.pools import functions, results
from fairshare.demonstration.pools.jobs import Text, arrivals, plan_of
from fairshare.demonstration.pools.results import (
    Job,
    JobMetrics,
    job_metrics,
    most_at_once,
    reached_at,
)
from fairshare.demonstration.pools.summary import ADVICE, happened
from fairshare.demonstration.pools.workload import timeout_of
from fairshare.demonstration.server import configuration_directory
from fairshare.demonstration.summary import Results, report
from fairshare.demonstration.teams import QUICK_JOBS as QUICK
from fairshare.demonstration.teams import TEAMS
from fairshare.demonstration.teams import WHOLE_JOBS as WHOLE
from fairshare.demonstration.verification import Check

Render = Callable[..., str]


def text(folder: Path, *contents: str, size_bytes: int = 1) -> Text:
    """A text of these documents."""
    documents = []
    for number, content in enumerate(contents):
        path = folder / f"document-{number}"
        path.write_text(content)
        documents.append(Document(str(path), len(content)))
    return Text(folder / "text", documents, size_bytes)


def container(group: str, allocated_ms: int, finished_ms: int, exit_code: int = 0) -> Container:
    slots = {"reduce-slots": 1} if group == "reduce" else {"map-slots": 1}
    return Container(
        "c",
        resources=slots,
        group=group,
        allocated_ms=allocated_ms,
        finished_ms=finished_ms,
        exit_code=exit_code,
    )


def job(submitted_ms: int, finished_ms: int, *containers: Container) -> Job:
    found = Application(
        id="a", state="FINISHED", submitted_ms=submitted_ms, finished_ms=finished_ms
    )
    return found, containers


def metrics(production: Job) -> JobMetrics:
    """A run on four map slots and two reduce slots, in which production has a minimum of two."""
    jobs = {
        "research": [
            job(0, 100, container("map", 0, 90), container("map", 0, 40, -102)),
        ],
        "production": [production],
        "adhoc": [
            job(50, 70, container("map", 52, 60), container("reduce", 60, 70)),
            job(60, 90, container("map", 80, 90)),
        ],
    }
    owed = {pool: {"map-slots": [0.25, 0.75], "reduce-slots": [0.5, 0.5]} for pool in TEAMS}
    return job_metrics(jobs, owed, (4, 2), 2, alone_ms=7)


PRODUCTION = job(40, 90, container("map", 40, 70), container("map", 50, 70))


def test_production_waits_two_seconds_for_its_minimum() -> None:
    assert timeout_of(configuration_directory("pools")) == 2_000


def test_a_configuration_without_pools_is_refused() -> None:
    with pytest.raises(DemonstrationFailed, match="not for the Fair Scheduler of MapReduce"):
        timeout_of(configuration_directory("fair"))


def test_the_amount_of_work_follows_the_speed_of_the_machine() -> None:
    plan, faster = plan_of(WHOLE, 12_000_000, 2_000), plan_of(WHOLE, 12_000_000, 1_000)
    assert plan.research_bytes == 6_000_000 * WHOLE.research_s
    assert faster.split_bytes == 2 * plan.split_bytes == 12_000_000 * WHOLE.task_s


def test_a_text_repeats_documents_until_it_is_long_enough(tmp_path: Path) -> None:
    made = text(tmp_path, "One lock, one-lock", "two\0locks\n", size_bytes=35)
    assert made.path.read_text() == "One lock, one-lock\ntwo locks\n" + "One lock, one-lock\n"
    assert made.size_bytes == made.path.stat().st_size
    assert made.words() == Counter({b"one": 4, b"lock": 4, b"two": 1, b"locks": 1})
    assert (made.occurrences("lock"), made.occurrences("one")) == (4, 2)


def test_the_functions_count_words_as_the_direct_count_does(tmp_path: Path) -> None:
    made = text(tmp_path, "A b\xe9b, a_a x9y\n")
    pairs = [pair for line in made.path.read_bytes().split(b"\n") for pair in functions.words(line)]
    assert Counter(word for word, _ in pairs) == made.words()
    assert list(functions.count_line(b"a", iter([1, 2]))) == [b"      3 a"]


def test_jobs_come_in_the_order_of_time_and_each_in_the_pool_of_its_user(tmp_path: Path) -> None:
    made = text(tmp_path, "a lock\n" * 20)
    found = arrivals(plan_of(QUICK, 1000, 1000), made, made, made)
    assert [arrival.at_s for arrival in found] == sorted(arrival.at_s for arrival in found)
    assert len(found) == 2 + QUICK.queries
    assert all(arrival.work.pool == arrival.work.user == arrival.team for arrival in found)
    assert all(
        arrival.tasks == len(arrival.work.splits()) + arrival.work.reduces + 1 for arrival in found
    )


def test_what_a_pool_had_is_measured_while_jobs_of_all_were_there() -> None:
    found = metrics(PRODUCTION)  # all three pools have jobs from 50 to 90
    assert found.maps.contended_ms == 40
    assert [found.maps.teams[pool].got for pool in TEAMS] == pytest.approx(
        [40 / 160, 40 / 160, 18 / 160]
    )
    assert found.reduces.teams["adhoc"].got == pytest.approx(10 / 80)
    assert found.maps.teams["adhoc"].owed == pytest.approx(0.5)
    assert found.maps.busy == pytest.approx((90 + 40 + 30 + 20 + 8 + 10) / 400)


def test_a_job_waits_until_its_first_task_and_takes_until_its_end() -> None:
    adhoc = metrics(PRODUCTION).waits["adhoc"]
    assert (adhoc.begun_median_ms, adhoc.begun_longest_ms) == (11, 20)
    assert (adhoc.answered_median_ms, adhoc.answered_longest_ms) == (25, 30)


def test_a_minimum_is_reached_when_so_many_slots_are_held_at_once() -> None:
    assert metrics(PRODUCTION).minimum_ms == 10
    never = job(40, 90, container("map", 40, 50), container("map", 50, 70))
    assert metrics(never).minimum_ms is None
    assert reached_at([span_of(*never, "map-slots")], 1) == 40


def test_slots_are_counted_when_they_are_taken_at_once() -> None:
    one = job(0, 9, container("map", 0, 5), container("map", 5, 9), container("commit", 8, 9))
    assert most_at_once([span_of(*one, "map-slots")]) == 2
    assert not results.check_slots(
        metrics(job(0, 9, *[container("map", 1, 2)] * 5))
    ).passed  # of four


def test_tasks_that_were_killed_for_others_are_counted() -> None:
    assert metrics(PRODUCTION).preempted == 1


def test_an_answer_is_right_when_a_direct_search_finds_as_many(tmp_path: Path) -> None:
    made = text(tmp_path, "a lock a\n")
    assert results.check_found([("lock", 1), ("none", 0)], made).passed
    assert not results.check_found([("lock", 1), ("none", 1)], made).passed
    assert not results.check_found([], made).passed


def test_counts_are_read_of_all_parts(tmp_path: Path) -> None:
    (tmp_path / "part-00000").write_bytes(b"      2 a\n      1 b\t\n")
    (tmp_path / "part-00001").write_bytes(b"      3 a\n")
    (tmp_path / "_SUCCESS").touch()
    assert results.read_counts(tmp_path) == {b"a": 5, b"b": 1}


def test_a_minimum_that_was_never_reached_fails_the_check() -> None:
    never = job(40, 90, container("map", 40, 50), container("map", 50, 70))
    assert results.check_minimum(metrics(PRODUCTION)).passed
    assert not results.check_minimum(metrics(never)).passed


@pytest.mark.parametrize("ascii_only", [False, True])
def test_the_words_at_the_end_have_shares_waits_and_what_was_expected(
    render: Render, ascii_only: bool
) -> None:
    checks = [Check(True, "all is well"), Check(False, "all is bad")]
    plan = plan_of(WHOLE, 12_000_000, 2_000)
    said = list(happened(metrics(PRODUCTION), plan, 2_000))
    made = report(Results(said, checks, ": self, the", ADVICE), ascii_only=ascii_only)
    found = " ".join(render(made).split())
    assert "production 1 50% 25% 50% 0%" in found
    assert "adhoc 0.01 s 0.02 s 0.03 s 0.03 s" in found
    assert "its minimum of 2 map slots after 0.01 s" in found
    assert "by force soon after 2.0 s; 1 task was killed for it, and ran again" in found
    assert ("ok all is well" if ascii_only else "✓ all is well") in found
    assert found.isascii() or not ascii_only
