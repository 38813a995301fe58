"""Containers with a /tmp and a /dev/shm of their own."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from tests.forked import fairshare
from tests.served import until

from fairshare.engines.local import private_mounts
from fairshare.engines.local.state import release_scratch

from .test_accounts import Cluster, missing

POSSIBLE = not missing() and not private_mounts.problem(Path("/var/tmp/x"))
pytestmark = pytest.mark.skipif(
    not POSSIBLE, reason="only root can make mounts, and not everywhere"
)


@pytest.fixture(scope="module")
def cluster():
    folder = Path(tempfile.mkdtemp(prefix="fairshare-private-", dir="/var/tmp"))
    folder.chmod(0o711)
    made = Cluster(folder, engine="private_tmp = true\n")
    yield made
    made.server.end()
    shutil.rmtree(folder)


def name_of(place: str) -> Path:
    """A name that nothing else has, below a place of all accounts."""
    return Path(place, f"fairshare-test-{os.getpid()}")


def executed(cluster, container, *words, user="daemon"):
    environment = {"FAIRSHARE_URL": cluster.server.url, "FAIRSHARE_TOKEN": cluster.tokens[user]}
    return fairshare("exec", container, "--", *words, env={**os.environ, **environment})


def started(cluster, http, **task):
    name = cluster.submit(http, **task)

    def running():
        found = http.get(f"/applications/{name}/containers").json()["containers"]
        return [one["id"] for one in found if one["state"] == "RUNNING"]

    return name, until(running)[0]


@pytest.mark.parametrize("supervisor", ["compiled", "python"])
def test_what_a_container_leaves_in_tmp_and_shm_is_its_own_and_ends_with_it(cluster, supervisor):
    # A file for its input is nothing that the compiled supervisor knows.
    named = {"input": "/dev/null"} if supervisor == "python" else {}
    mine, shared = name_of("/tmp"), name_of("/dev/shm")
    line = (
        f"ls -A /tmp /dev/shm; mkdir {mine}; touch {mine}/x {shared}; stat -c %U:%a /tmp;"
        ' ls "$TMPDIR"; df --output=size -m /dev/shm | tail -1'
    )
    ended, printed = cluster.run("daemon", command=line, **named)
    assert ended["exit_code"] == 0, printed
    assert printed.split() == ["/dev/shm:", "/tmp:", "root:1777", mine.name, printed.split()[-1]]
    memory_mb = int(printed.split()[-1])
    assert memory_mb == 64
    assert not mine.exists()
    assert not shared.exists()
    until(lambda: not list((cluster.state / "scratch").iterdir()))


def test_what_is_released_belongs_to_the_account_and_odd_names_are_left_alone(tmp_path):
    scratch = tmp_path / "7"
    scratch.mkdir()
    for name in ("tmp-1-2", "tmp-x", "tmp-", "tmp-1-2-3", "other"):
        (scratch / name).mkdir()
    (scratch / "tmp-5-6").symlink_to(tmp_path)
    release_scratch(scratch)
    owners = {path.name: (path.lstat().st_uid, path.lstat().st_gid) for path in scratch.iterdir()}
    root = (0, 0)
    assert owners == {
        "tmp-1-2": (1, 2),
        "tmp-5-6": (5, 6),
        **dict.fromkeys(("tmp-x", "tmp-", "tmp-1-2-3", "other"), root),
    }
    assert (tmp_path.stat().st_uid, tmp_path.stat().st_gid) == root
    release_scratch(tmp_path / "gone")


def test_a_file_that_the_user_names_is_the_machines_and_others_are_not_seen(cluster):
    output, other = name_of("/tmp").with_suffix(".log"), name_of("/tmp").with_suffix(".other")
    other.touch()
    try:
        ended, _ = cluster.run("daemon", command=f"cat {other}; echo done", output=str(output))
        assert ended["exit_code"] == 0
        assert output.read_text() == "done\n"
        assert output.owner() == "daemon"
    finally:
        output.unlink(missing_ok=True)
        other.unlink()


def test_a_session_sees_what_its_container_sees(cluster):
    with cluster.client("daemon") as http:
        line = f"echo found > {name_of('/tmp')}; exec sleep 300"
        name, container = started(cluster, http, command=line)
        try:
            until(lambda: executed(cluster, container, "cat", str(name_of("/tmp"))).stdout)
            done = executed(cluster, container, "cat", str(name_of("/tmp")))
            assert done.stdout == "found\n", done.stderr
        finally:
            http.post(f"/applications/{name}/kill", json={})


def test_a_session_enters_no_mounts_that_a_tenant_has_made(cluster):
    trial = subprocess.run(
        ["runuser", "-u", "daemon", "--", "unshare", "-Urm", "true"], capture_output=True
    )
    if trial.returncode:
        pytest.skip("accounts cannot make namespaces here")
    with cluster.client("daemon") as http:
        inner = f"mount -t tmpfs trap /tmp && touch {name_of('/tmp')} && touch ready; sleep 300"
        line = f"exec unshare -Urm sh -c '{inner}'"
        name, container = started(cluster, http, command=line)
        try:
            files = cluster.files({"id": container})
            until(lambda: (files.work / "ready").exists())
            done = executed(cluster, container, "ls", "-A", "/tmp")
            assert (done.returncode, done.stdout) == (0, ""), done.stderr
        finally:
            http.post(f"/applications/{name}/kill", json={})


def test_an_engine_whose_files_would_be_hidden_says_so(monkeypatch):
    assert "/tmp/x is in /tmp, which it would hide" in private_mounts.problem(Path("/tmp/x"))
    assert "is in /dev/shm" in private_mounts.problem(Path("/dev/shm/state"))
    monkeypatch.setattr("sys.executable", "/tmp/venv/bin/python")
    assert "/tmp/venv/bin/python is in /tmp" in private_mounts.problem(Path("/var/lib/x"))
