"""The course of the demonstration, with a cluster that only pretends."""

import io
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest
from rich.console import Console

from fairshare.client.answers import (
    Application,
    Cluster,
    Container,
    PoolFigures,
    PoolSlots,
    Progress,
    Queue,
    Task,
)
from fairshare.client.submissions import Submission
from fairshare.demonstration import course as course_module
from fairshare.demonstration import teams
from fairshare.demonstration.applications import plan
from fairshare.demonstration.applications.plan import Plan
from fairshare.demonstration.applications.results import Casualty
from fairshare.demonstration.applications.workload import ApplicationCourse
from fairshare.demonstration.errors import DemonstrationFailed
from fairshare.demonstration.observation import Snapshot
from fairshare.demonstration.picture import Lines, MovingPicture, presentation_on
from fairshare.demonstration.pools.workload import JobCourse
from fairshare.demonstration.teams import FAIR, POOLS, WHOLE, Arrival

PLAN = Plan(WHOLE, 2, 3, 50, 3, 2, 1_000, 10, 500)


class PretendingCluster:
    """Finishes everything a moment after it was handed in; containers can be killed once."""

    def __init__(self, ending: str = "FINISHED") -> None:
        self.ending = ending
        self.submitted: list[Submission] = []
        self.looks: dict[str, int] = {}
        self.killed: list[str] = []

    def submit(self, submission: Submission) -> str:
        self.submitted.append(submission)
        return str(len(self.submitted) - 1)

    def cluster(self) -> Cluster:
        return Cluster(scheduler="fair", total={"memory-mb": 3072, "vcores": 12}, now_ms=1)

    def queues(self) -> tuple[Queue, ...]:
        share = {"memory-mb": 1024}
        return tuple(Queue(name=f"root.{team}", fair_share=share) for team in teams.TEAMS)

    def application(self, name: str) -> Application:
        looks = self.looks[name] = self.looks.get(name, 0) + 1
        submission = self.submitted[int(name)]
        over = looks > 3
        return Application(
            id=name,
            state=self.ending if over else "RUNNING",
            name=submission.name or "",
            user=submission.user or "",
            used={"memory-mb": 0 if over else 256},
            demand={"memory-mb": 0 if over else 512},
            finished_ms=2 if over else None,
            diagnostics="it went wrong",
            progress=Progress(total=3, succeeded=3 if over else 2, running=0 if over else 1),
            containers=() if over else (Container("c", state="RUNNING", group="map", task=2),),
        )

    def applications(self, user: str) -> tuple[Application, ...]:
        numbers = [n for n, s in enumerate(self.submitted) if s.user == user]
        return tuple(self.application(str(number)) for number in numbers)

    def stop_container(self, container: str) -> None:
        self.killed.append(container)

    def tasks(self, name: str) -> tuple[Task, ...]:
        return (Task("map", 2, "SUCCEEDED", 2, "another"),)

    def failure_log(self, name: str) -> str:
        return "its last words"


def arrivals() -> list[Arrival[Submission]]:
    folder = Path("folder")
    return [
        plan.arrival(0.0, teams.RESEARCH, plan.research(PLAN)[0]),
        plan.arrival(0.0, teams.PRODUCTION, plan.production(PLAN, folder)),
        plan.arrival(0.1, teams.ADHOC, plan.question("lock", folder)),
        plan.arrival(0.3, teams.ADHOC, plan.question("error", folder)),
    ]


