"""A worker of a Ray program that has to end: Ray is told first, then what runs there."""

import threading
import time

from fairshare.ray.warnings import WorkerEnd, usable_s


class Process:
    """A `ray start --block` that ends when it is told to."""

    def __init__(self):
        self.ends = []
        self.over = threading.Event()

    def poll(self):
        return 1 if self.over.is_set() else None

    def terminate(self):
        self.ends.append("terminate")
        self.over.set()

    def kill(self):
        self.ends.append("kill")
        self.over.set()


def ended(tmp_path, drain, answers=lambda: True, seconds=0.2):
    process, file = Process(), tmp_path / "warning"
    end = WorkerEnd(process, file, seconds, lambda end_s: drain(file, end_s), answers)
    end.begin()
    end.begin()
    assert process.over.wait(60)
    return process, file


def test_ray_is_informed_before_the_file_appears_and_the_worker_ends_when_its_time_is_over(
    tmp_path,
):
    there = []
    before_s = time.time()
    process, file = ended(tmp_path, lambda file, end_s: there.append((file.exists(), end_s)))
    assert process.ends == ["terminate"]
    ((appeared, end_s),) = there
    assert not appeared
    assert before_s < end_s < before_s + 60
    assert abs(float(file.read_text()) - end_s) < 0.01


def test_a_drain_that_fails_takes_no_time_from_the_program(tmp_path, capfd):
    def refused(file, end_s):
        raise RuntimeError("no")

    process, file = ended(tmp_path, refused)
    assert process.ends == ["terminate"]
    assert file.exists()
    assert "Ray does not know that this worker ends: no" in capfd.readouterr().out


def test_a_worker_whose_head_is_gone_ends_at_once(tmp_path):
    process, file = ended(tmp_path, None, lambda: False, seconds=60)
    assert process.ends == ["kill"]
    assert not file.exists()


def test_a_quarter_of_the_grace_time_and_at_most_two_seconds_are_for_the_end_of_ray_itself():
    assert [usable_s(one) for one in (0, 1_000, 10_000, 60_000)] == [0, 0.75, 8, 58]
