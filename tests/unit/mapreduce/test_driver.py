"""What the driver decides, looked at step by step with a cluster that is only told about."""

import time

import pytest

from fairshare.client import Application, Container, GroupProgress, Refused, ServerUnreachable
from fairshare.mapreduce import driver as module
from fairshare.mapreduce.driver import JobDriver
from fairshare.mapreduce.job import Layout
from fairshare.mapreduce.submission import Needs, Plan, groups_of


class Cluster:
    """Stands for the server: answers what the test says, remembers what it was asked for."""

    def __init__(self) -> None:
        self.groups: list[GroupProgress] = []
        self.listed: list[Container] = []
        self.added: list[str] = []
        self.released: list[str] = []
        self.ended = False
        self.failures: list[Exception] = []

    def register(self):
        pass

    def add_tasks(self, *groups):
        self.added += [group.name for group in groups]

    def application(self):
        if self.failures:
            raise self.failures.pop()
        return Application(id="a", state="RUNNING", groups=tuple(self.groups))

    def containers(self):
        return tuple(self.listed)

    def release(self, containers):
        self.released += containers

    def finish(self):
        self.ended = True


def container(name: str, group: str, task: int, **fields) -> Container:
    return Container(id=name, group=group, task=task, **{"state": "RUNNING", **fields})


def done(name: str, group: str, task: int, took_ms: int) -> Container:
    return container(
        name, group, task, state="COMPLETE", exit_code=0, allocated_ms=1, finished_ms=1 + took_ms
    )


@pytest.fixture
def layout(tmp_path) -> Layout:
    layout = Layout(tmp_path)
    for place in (layout.temporary, layout.attempts, layout.committed):
        place.mkdir()
    needs = Needs(speculative=True, speculation_delay_ms=1000, slow_start=0.0)
    groups = groups_of(layout.output, 4, 2, needs, ())
    Plan(groups, needs.speculative, needs.speculation_delay_ms).write(layout)
    return layout


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


@pytest.fixture
def driver(cluster, layout) -> JobDriver:
    return JobDriver(cluster, layout)


def progress(maps=(4, 0, 0), reduces=(0, 0, 2), commit=0) -> list[GroupProgress]:
    """Of each kind how many have succeeded, run and wait."""
    return [
        *(
            GroupProgress(
                name=name, count=count, succeeded=some[0], running=some[1], waiting=some[2]
            )
            for name, count, some in (("map", 4, maps), ("reduce", 2, reduces))
        ),
        GroupProgress(name="commit", count=1, succeeded=commit),
    ]


def test_the_driver_submits_the_groups_and_ends_when_all_is_committed(driver, cluster, monkeypatch):
    monkeypatch.setattr(module, "PACE_S", 0.0)
    cluster.groups = progress(commit=1)
    cluster.failures = [
        Refused(404, "unknown-container", "it has just ended"),
        ServerUnreachable("it is started again"),
    ]
    driver.run()
    assert cluster.added == ["map", "reduce", "commit"]
    assert cluster.ended


def test_a_server_that_stays_away_ends_the_driver(driver, cluster, monkeypatch):
    monkeypatch.setattr(module, "PATIENCE_S", -1.0)
    cluster.failures = [ServerUnreachable("gone")]
    with pytest.raises(ServerUnreachable):
        driver.run()
    cluster.failures = [Refused(403, "wrong-token", "no")]
    with pytest.raises(Refused):
        driver.run()


def test_a_straggler_gets_one_backup_and_the_slower_attempt_is_released(driver, cluster, layout):
    now_ms = int(time.time() * 1000)
    cluster.groups = progress(maps=(3, 1, 0))
    cluster.listed = [
        *(done(f"c{task}", "map", task, 500) for task in range(3)),
        container("c3", "map", 3, allocated_ms=now_ms - 60_000),
    ]
    driver.look()
    driver.look()
    assert cluster.added == ["map-backup-3"]
    cluster.listed.append(container("c4", "map-backup-3", 0, allocated_ms=now_ms))
    layout.task("map", 3).mkdir()
    driver.look()
    assert cluster.released == []  # one of both has just committed and needs a moment to end
    cluster.listed[-1] = done("c4", "map-backup-3", 0, 100)
    driver.look()
    assert cluster.released == ["c3"]


def test_the_progress_of_a_task_is_read_where_it_writes_it(driver, cluster, layout):
    now_ms = int(time.time() * 1000)
    cluster.groups = progress(maps=(3, 1, 0))
    cluster.listed = [
        *(done(f"c{task}", "map", task, 5_000) for task in range(3)),
        container("c3", "map", 3, allocated_ms=now_ms - 15_000),
    ]
    folder = layout.attempt("map", 3, "map", "c3")
    folder.mkdir()
    (folder / "progress.json").write_text('{"progress": 0.9}')
    driver.look()
    assert cluster.added == []
    (folder / "progress.json").write_text('{"progress": 0.2}')
    driver.look()
    assert cluster.added == ["map-backup-3"]


def test_reduces_make_room_when_no_map_can_run_for_some_time(driver, cluster, monkeypatch):
    cluster.groups = progress(maps=(3, 0, 1), reduces=(0, 2, 0))
    cluster.listed = [
        container("old", "reduce", 0, allocated_ms=10),
        container("new", "reduce", 1, allocated_ms=20),
    ]
    driver.look()
    assert cluster.released == []
    monkeypatch.setattr(module, "STALL_S", 0.0)
    driver.look()
    assert cluster.released == ["new"]


def test_reduces_keep_their_room_while_a_map_runs(driver, cluster, monkeypatch):
    monkeypatch.setattr(module, "STALL_S", 0.0)
    cluster.groups = progress(maps=(2, 1, 1), reduces=(0, 1, 1))
    cluster.listed = [container("r", "reduce", 0, allocated_ms=10)]
    driver.look()
    driver.look()
    assert cluster.released == []
