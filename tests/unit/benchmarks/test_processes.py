"""What a process costs, as benchmarks measure it."""

import os
import subprocess
import sys

import pytest
from benchmarks.processes import Spread, cost_of, processor_s, spread_of, users_environment

BURN = "import time\nwhile time.process_time() < 0.3: pass"


@pytest.mark.slow
def test_the_cost_of_a_command_has_the_time_of_its_children():
    command = [sys.executable, "-c", BURN]
    alone = cost_of(command)
    both = cost_of(["sh", "-c", f"'{sys.executable}' -c '{BURN}'; true"])
    for cost in (alone, both):
        assert 0.3 <= cost.processor_s < 5
        assert cost.wall_s >= 0.3


def test_a_command_that_fails_has_no_cost():
    with pytest.raises(RuntimeError, match=r"sh -c .* failed: what went wrong"):
        cost_of(["sh", "-c", "echo what went wrong >&2; exit 3"])


def test_a_process_is_measured_with_those_that_it_has_started():
    script = f"import subprocess, sys\n{BURN}\nprint('done', flush=True)\nsys.stdin.read()"
    with subprocess.Popen(
        ["sh", "-c", f'{sys.executable} -c "{script}"; true'],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout.readline() == b"done\n"
        assert 0.25 <= processor_s(process.pid) < 5
        process.stdin.close()


def test_commands_do_not_compile_what_they_import_at_each_start(monkeypatch):
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    assert "PYTHONDONTWRITEBYTECODE" not in users_environment({"A": "b"})
    assert users_environment({"A": "b"})["A"] == "b"
    assert os.environ["PYTHONDONTWRITEBYTECODE"] == "1"


def test_a_spread_is_the_median_the_least_and_the_most():
    assert spread_of([4.0, 1.0, 2.0, 3.0]) == Spread(2.5, 1.0, 4.0)
