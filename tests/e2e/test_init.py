"""`fairshare init` writes a configuration on which a server works at once."""

import json
import os
import pty
import pwd
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path

import pytest
from tests.forked import fairshare

from .test_server import PATIENCE_S, Server
from .test_unix_socket import as_account, shell

ROOT = os.geteuid() == 0


@pytest.fixture
def folder():
    """One that other accounts can pass through."""
    path = Path(tempfile.mkdtemp(prefix="fairshare-init-"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)


def test_a_server_of_ones_own_works_at_once(folder):
    conf, state = folder / "conf", folder / "state"
    done = shell("init", str(conf), "--run-as", "server", "--socket", "none", "--gpu", "none")
    assert done.returncode == 0, done.stderr
    assert f"fairshare serve --conf {conf}" in done.stdout
    assert "GPUs:              none are assigned\n" in done.stdout
    assert f"{conf}: a configuration for a server whose containers run under its own" in done.stdout
    assert "0 errors, 0 warnings, 0 traps" in shell("lint", str(conf)).stdout
    server = Server(conf, state, "--port", "0")
    named = {"FAIRSHARE_URL": server.url, "FAIRSHARE_USER": "ann.lee"}
    submitted = shell("submit", "--memory", "1g", "--wait", "--", "true", **named)
    assert submitted.returncode == 0, submitted.stderr
    found = server.application(submitted.stdout.strip())
    assert (found["user"], found["queue"]) == ("ann.lee", "root.ann_dot_lee")
    server.end()

    again = shell("init", str(conf), "--run-as", "server", "--socket", "none")
    assert (again.returncode, "nothing was written" in again.stderr) == (1, True)
    edited = (conf / "fair-scheduler.xml").read_text() + "<!-- mine -->"
    (conf / "fair-scheduler.xml").write_text(edited)
    options = ("--socket", "none", "--gpu", "none", "--force")
    forced = shell("init", str(conf), "--users", "ann,bob", "--run-as", "server", *options)
    assert forced.returncode == 0, forced.stderr
    assert f"the files before:  {conf}/fair-scheduler.xml~\n" in forced.stdout
    assert (conf / "fair-scheduler.xml~").read_text() == edited
    assert '<queue name="bob"/>' in (conf / "fair-scheduler.xml").read_text()
    assert sorted(path.name for path in conf.iterdir()) == [
        *("fair-scheduler.xml", "fair-scheduler.xml~", "fairshare.toml", "yarn-site.xml")
    ]


@pytest.mark.skipif(not ROOT, reason="needs root, to run containers under other accounts")
def test_a_server_of_root_serves_the_users_of_the_machine_without_tokens(folder):
    conf, state, socket = folder / "conf", folder / "state", folder / "run" / "socket"
    options = ("--users", "daemon,bin", "--gpu", "auto", "--socket", str(socket))
    done = shell("init", str(conf), *options, "--state", str(state))
    assert done.returncode == 0, done.stderr
    server = Server(conf, state, "--port", "0")
    line = "echo $(id -un) $FAIRSHARE_URL > out"
    task = {"name": "g", "count": 1, "command": line, "resources": {"memory-mb": 128}}
    status, made = as_account(
        folder, "daemon", "POST", "/applications", json.dumps({"tasks": [task]})
    )
    assert status == 201, made

    version, end_s = 0, time.monotonic() + PATIENCE_S
    while True:
        _, found = as_account(folder, "daemon", "GET", f"/applications/{made['id']}")
        if found["finished_ms"] is not None:
            break
        assert time.monotonic() < end_s
        address = f"/changes?since={version}&timeout=2"
        version = as_account(folder, "daemon", "GET", address)[1]["version"]
    assert (found["state"], found["queue"]) == ("FINISHED", "root.daemon")
    (written,) = state.glob("containers/**/out")
    assert written.read_text() == f"daemon unix:{socket}\n"
    assert written.stat().st_uid == pwd.getpwnam("daemon").pw_uid
    status, refused = as_account(
        folder, "games", "POST", "/applications", json.dumps({"tasks": [task]})
    )
    assert status == 409, refused
    assert server.get("/applications").status_code == 401

    # What is one user's stays that user's: queues, applications, and the machine.
    long = {"tasks": [{**task, "command": "sleep 1000"}]}
    _, made = as_account(folder, "daemon", "POST", "/applications", json.dumps(long))
    for user, path, body in (
        ("daemon", f"/applications/{made['id']}/move", {"queue": "root.bin"}),
        ("bin", f"/applications/{made['id']}/move", {"queue": "root.bin"}),
        ("bin", f"/applications/{made['id']}/kill", {}),
        ("daemon", "/admin/nodes/drain", {"nodes": ["local"]}),
    ):
        status, refused = as_account(folder, user, "POST", path, json.dumps(body))
        assert status == 403, (user, path, refused)
    _, found = as_account(folder, "daemon", "GET", f"/applications/{made['id']}")
    assert (found["state"], found["queue"]) == ("RUNNING", "root.daemon")
    status, _ = as_account(folder, "root", "POST", f"/applications/{made['id']}/kill", "{}")
    assert status == 200
    server.end()


def test_on_a_terminal_it_asks(tmp_path):
    ours, theirs = pty.openpty()
    os.write(ours, f"{tmp_path}/conf\n\nnone\n".encode())
    done = subprocess.run(
        [sys.executable, "-m", "fairshare", "init"],
        stdin=theirs,
        env={**os.environ, "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    os.close(ours)
    os.close(theirs)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Directory [")
    assert 'gpus = "none"' in (tmp_path / "conf" / "fairshare.toml").read_text()


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (("--users", "ann,,a b"), 2, "'a b' is not the name of a user"),
        (("--users", "ann,ann"), 2, "ann is named twice"),
        (("--gpu", "900"), 1, "this machine has"),
        (("--run-as", "user", "--socket", "none"), 2, "needs --socket"),
        (("--run-as", "server", "--cluster", "gpu1"), 2, "run under the users' accounts"),
        pytest.param(
            ("--cluster", "gpu1", "--memory", "2g"),
            2,
            "`fairshare node` says what each machine offers",
            marks=pytest.mark.skipif(not ROOT, reason="only root has accounts to run under"),
        ),
        (("--run-as", "server", "--socket", "/tmp/" + "x" * 200), 1, "at most 107 bytes"),
        pytest.param(
            ("--users", "who-is-this"),
            1,
            "there is no account 'who-is-this'",
            marks=pytest.mark.skipif(not ROOT, reason="only root's is checked"),
        ),
    ],
)
def test_what_cannot_be_is_said_and_nothing_is_written(tmp_path, options, code, words):
    done = fairshare("init", tmp_path / "conf", *options)
    assert done.returncode == code, done.stderr
    assert words in done.stderr
    assert not (tmp_path / "conf").exists() or not list((tmp_path / "conf").iterdir())


@pytest.mark.skipif(not ROOT, reason="only root has accounts to run under")
def test_a_server_of_several_machines_gets_the_address_and_the_token_of_their_cluster(tmp_path):
    done = fairshare("init", tmp_path / "conf", "--users", "daemon", "--cluster", "gpu1")
    assert done.returncode == 0, done.stderr
    written = tomllib.loads((tmp_path / "conf" / "fairshare.toml").read_text())
    assert written["engine"] == {"run_as": "user", "kind": "ray"}
    assert written["ray"] == {"address": "gpu1:900", "token_file": "/etc/fairshare/ray-token"}
    site = (tmp_path / "conf" / "yarn-site.xml").read_text()
    assert "yarn.io/gpu" in site
    assert "<value>16777216</value>" in site  # not this machine's: others may be larger