def course_of(cluster: PretendingCluster) -> ApplicationCourse:
    course = ApplicationCourse(cluster, arrivals(), FAIR)
    course.casualty = Casualty(cluster, 0.5)
    return course


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time goes by as fast as somebody sleeps."""
    clock = {"s": 0.0}
    time = SimpleNamespace(
        monotonic=lambda: clock["s"], sleep=lambda s: clock.update(s=clock["s"] + s + 0.001)
    )
    monkeypatch.setattr(course_module, "time", time)


def test_all_work_is_submitted_when_it_is_due_and_watched_to_its_end() -> None:
    cluster, shown = PretendingCluster(), list[Snapshot]()
    course = course_of(cluster)
    course.run(shown.append)
    assert [s.user for s in cluster.submitted] == ["research", "production", "adhoc", "adhoc"]
    assert course.applications == {"research": ["0"], "production": ["1"], "adhoc": ["2", "3"]}
    assert all(team.over for team in shown[-1].teams)
    assert not any(team.over for team in shown[0].teams)
    assert cluster.killed == ["c"]
    # What was wanted and owed while all three were active, as parts of the memory.
    assert (owed := course.owed["adhoc"]["memory-mb"])
    assert owed == [pytest.approx(1 / 3)] * len(owed)
    assert all(1 / 6 <= part <= 2 / 6 for part in course.wanted["adhoc"])
    texts = [happening.text for happening in shown[-1].happenings]
    assert texts[0].startswith("research takes the idle machine: primes below 150")
    assert "production has everything done" in texts
    assert "map 2 has run again, and succeeded" in texts


def test_an_application_that_fails_ends_the_demonstration_with_its_last_words() -> None:
    course = course_of(PretendingCluster("FAILED"))
    with pytest.raises(DemonstrationFailed, match="it went wrong\nits last words"):
        course.run(lambda _: None)


def test_a_course_that_does_not_end_is_given_up() -> None:
    cluster = PretendingCluster()
    cluster.application = lambda name: Application(id=name, state="RUNNING")  # never over
    course = course_of(cluster)
    with pytest.raises(DemonstrationFailed, match="given up"):
        course.run(lambda _: None)


class SubmittingJob:
    """A MapReduce job that is one submission."""

    def __init__(self, submission: Submission) -> None:
        self._submission = submission

    def submit(self, cluster: PretendingCluster) -> str:
        return cluster.submit(self._submission)


def test_jobs_run_the_same_course_and_the_minimum_of_production_is_reported_once() -> None:
    cluster, shown = PretendingCluster(), list[Snapshot]()
    maps = PoolSlots(running=4, fair_share=2.5, min_share=4)
    pool = PoolFigures(maps=maps, reduces=PoolSlots(fair_share=1.0))
    cluster.queues = lambda: tuple(Queue(name=f"root.{each}", pool=pool) for each in teams.TEAMS)
    total = {"memory-mb": 1536, "vcores": 12, "map-slots": 8, "reduce-slots": 4}
    cluster.cluster = lambda: Cluster(scheduler="pools", total=total, now_ms=1)
    jobs = [msgspec.structs.replace(one, work=SubmittingJob(one.work)) for one in arrivals()]
    course = JobCourse(cluster, jobs, POOLS)
    course.run(shown.append)
    assert course.applications == {"research": ["0"], "production": ["1"], "adhoc": ["2", "3"]}
    # The shares of pools are not rounded to whole slots.
    assert set(course.owed["adhoc"]["map-slots"]) == {2.5 / 8}
    assert set(course.owed["adhoc"]["reduce-slots"]) == {1.0 / 4}
    texts = [happening.text for happening in shown[-1].happenings]
    assert texts[0].startswith("research takes the idle slots: primes below 150")
    assert texts.count("production has its minimum of 4 map slots") == 1
    assert (shown[-1].places, shown[-1].unit) == (8, "8 map slots")
    assert shown[-1].teams[0].detail == "tasks 3/3, 0 reduces run"


def console(*, terminal: bool) -> Console:
    return Console(file=io.StringIO(), width=80, force_terminal=terminal, color_system=None)


def test_the_lines_report_each_happening_once() -> None:
    out = console(terminal=False)
    with Lines(out) as lines:
        course_of(PretendingCluster()).run(lines.show)
        text = out.file.getvalue()
    assert text.count("* production arrives") == 1
    assert text.count("* adhoc has everything done") == 1
    assert "\x1b" not in text


def test_the_last_picture_stays() -> None:
    out = console(terminal=True)
    with MovingPicture(out) as moving:
        course_of(PretendingCluster()).run(moving.show)
    assert "adhoc has everything done" in out.file.getvalue()


def test_only_a_real_terminal_gets_a_picture() -> None:
    # Forced colours, as in many build services, make no terminal of a file.
    assert isinstance(presentation_on(console(terminal=True)), Lines)
    assert isinstance(presentation_on(console(terminal=False)), Lines)
