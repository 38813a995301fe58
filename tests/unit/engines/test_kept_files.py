"""Directories of ended containers are kept up to a limit, the latest of each application."""

from types import SimpleNamespace

import pytest

from fairshare.engines.local import reports
from fairshare.engines.local.directories import ContainerDirectory
from fairshare.engines.local.disk_usage import DiskLimits
from fairshare.engines.local.reports import KEPT_TRIES, KeptFiles
from fairshare.engines.local.state import StateDirectory


class Files:
    """A state directory in which containers end."""

    def __init__(self, path, application=0, user=0, inodes=0) -> None:
        self.state = StateDirectory(path)
        self.state.create()
        self.limits = DiskLimits(application_containers=application, user_containers=user)
        self.kept = self.again()
        self.inodes = inodes

    def again(self) -> KeptFiles:
        def discard(path) -> None:
            for entry in path.iterdir():
                entry.unlink()
            path.rmdir()

        return KeptFiles(self.state, self.limits, discard)

    def end(
        self, application, number, user="ann", code=0, result=False, settled=True, **environment
    ):
        directory = ContainerDirectory(
            self.state.containers / application / f"container_{number:06d}"
        )
        directory.path.mkdir(parents=True)
        if result:
            directory.result.touch()
        launch = SimpleNamespace(environment={"FAIRSHARE_USER": user, **environment})
        if settled:
            directory.settle()
            self.kept.settled(directory, launch, code)
        return directory, launch

    def of(self, application) -> list[int]:
        return [int(name[-6:]) for name in self.state.names(application)]


def test_the_latest_directories_of_an_application_are_kept(tmp_path):
    files = Files(tmp_path, application=32)
    for number in range(100):
        files.end("a", number)
        assert len(files.of("a")) <= 32
    assert files.of("a")[-1] == 99
    assert len(files.of("a")) >= 28
    files.end("b", 1)
    assert files.of("b") == [1]


def test_those_of_a_user_go_from_the_oldest_application_on(tmp_path):
    files = Files(tmp_path, user=32)
    for application in ("a", "b", "c"):
        for number in range(15):
            files.end(application, number)
        files.end("of-bob", ord(application), user="bob")
    assert sum(len(files.of(one)) for one in ("a", "b", "c")) <= 32
    assert len(files.of("a")) < 15
    assert len(files.of("c")) == 15
    assert len(files.of("of-bob")) == 3


def test_results_go_last_and_what_runs_stays(tmp_path):
    files = Files(tmp_path, application=16)
    files.end("a", 0, settled=False)
    for number in range(1, 6):
        files.end("a", number, result=True)
    for number in range(6, 50):
        files.end("a", number)
    assert files.of("a")[:6] == [0, 1, 2, 3, 4, 5]


def test_a_disk_with_few_inodes_keeps_few_directories(tmp_path, monkeypatch):
    few = SimpleNamespace(f_files=8 * 16 * 20)
    monkeypatch.setattr(reports.os, "statvfs", lambda path: few)
    files = Files(tmp_path, application=50_000, user=200_000)
    for number in range(100):
        files.end("a", number)
    assert 15 < len(files.of("a")) <= 20


def test_only_the_last_failures_of_a_task_are_kept(tmp_path):
    files = Files(tmp_path)
    task = {"FAIRSHARE_TASK_GROUP": "t", "FAIRSHARE_TASK_INDEX": "1"}
    for number in range(30):
        files.end("a", number, code=1, **task)
    other = {**task, "FAIRSHARE_TASK_INDEX": "2"}
    files.end("a", 30, code=1, **other)
    files.end("a", 31, **task)
    assert files.of("a") == [*range(30 - KEPT_TRIES, 32)]


@pytest.mark.parametrize("forgotten", [False, True])
def test_the_next_server_counts_what_it_finds(tmp_path, forgotten):
    files = Files(tmp_path, application=32)
    for number in range(30):
        directory, launch = files.end("a", number)
    files.kept = files.again()
    for number in range(30):
        assert files.kept.knows("a") == (number > 0)
        files.kept.adopt(directory, launch)
    if forgotten:
        files.kept.forget("a")
    for number in range(30, 36):
        files.end("a", number)
    assert (len(files.of("a")) <= 32) is not forgotten
