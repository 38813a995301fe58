"""Passwords, as the machine's own PAM examines them, with a service of the test's."""

import os
import shutil
import subprocess
import sys

import msgspec
import pytest

from fairshare.server.access import pam

SERVICE = """auth required pam_exec.so expose_authtok quiet /bin/grep -qx right.horse
account required pam_permit.so
"""
IN_NAMESPACE = """mount -t tmpfs none /etc/pam.d
printf %s "$1" > /etc/pam.d/fairshare
shift
exec "$@"
"""


def asked(service, password, user="root"):
    question = msgspec.json.encode(pam.Question(service, user, password, "10.0.0.1"))
    command = ["unshare", "-m", "sh", "-ec", IN_NAMESPACE, "sh", SERVICE]
    command += [sys.executable, "-I", "-m", pam.__name__]
    return subprocess.run(command, input=question, capture_output=True, check=False)


@pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("unshare") is None, reason="a service of PAM needs root"
)
def test_pam_says_whether_a_password_is_right():
    right = asked("fairshare", "right horse")
    if b"libpam" in right.stderr or b"unshare" in right.stderr:
        pytest.skip(right.stderr.decode())
    assert (right.returncode, right.stdout) == (0, b"root\n")
    wrong = asked("fairshare", "wrong horse")
    assert (wrong.returncode, wrong.stdout) == (pam.WRONG, b"")
