"""Some lives of servers that crash under load, and questions to one; `make soak` has hundreds of
lives, and thousands of questions."""

import os
import random
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_nothing_is_lost_when_servers_crash_at_any_time():
    seed = random.randrange(2**32)
    done = subprocess.run(
        [sys.executable, "-m", "soak", "--crashes", "8", "--seed", str(seed), "--only-crashes"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"8 crashes .*; [1-9]\d* applications accepted; 0 violations", done.stdout)


def test_questions_to_a_server_change_no_decision():
    done = subprocess.run(
        [sys.executable, "-m", "soak.questions", "--questions", "300"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"[1-9]\d* records decided again, all identical", done.stdout)
    assert re.search(r"[1-9]\d* questions answered .*\d+ why", done.stdout)
