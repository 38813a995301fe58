"""docs/how-to/keep-people-in-the-queue.md: its files are accepted by systemd and PAM."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from fairshare.server.access import pam

PAGE = (Path(__file__).parents[3] / "docs" / "how-to" / "keep-people-in-the-queue.md").read_text()
SLICES = re.findall(r"```ini\n(.*?)```", PAGE, re.S)
(HOOK,) = re.findall(r"```sh\n(.*?)```", PAGE, re.S)
(LINE,) = re.findall(r"^account .*", PAGE, re.M)
IN_NAMESPACE = """mount -t tmpfs none /etc/pam.d
mount -t tmpfs none /usr/local
mkdir /usr/local/bin /usr/local/sbin
printf '%s\\nauth required pam_permit.so\\n' "$2" > /etc/pam.d/fairshare
printf %s "$1" > /usr/local/sbin/fairshare-may-login
printf '#!/bin/sh\\n[ "$3" != daemon ] || echo application_1_0001\\n' > /usr/local/bin/fairshare
chmod 755 /usr/local/sbin/* /usr/local/bin/*
for user in root daemon bin; do
    code=0
    printf %s "$3" | sed s/USER/$user/ | "$4" -I -m "$5" >/dev/null 2>&1 || code=$?
    echo $user $code
done
"""


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd verifies slices")
def test_the_limits_are_ones_that_systemd_knows(tmp_path):
    assert len(SLICES) == 2
    for number, text in enumerate(SLICES):
        (tmp_path / f"{number}.slice").write_text(text)
        done = subprocess.run(
            ["systemd-analyze", "verify", tmp_path / f"{number}.slice"],
            capture_output=True,
            text=True,
            check=False,
        )
        assert "ignoring" not in done.stderr, "a key or a value that it does not know"


@pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("unshare") is None, reason="a hook of PAM needs root"
)
def test_the_hook_lets_in_users_with_a_running_application():
    question = msgspec.json.encode(pam.Question("fairshare", "USER", "x"))
    arguments = [HOOK, LINE, question.decode(), sys.executable, pam.__name__]
    done = subprocess.run(
        ["unshare", "-m", "sh", "-ec", IN_NAMESPACE, "sh", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    if "unshare" in done.stderr:
        pytest.skip(done.stderr)
    assert done.stdout.splitlines() == ["root 0", "daemon 0", f"bin {pam.WRONG}"], done.stderr
