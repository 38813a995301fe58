"""Which processes belong to a demonstration, and how it ends."""

import subprocess
import sys
from pathlib import Path

import pytest

from fairshare.demonstration.server import end_processes_of, processes_of

SLEEP = (sys.executable, "-I", "-S", "-c", "import time; print(flush=True); time.sleep(60)")


def test_what_names_the_folder_is_found_and_ended(tmp_path: Path) -> None:
    folder = tmp_path / "demonstration"
    running = [
        subprocess.Popen([*SLEEP, str(folder)], stdout=subprocess.PIPE),
        subprocess.Popen(SLEEP, env={"SOMEWHERE": f"{folder}/x"}, stdout=subprocess.PIPE),
        subprocess.Popen(SLEEP, env={"SOMEWHERE": "else"}, stdout=subprocess.PIPE),
    ]
    try:
        for process in running:
            assert process.stdout is not None
            process.stdout.readline()
        assert processes_of(folder) == sorted(process.pid for process in running[:2])
        # They are our children: nothing is left of them only when we have waited for them.
        end_processes_of(folder, patience_s=0.0)
        assert [process.wait(10) for process in running[:2]] == [-9, -9]
        assert processes_of(folder) == []
        assert running[2].poll() is None
    finally:
        for process in running:
            process.kill()
            process.communicate()


INTERRUPTED = """\
import os, signal, time
signal.signal(signal.SIGHUP, signal.SIG_DFL)   # below nohup it would be ignored
from fairshare.demonstration.performance import ended_by_signals
try:
    with ended_by_signals():
        try:
            os.kill(os.getpid(), signal.{first})
            time.sleep(60)
        finally:
            os.kill(os.getpid(), signal.SIGINT)   # comes while everything is put in order
            os.kill(os.getpid(), signal.SIGTERM)
            print("in order", flush=True)
except KeyboardInterrupt:
    raise SystemExit(130)
"""


@pytest.mark.parametrize(("first", "code"), [("SIGINT", 130), ("SIGTERM", 143), ("SIGHUP", 129)])
def test_the_first_signal_ends_and_further_ones_do_not_disturb(first: str, code: int) -> None:
    program = INTERRUPTED.format(first=first)
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=30)
    assert (run.returncode, run.stdout) == (code, b"in order\n")
