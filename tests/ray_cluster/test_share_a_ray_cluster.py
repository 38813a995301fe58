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
    outside = re.sub(r"```.*?```", "", text, flags=re.S)
    lines = re.findall(r"^    (\S.*)$", outside, re.M)
    return [line.replace("HEAD", "127.0.0.1") for line in lines if not line.startswith("pip ")]


pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("unshare") is None,
    reason="needs root, for a network of its own",
)


@pytest.fixture
def typed_in_a_sandbox(tmp_path):
    """Runs lines of a shell; what they print."""

    def run(*lines: str) -> str:
        script = "\n".join(["set -ex", f"python -c '{UP}'", *lines])
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
        return done.stdout

    return run


@pytest.fixture
def files(tmp_path):
    """The configuration and the program of the page."""
    text = PAGE.read_text()
    conf = tmp_path / "conf"
    conf.mkdir()
    allocations, site = re.findall(r"```xml\n(.*?)```", text, re.S)
    (conf / "fair-scheduler.xml").write_text(allocations)
    (conf / "yarn-site.xml").write_text(site)
    toml = re.findall(r"```toml\n(.*?)```", text, re.S)[0].replace("HEAD", "127.0.0.1")
    (conf / "fairshare.toml").write_text(toml)
    (tmp_path / "squares.py").write_text(re.findall(r"```python\n(.*?)```", text, re.S)[0])
    return tmp_path


def test_a_ray_cluster_is_shared_as_the_page_says(files, typed_in_a_sandbox):
    typed = commands(PAGE.read_text())
    at = next(place for place, line in enumerate(typed) if line.startswith("fairshare serve")) + 1
    nodes = "until [ $(fairshare nodes | grep -c running) = 2 ]; do sleep 0.2; done"
    printed = typed_in_a_sandbox(*typed[:at], nodes, *typed[at:])
    assert len(re.findall(r"FINISHED", printed)) >= 3, printed[-4_000:]


def test_a_ray_program_needs_no_ray_cluster_around_it(files, typed_in_a_sandbox):
    (files / "conf/fairshare.toml").write_text("[engine]\nmemory_mb = 4096\nvcores = 8\n")
    program = "--ray --count 1 --more 1 --memory 600m --directory . -- python squares.py"
    printed = typed_in_a_sandbox(
        "fairshare serve --conf conf --no-hadoop --background",
        f"fairshare submit --queue root.two --wait {program}",
        "fairshare logs $(fairshare apps --all --json | grep -o 'application_[0-9_]*' | head -1)",
        "fairshare shutdown --stop-containers",
    )
    assert "2470" in printed, printed[-4_000:]
