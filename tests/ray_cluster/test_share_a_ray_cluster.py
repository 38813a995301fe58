"""docs/how-to/share-a-ray-cluster.md, run as it is written: in a network and a process table of its
own, which end with it.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs/how-to/share-a-ray-cluster.md"
SANDBOX = ("unshare", "--net", "--pid", "--fork", "--mount-proc", "--kill-child")
UP = """
import fcntl, socket, struct
fcntl.ioctl(socket.socket(), 0x8914, struct.pack("16sh", b"lo", 0x41))  # the loopback device
"""


def commands(text: str) -> list[str]:
    """The lines to type; what installs is left out, it is there."""
    lines = re.findall(r"^    (\S.*)$", text, re.M)
    return [line.replace("HEAD", "127.0.0.1") for line in lines if not line.startswith("pip ")]


@pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("unshare") is None,
    reason="needs root, for a network of its own",
)
def test_a_ray_cluster_is_shared_as_the_page_says(tmp_path):
    text = PAGE.read_text()
    conf = tmp_path / "conf"
    conf.mkdir()
    (conf / "fair-scheduler.xml").write_text(re.findall(r"```xml\n(.*?)```", text, re.S)[0])
    toml = re.findall(r"```toml\n(.*?)```", text, re.S)[0].replace("HEAD", "127.0.0.1")
    (conf / "fairshare.toml").write_text(toml)
    nodes = "until [ $(fairshare nodes | grep -c running) = 2 ]; do sleep 0.2; done"
    typed = commands(text)
    at = next(place for place, line in enumerate(typed) if line.startswith("fairshare serve")) + 1
    script = "\n".join(["set -ex", f"python -c '{UP}'", *typed[:at], nodes, *typed[at:]])
    with tempfile.TemporaryDirectory(prefix="ray", ignore_cleanup_errors=True) as short:
        environment = {
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "HOME": str(tmp_path),
            "RAY_TMPDIR": short,
            "TMPDIR": short,
            "RAY_AUTH_MODE": "disabled",
            "RAY_USAGE_STATS_ENABLED": "0",
        }
        done = subprocess.run(
            [*SANDBOX, "bash", "-c", script],
            cwd=tmp_path,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=180,
        )
    assert done.returncode == 0, done.stdout[-4_000:]
    assert len(re.findall(r"FINISHED", done.stdout)) >= 2, done.stdout[-4_000:]
