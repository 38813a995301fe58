"""What is run for a Ray program: its driver, and its workers."""

import itertools

import msgspec
import pytest

from fairshare.cli.submit import from_command
from fairshare.ray.program import Program
from fairshare.ray.worker import worker_arguments, worker_command

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
