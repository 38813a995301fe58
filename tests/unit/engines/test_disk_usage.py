"""Who takes too much of the disk, and what becomes of it."""

import os
import shutil

import pytest

from fairshare.engines.local.disk_usage import DiskLimits, DiskUsage, Running
from fairshare.engines.local.launch import Launch
from fairshare.engines.local.state import StateDirectory

MB = 1024 * 1024


class Machine:
    """Containers by number, and what was ended."""

    def __init__(self, path):
        self.state = StateDirectory(path)
        self.state.create()
        self.live = {}
        self.stopped = {}

    def add(self, number, size_mb, application="application_1_0001", user="ann"):
        directory = self.state.container(application, f"container_{number}")
        launch = Launch(number, f"container_{number}", (), {"FAIRSHARE_USER": user}, "", 0, "watch")
        directory.write_launch(launch.encode())
        (directory.work / "data").write_bytes(os.urandom(size_mb * MB))
        self.live[number] = Running(number, directory, user)
        return directory

    def end(self, number):
        self.live.pop(number).directory.settle()

    def stop(self, number, reason):
        self.stopped[number] = reason

    def usage(self, **limits):
        running = lambda: list(self.live.values())  # noqa: E731
        discard = shutil.rmtree
        return DiskUsage(self.state, DiskLimits(**limits), running, self.stop, discard)


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path)


def test_containers_below_the_limit_are_left_alone(machine):
    machine.add(1, 1)
    machine.add(2, 1)
    machine.usage(application_mb=3, user_mb=3).look()
    assert machine.stopped == {}


def test_the_largest_container_of_an_application_above_its_limit_is_ended(machine):
    machine.add(1, 1)
    large = machine.add(2, 3)
    machine.add(3, 2, application="application_1_0002")
    usage = machine.usage(application_mb=3)
    usage.look()
    assert list(machine.stopped) == [2]
    assert "the containers of this application had 4.0 MB" in machine.stopped[2]
    assert "3 MB are the limit" in machine.stopped[2]
    assert "application_disk_mb raised" in machine.stopped[2]
    assert large.work.exists()  # it may still write
    machine.end(2)
    machine.stopped.clear()
    usage.look()
    assert not large.work.exists()
    assert large.launch.exists()
    assert machine.stopped == {}  # there is room again


def test_what_the_containers_of_an_application_share_counts(machine):
    directory = machine.add(1, 1)
    machine.add(2, 1, application="application_1_0002")
    machine.state.make_shared("application_1_0001", None)
    (machine.state.shared("application_1_0001") / "data").write_bytes(os.urandom(3 * MB))
    machine.usage(application_mb=5, user_mb=9).look()
    assert machine.stopped == {}
    machine.usage(application_mb=3, user_mb=9).look()
    assert list(machine.stopped) == [1]
    machine.stopped.clear()
    machine.end(1)
    machine.usage(user_mb=4).look()
    assert list(machine.stopped) == [2]
    assert directory.launch.exists()


def test_all_applications_of_a_user_count_and_those_of_others_do_not(machine):
    machine.add(1, 2)
    machine.add(2, 2, application="application_1_0002")
    machine.add(3, 2, application="application_1_0003", user="bob")
    machine.end(1)
    machine.usage(user_mb=3).look()
    assert list(machine.stopped) == [2]
    assert "the containers of ann had 4.0 MB" in machine.stopped[2]


def test_what_has_ended_is_measured_once(machine, monkeypatch):
    directory = machine.add(1, 1)
    machine.add(2, 1)
    machine.end(1)
    usage = machine.usage(application_mb=100)
    measured = []
    whole = usage._size_of
    monkeypatch.setattr(usage, "_size_of", lambda path: measured.append(path) or whole(path))
    usage.look()
    usage.look()
    assert measured.count(directory.path) == 1
    assert len(measured) == 5, "the other container twice, with its temporary files"


def test_a_file_of_two_names_counts_once_and_a_shared_call_not_at_all(machine):
    directory = machine.add(1, 2)
    os.link(directory.work / "data", directory.work / "again")
    directory.call.write_bytes(os.urandom(5 * MB))
    (directory.work / "away").symlink_to("/")
    machine.usage(application_mb=3).look()
    assert machine.stopped == {}


def test_without_a_limit_nothing_is_looked_at(machine):
    usage = machine.usage()
    usage.start()
    assert usage._thread is None
    usage.close()


def test_a_container_that_ends_for_its_size_counts_no_more_against_the_others(machine):
    machine.add(1, 1)
    machine.add(2, 3)
    usage = machine.usage(application_mb=3)
    usage.look()
    assert list(machine.stopped) == [2]
    del machine.live[2]  # it has ended, and its end is not settled yet
    usage.look()
    assert list(machine.stopped) == [2]


def test_no_container_is_ended_for_one_that_has_just_started(machine):
    machine.add(1, 1)
    machine.add(2, 4)
    del machine.live[2]  # it was no running container yet when the look began
    usage = machine.usage(application_mb=3)
    usage.look()
    assert machine.stopped == {}


def test_a_link_in_the_place_of_a_directory_is_not_followed_while_it_is_measured(
    machine, monkeypatch, tmp_path
):
    """Its user can put it there after the directory was listed, and before it is opened."""
    directory = machine.add(1, 1)
    inner = directory.work / "inner"
    inner.mkdir()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "data").write_bytes(os.urandom(5 * MB))
    look = os.open

    def exchanged(path, *rest, **named):
        if path == "inner":
            inner.rmdir()
            inner.symlink_to(elsewhere)
        return look(path, *rest, **named)

    monkeypatch.setattr(os, "open", exchanged)
    machine.usage(application_mb=3).look()
    assert inner.is_symlink()
    assert machine.stopped == {}


def test_nested_directories_are_measured_down_to_the_last(machine):
    directory = machine.add(1, 1)
    deep = directory.work
    for name in "abcdefgh":
        deep /= name
    deep.mkdir(parents=True)
    (deep / "data").write_bytes(os.urandom(4 * MB))
    machine.usage(application_mb=3).look()
    assert list(machine.stopped) == [1]
