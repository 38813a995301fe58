"""The harness that forks programs gives them what a started interpreter would have, or refuses."""

import os

from tests.forked import Forked, fairshare


def test_a_program_that_ends_before_its_end_is_reported_can_be_killed():
    ended = Forked("--help")
    ended.communicate()
    ended.returncode, ended.poll = None, lambda: None
    ended.kill()


def test_a_program_with_other_variables_of_python_is_refused():
    done = fairshare("--help", env={**os.environ, "PYTHONHASHSEED": "1"})
    assert done.returncode == 1
    assert "PYTHONHASHSEED=1 needs an interpreter" in done.stderr
