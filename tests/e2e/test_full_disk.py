"""A server whose disk somebody fills: a small one in memory, which only root can make."""

import contextlib
import os
import subprocess
from pathlib import Path

import httpx
import pytest
from tests.e2e.test_faults import conf, serve
from tests.served import until

__all__ = ["conf", "serve"]  # fixtures

SIZE_MB = 24
JOB = {"queue": "work", "tasks": [{"command": "sleep 100", "resources": {"memory-mb": 256}}]}


@pytest.fixture
def disk(conf: Path):
    """A small disk where the server will keep its state."""
    path = conf.parent / "state"
    path.mkdir(mode=0o700)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={SIZE_MB}m,mode=700", "tmpfs", str(path)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("a small disk can only be made by root, where mounting is allowed")
    yield path
    with contextlib.suppress(subprocess.CalledProcessError):
        subprocess.run(["umount", "--lazy", str(path)], check=True)


def fill(path: Path) -> None:
    """Leave not a byte."""
    with path.open("ab", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(b"x" * 65_536)
    with path.open("ab", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(b"x")


def test_a_full_disk_stops_admission_and_not_what_runs_until_there_is_room(disk, serve):
    with httpx.Client(base_url=serve().url, timeout=30) as http:

        def ready() -> dict[str, str]:
            return http.get("/readyz").json()["checks"]

        accepted = http.post("/api/v1/applications", json=JOB)
        assert accepted.status_code == 201
        place = f"/api/v1/applications/{accepted.json()['id']}"
        until(lambda: http.get(place).json()["containers"])
        until((disk / "journal.reserve").exists)
        filler = disk / "filler"
        fill(filler)
        until(lambda: ready()["disk"] == "nearly full")
        refused = http.post("/api/v1/applications", json=JOB)
        assert (refused.status_code, refused.json()["code"]) == (503, "disk-full")
        assert "Make room there" in refused.json()["message"]
        assert "nearly full" in http.get("/api/v1/cluster").json()["disk_problem"]
        killed = http.post(f"{place}/kill")
        assert killed.status_code in (200, 202), killed.text
        until(lambda: http.get(place).json()["state"] == "KILLED")
        assert http.get("/healthz").status_code == 200
        assert (disk / "journal.reserve").stat().st_size < SIZE_MB * 1024**2 // 16
        filler.unlink()
        until(lambda: ready()["disk"] == "ok")
        assert http.post("/api/v1/applications", json=JOB).status_code == 201
        assert (disk / "journal.reserve").stat().st_size > 1024**2
