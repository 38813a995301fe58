"""What is run for a Ray program: its driver, and its workers."""

import itertools

import msgspec
import pytest

from fairshare.cli.submit import from_command, unwarned
from fairshare.client import EndSignal
from fairshare.ray.program import Program, _groups
from fairshare.ray.worker import GRACE_VARIABLE, worker_arguments, worker_command

MEBIBYTE = 1024 * 1024


def program_of(submission):
    return msgspec.json.decode(submission.driver.arguments[-1], type=Program)


def test_a_ray_program_is_a_driver_that_knows_its_workers():
    given = {"ray": True, "count": 4, "more": 2, "memory": 2048, "vcores": 2, "queue": "ml"}
    submission = from_command(("python", "train.py"), given)
    program = program_of(submission)
    assert (program.workers, program.more) == (4, 2)
    assert program.resources == {"memory-mb": 2048, "vcores": 2}
    assert program.command == ("python", "train.py")
    assert (submission.queue, submission.name) == ("ml", "python")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"ray": True, "hosts": ("n1",)}, "--host cannot be given here: workers run anywhere"),
        ({"ray": True, "driver": True}, "--driver cannot be given here"),
        ({"more": 2}, "--more cannot be given here: it has a meaning with --ray only"),
    ],
)
def test_options_without_effect_are_refused(given, words):
    with pytest.raises(Exception, match=words):
        from_command(("python", "train.py"), given)


def test_a_worker_offers_what_its_container_has():
    command = worker_command("head:1", 2, 1000, 1)
    options = dict(itertools.pairwise(command))
    assert (options["--num-cpus"], options["--num-gpus"]) == ("2", "1")
    assert options["--object-store-memory"] == str(300 * MEBIBYTE)
    assert options["--memory"] == str(700 * MEBIBYTE)


def test_a_worker_is_asked_for_with_its_size():
    arguments = worker_arguments("head:1", {"memory-mb": 512, "vcores": 3, "yarn.io/gpu": 1})
    assert arguments[-4:] == ("head:1", "3", "512", "1")


def test_a_program_and_its_workers_are_warned_before_their_end_and_rays_own_processes_are_not():
    submission = from_command(("./train",), {"ray": True, "queue": "ml"})
    assert submission.driver.end_signal == EndSignal(name="TERM", first_process=True)
    assert submission.driver.grace_ms is None
    (group,) = _groups(program_of(submission), "head:1")
    assert group.end_signal == EndSignal(name="TERM", first_process=True)
    assert (group.grace_ms, group.environment) == (10_000, {GRACE_VARIABLE: "10000"})


def test_grace_and_signal_of_a_program_are_its_own():
    given = {"ray": True, "grace_ms": 60_000, "end_signal": EndSignal(name="USR1")}
    submission = from_command(("./train",), given)
    program = program_of(submission)
    assert submission.driver.end_signal == EndSignal(name="USR1", first_process=True)
    assert submission.driver.grace_ms == program.grace_ms == 60_000
    assert program.end_signal == EndSignal(name="USR1")
    assert _groups(program, "head:1")[0].end_signal.name == "TERM"


def test_nodemanagers_are_not_asked_for_a_grace_time_and_a_signal(monkeypatch):
    monkeypatch.setenv("NM_HOST", "node1")
    submission = unwarned(from_command(("./train",), {"ray": True}))
    assert submission.driver.end_signal is None
    (group,) = _groups(program_of(submission), "head:1")
    assert (group.grace_ms, group.end_signal) == (None, None)


def test_further_workers_come_after_all_others_and_one_by_one():
    given = {"ray": True, "count": 2, "more": 3}
    first, further = _groups(program_of(from_command(("./train",), given)), "head:1")
    assert (first.count, first.gang, further.count, further.gang) == (2, True, 3, False)
    assert further.priority > first.priority
    assert further.arguments == first.arguments
