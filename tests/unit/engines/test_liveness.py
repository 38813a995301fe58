"""What the engine's books say of containers that are late, gone, or watched by nothing."""

import json
import os
import selectors
import signal
from collections.abc import Iterator

import pytest

from fairshare.core.model.identifiers import container_id
from fairshare.engines.local import ending
from fairshare.engines.local.directories import ContainerDirectory
from fairshare.engines.local.ending import EndingRoom, Overdue, Watched
from fairshare.engines.local.launch import LIMIT_CHANGED, Launch
from fairshare.engines.local.liveness import Liveness
from fairshare.engines.local.reports import Reports
from fairshare.engines.protocol import NodeOffer

SIZE = {"memory-mb": 1024, "vcores": 1}


@pytest.fixture
def watched(tmp_path) -> Watched:
    launch = Launch(
        container=container_id(1, 1, 1),
        container_name="c",
        arguments=("x",),
        environment={},
        directory="",
        memory_mb=0,
        memory_limit="watch",
        node="local",
        resources=SIZE,
    )
    return Watched(container_id(1, 1, 1), ContainerDirectory(tmp_path / "c"), launch)


class Watch:
    """The liveness of a node with room for one container, and how often it reported free room."""

    def __init__(self) -> None:
        self.freed = 0
        self.rooms = EndingRoom([NodeOffer("local", "/default-rack", SIZE, {})])
        self.selector = selectors.DefaultSelector()
        reports = Reports(lambda report: None)
        self.liveness = Liveness(
            self.selector, reports, frozenset(), self.rooms, self._free, lambda path: None
        )

    def _free(self) -> None:
        self.freed += 1


@pytest.fixture
def watch() -> Iterator[Watch]:
    made = Watch()
    yield made
    made.selector.close()


def test_a_forgotten_container_frees_its_room(watch, watched):
    """Put aside, say, because another life's container is in the way: no end is reported then."""
    watch.liveness.watch(watched)
    watch.liveness.stop(watched)
    assert watch.rooms.has_to_wait("local", SIZE)
    watch.liveness.forget(watched)
    assert not watch.rooms.has_to_wait("local", SIZE)
    assert watch.freed == 1


def test_a_time_limit_that_a_full_disk_did_not_take_is_written_when_there_is_room(watch, watched):
    with pytest.raises(OSError):
        watch.liveness.limit(watched, 60_000)  # there is no directory yet
    watched.directory.path.mkdir()
    watch.liveness.limit(watched, 60_000)
    launch = watched.directory.launch.read_bytes()
    assert json.loads(launch)["time_limit_ms"] == 60_000


def test_a_supervisor_that_is_just_starting_is_informed_of_its_new_limit_later(
    watch, watched, monkeypatch
):
    sent = []
    monkeypatch.setattr(signal, "pidfd_send_signal", lambda pidfd, number: sent.append(number))
    watched.directory.path.mkdir()
    watch.liveness.watch(watched)
    watch.liveness.limit(watched, 60_000)
    assert sent == []
    watch.liveness.set_pidfd(watched, os.eventfd(0))
    assert sent == [LIMIT_CHANGED]
    watch.liveness.forget(watched)


def test_one_without_a_pidfd_is_looked_after_again(watched, monkeypatch):
    """Too many files were open for a moment. It must not be overdue unseen for ever."""
    now_s = [100.0]
    monkeypatch.setattr(ending.time, "monotonic", lambda: now_s[0])
    stopped = []
    monkeypatch.setattr(ending.processes, "supervisors", lambda path: [4711])
    monkeypatch.setattr(ending.processes, "is_stopped", lambda pid: True)
    monkeypatch.setattr(ending.signal, "pidfd_send_signal", lambda fd, sign: stopped.append(fd))
    overdue = Overdue()
    overdue.expect(watched, 0, "stopped on request")
    now_s[0] = overdue.next()
    assert overdue.take() == []
    watched.pidfd = 7  # it could be had meanwhile
    for lost in ([], [watched]):  # it is let go on once
        assert overdue.next() is not None
        now_s[0] = overdue.next()
        assert overdue.take() == lost
    assert stopped == [7]


def test_one_that_is_gone_is_looked_after_no_more(watch, watched):
    watch.liveness.watch(watched)
    watch.liveness.set_pidfd(watched, os.eventfd(0))
    watch.liveness.overdue.expect(watched, -60, "stopped on request")
    watch.liveness.forget(watched)
    assert watch.liveness.overdue.take() == []
    assert watch.liveness.overdue.next() is None
