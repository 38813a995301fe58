"""The claim on a state directory."""

import os
import subprocess
import sys

import pytest

from fairshare.errors import JournalError
from fairshare.runtime.journal.files import Holder, StateLock, holder_of

HOLD = """
import sys, pathlib
from fairshare.runtime.journal.files import StateLock
lock = StateLock(pathlib.Path(sys.argv[1]), "http://127.0.0.1:9")
print("held", flush=True)
sys.stdin.read()
"""


def test_a_new_directory_has_no_holder(tmp_path):
    assert holder_of(tmp_path) is None
    assert not (tmp_path / "lock").exists()


def test_the_holder_is_known_until_it_lets_go(tmp_path):
    lock = StateLock(tmp_path, "http://127.0.0.1:8")
    assert holder_of(tmp_path) == Holder(os.getpid(), "http://127.0.0.1:8")
    lock.announce("")
    assert str(holder_of(tmp_path)) == f"process {os.getpid()}"
    lock.close()
    lock.close()
    assert holder_of(tmp_path) is None


def test_the_file_is_for_its_owner_alone(tmp_path):
    StateLock(tmp_path).close()
    assert (tmp_path / "lock").stat().st_mode & 0o777 == 0o600


def test_a_process_that_is_killed_lets_go(tmp_path):
    command = [sys.executable, "-c", HOLD, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as one:
        assert one.stdout.readline() == "held\n"
        with pytest.raises(JournalError, match=f"process {one.pid} at http://127.0.0.1:9"):
            StateLock(tmp_path)
        one.kill()
        one.wait()
        StateLock(tmp_path).close()


def test_a_lock_file_without_sense_still_locks(tmp_path):
    lock = StateLock(tmp_path)
    (tmp_path / "lock").write_text("?")
    with pytest.raises(JournalError, match="in use by another process"):
        StateLock(tmp_path)
    lock.close()
