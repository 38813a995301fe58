"""What a command takes along of the process that submits it."""

import pytest

from fairshare.api.cluster import Cluster
from fairshare.api.work import DriverCommand, Submission, TaskGroup
from fairshare.client.caller import (
    Caller,
    exported,
    private_variables,
    runs_here,
    taken_along,
    this_caller,
)
from fairshare.client.errors import NotHere
from fairshare.this_machine import this_machine

ANN = Caller("/home/ann/project", 0o027, {"nofile": 1024, "core": 0})


def test_only_a_server_whose_containers_run_on_this_machine_is_here():
    assert runs_here(Cluster(machine=this_machine()))
    assert not runs_here(Cluster(machine="another"))
    assert not runs_here(Cluster())  # on several machines, or of an earlier release


def test_a_command_takes_along_what_it_does_not_say_itself():
    plain = TaskGroup(arguments=("x",))
    own = TaskGroup(
        arguments=("x",), directory="/d", umask=0o077, limits={"nofile": 9}, environment={"A": "2"}
    )
    submission = Submission(tasks=(plain, own))
    first, second = taken_along(submission, ANN, {"A": "1", "B": "1"}, directory=True).tasks
    assert (first.directory, first.directory_optional) == ("/home/ann/project", True)
    assert (first.umask, first.limits) == (0o027, {"nofile": 1024, "core": 0})
    assert first.environment == {"A": "1", "B": "1"}
    assert (second.directory, second.directory_optional) == ("/d", False)
    assert (second.umask, second.limits) == (0o077, {"nofile": 9, "core": 0})
    assert second.environment == {"A": "2", "B": "1"}


def test_a_driver_takes_along_the_same_and_nothing_goes_to_another_machine():
    submission = Submission(driver=DriverCommand(arguments=("x",)))
    driver = taken_along(submission, ANN, {}, directory=False).driver
    assert (driver.directory, driver.umask) == (None, 0o027)
    assert taken_along(submission, None, {}, directory=True) == submission


def test_variables_that_may_be_secret_stay_here_by_default():
    shell = {"PATH": "/bin", "AWS_SECRET_ACCESS_KEY": "x", "FAIRSHARE_TOKEN": "y", "LC_TIME": "C"}
    assert exported("default", shell) == {"PATH": "/bin", "LC_TIME": "C"}
    assert exported("none", shell) == {}
    assert "AWS_SECRET_ACCESS_KEY" in exported("all", shell)
    assert "FAIRSHARE_TOKEN" not in exported("all", shell)
    with pytest.raises(NotHere, match="MODE is not set here"):
        exported("PATH,MODE", shell)


def test_a_deleted_directory_cannot_be_taken_along(tmp_path, monkeypatch):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(NotHere, match="does not exist any more"):
        this_caller()


def test_a_whole_environment_that_is_too_large_is_refused_with_what_to_do():
    large = {f"LARGE_{number}": "x" * 100_000 for number in range(3)}
    with pytest.raises(NotHere, match="give --export default"):
        private_variables(large)
    assert private_variables({"LARGE": "x" * 100_000}) == {"LARGE": "x" * 100_000}
