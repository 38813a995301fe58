"""A machine whose disk tenants fill with bytes or files: nothing is launched, and nothing ends."""

import contextlib
import math
import os
import signal
import subprocess
import time
from pathlib import Path

import httpx
import pytest
from tests.e2e.test_server import Server, conf, serve
from tests.forked import fairshare
from tests.served import until

__all__ = ["conf", "serve"]


@pytest.fixture
def small_disk(tmp_path):
    """Makes the state directory's disk a small one, which only root can."""
    state = tmp_path / "state"

    def mount(options: str) -> Path:
        state.mkdir(mode=0o700)
        command = ["mount", "-t", "tmpfs", "-o", f"{options},mode=700", "tmpfs", str(state)]
        if os.geteuid() != 0 or subprocess.run(command, capture_output=True).returncode != 0:
            pytest.skip("a small disk can only be made by root, where mounting is allowed")
        return state

    yield mount
    with contextlib.suppress(subprocess.CalledProcessError):
        subprocess.run(["umount", "--lazy", str(state)], check=True, capture_output=True)


def fill(path: Path) -> None:
    """Leave not a byte."""
    with path.open("ab", buffering=0) as file:
        for size in (65_536, 1):
            with contextlib.suppress(OSError):
                while file.write(bytes(size)):
                    pass


def use_up_inodes(folder: Path) -> None:
    folder.mkdir()
    with contextlib.suppress(OSError):
        for number in range(10_000):
            (folder / str(number)).touch()


def readiness(server: Server) -> dict[str, str]:
    url = server.url.removesuffix("/api/v1")
    found: dict[str, str] = httpx.get(f"{url}/readyz", timeout=30).json()["checks"]
    return found


def starts(server: Server) -> int:
    return (server.state / "server.log").read_text().count(" launched")


def test_a_disk_that_a_tenant_fills_beside_many_waiting_tasks_ends_nothing(small_disk, serve):
    state = small_disk("size=40m")
    server = serve()
    anns = server.run("sleep 0.05", count=2000)
    bobs = server.run("dd if=/dev/zero of=big bs=1M; exec sleep 1000")
    until(lambda: readiness(server)["disk"] == "nearly full")
    # What was running ends, which is recorded, and nothing follows it.
    until(lambda: all(one["state"] != "RUNNING" for one in server.containers(anns)))
    before = starts(server)
    reserve = (state / "journal.reserve").stat().st_size
    refused = server.post("/applications", json={"queue": "a", "tasks": [{"command": "true"}]})
    assert (refused.status_code, refused.json()["code"]) == (503, "disk-full")
    assert [one["cause"] for one in server.get(f"/applications/{anns}/reasons").json()["reasons"]]
    assert starts(server) == before
    assert (state / "journal.reserve").stat().st_size == reserve
    server.post(f"/applications/{bobs}/kill")
    until(lambda: all(one["state"] != "RUNNING" for one in server.containers(bobs)))
    subprocess.run(["find", str(state), "-name", "big", "-delete"], check=False)
    until(lambda: readiness(server)["disk"] == "ok")
    server.until(lambda: starts(server) > before)
    server.post(f"/applications/{anns}/kill")


def test_used_up_inodes_are_named_and_keep_containers_from_starting(small_disk, serve):
    state = small_disk("size=100m,nr_inodes=2000")
    server = serve()
    server.finished(server.run("true"))
    use_up_inodes(state / "tenants")
    until(lambda: readiness(server)["disk"] == "nearly out of inodes")
    refused = server.post("/applications", json={"queue": "a", "tasks": [{"command": "true"}]})
    assert refused.status_code == 503
    assert "nearly no inodes left" in refused.json()["message"]
    subprocess.run(["rm", "-r", str(state / "tenants")], check=True)
    until(lambda: readiness(server)["disk"] == "ok")
    assert server.finished(server.run("true"))["state"] == "FINISHED"


def test_an_array_with_more_containers_than_inodes_ends_and_leaves_room_for_others(
    small_disk, serve
):
    small_disk("size=100m,nr_inodes=2000")
    server = serve()
    array = server.run("echo $FAIRSHARE_TASK_INDEX", count=400)
    assert server.finished(array)["state"] == "FINISHED"
    assert readiness(server)["disk"] == "ok"
    assert server.finished(server.run("true"))["state"] == "FINISHED"
    ended = sorted(one["id"] for one in server.containers(array))
    assert server.log(ended[-1]) == "399\n"
    gone = server.get(f"/containers/{ended[0]}/logs/stdout")
    assert (gone.status_code, gone.json()["code"]) == (404, "log-gone")
    assert "application_kept_containers" in gone.json()["message"]


def test_a_task_that_fails_at_once_is_not_started_hundreds_of_times_a_second(serve):
    server = serve()
    begun_s = time.monotonic()
    name = server.run("exit 1", count=4, max_attempts=1000)
    server.until(lambda: len(server.containers(name)) >= 12)  # three starts of each: after 3 s
    count, elapsed_s = len(server.containers(name)), time.monotonic() - begun_s
    assert count <= 4 * (2 + math.log2(elapsed_s + 1))

    def causes() -> set[str]:
        found = server.get(f"/applications/{name}/reasons").json()["reasons"]
        return {one["cause"] for one in found}

    until(lambda: causes() == {"tasks-paused"})
    server.post(f"/applications/{name}/kill")


def test_a_server_starts_on_a_disk_without_a_byte_left_by_means_of_its_reserve(small_disk, serve):
    state = small_disk("size=40m")
    server = serve()
    name = server.run("sleep 1000")
    server.running(name)
    until(lambda: (state / "journal.reserve").exists())
    server.end(signal.SIGKILL)
    fill(state / "full")
    again = serve()
    assert readiness(again)["disk"] == "nearly full"
    assert again.running(name)
    again.post(f"/applications/{name}/kill")
    assert again.finished(name)["state"] == "KILLED"


def test_a_server_that_cannot_start_on_a_full_disk_says_so(small_disk, serve, conf):
    state = small_disk("size=40m,nr_inodes=2000")
    server = serve()
    name = server.run("true")
    server.finished(name)
    server.end(signal.SIGKILL)
    use_up_inodes(state / "full")
    done = fairshare("serve", "--conf", conf, "--state", state, "--port", "0")
    assert done.returncode == 1
    assert f"the disk of {state} is full, it has no inodes left: make room there" in done.stderr
    subprocess.run(["rm", "-r", str(state / "full")], check=True)
    assert serve().finished(name)["state"] == "FINISHED"
