"""A server that can be reached from elsewhere lets nobody in who does not belong."""

import os
from pathlib import Path

import httpx
import pytest
from tests import forked

from .test_server import ALLOCATIONS, SMALL, YARN_SITE, Server


@pytest.fixture
def conf(tmp_path):
    folder = tmp_path / "conf"
    folder.mkdir()
    (folder / "yarn-site.xml").write_text(YARN_SITE)
    (folder / "fair-scheduler.xml").write_text(ALLOCATIONS)
    return folder


def fairshare(*arguments, **environment):
    return forked.fairshare(*arguments, env={**os.environ, **environment})


def test_without_authentication_a_server_refuses_to_listen_to_the_network(conf, tmp_path):
    done = fairshare(
        *("serve", "--conf", conf, "--state", tmp_path / "state", "--listen", "0.0.0.0:0")
    )
    assert done.returncode == 2
    assert "users need no proof of who they are" in done.stderr
    assert "fairshare admin token create USER" in done.stderr
    assert not (tmp_path / "state").exists()


def test_with_tokens_each_user_changes_only_their_own_applications(conf, tmp_path):
    (conf / "fairshare.toml").write_text("[authentication]\ntokens = true\n")
    state = tmp_path / "state"
    tokens = {
        user: fairshare("admin", "token", "create", user, "--state", state).stdout.strip()
        for user in ("ann", "bob")
    }
    server = Server(conf, state, "--port", "0")
    try:
        with httpx.Client(base_url=server.url + "/api/v1", trust_env=False) as http:
            assert http.get("/cluster").status_code == 401
            wrong = {"Authorization": f"Bearer {tokens['ann'][:-1]}!"}
            assert http.get("/cluster", headers=wrong).status_code == 401
            ann, bob = ({"Authorization": f"Bearer {tokens[user]}"} for user in ("ann", "bob"))
            task = {"command": "sleep 60", "resources": SMALL}
            body = {"queue": "a", "tasks": [task]}
            name = http.post("/applications", json=body, headers=ann).json()["id"]
            assert http.get(f"/applications/{name}", headers=bob).status_code == 403
            assert http.post(f"/applications/{name}/kill", json={}, headers=bob).status_code == 403
        done = fairshare("kill", name, FAIRSHARE_URL=server.url, FAIRSHARE_TOKEN=tokens["bob"])
        assert done.returncode == 1
        assert "you are bob, and this application is ann's" in done.stderr
        done = fairshare("kill", name, FAIRSHARE_URL=server.url, FAIRSHARE_TOKEN=tokens["ann"])
        assert done.returncode == 0, done.stderr
    finally:
        server.end()
    log = (state / "server.log").read_text()
    assert "401 GET /api/v1/cluster" in log
    assert "you are bob, and this application is ann's" in log
    assert not [user for user in tokens if tokens[user] in log]


def test_a_token_is_made_for_the_server_that_runs(conf, tmp_path):
    (conf / "fairshare.toml").write_text(f"[server]\nsocket = '{conf}/fs.sock'\n")
    server = Server(conf, tmp_path / "state", "--port", "0")
    try:
        home = {"HOME": str(tmp_path / "home"), "FAIRSHARE_URL": server.url}
        made = fairshare("admin", "token", "create", "ann", **home)
        assert (made.returncode, made.stdout[:4]) == (0, "fst_")
        assert made.stderr == f"kept in {server.state}/tokens.json\n"
        assert "ann" in fairshare("admin", "token", "list", **home).stdout
        unix = {**home, "FAIRSHARE_URL": f"unix:{conf / 'fs.sock'}"}
        refused = fairshare("apps", FAIRSHARE_TOKEN=made.stdout.strip(), **unix)
        assert "which this server does not take" in " ".join(refused.stderr.split())
    finally:
        server.end()
    assert not (tmp_path / "home").exists()


@pytest.mark.skipif(
    Path("/etc/fairshare").exists(),
    reason="a server of this machine has its files in /etc/fairshare",
)
def test_no_token_is_made_where_no_server_is_known(tmp_path):
    home = {"HOME": str(tmp_path / "home"), "FAIRSHARE_URL": "http://127.0.0.1:9"}
    lost = fairshare("admin", "token", "create", "ann", **home, FAIRSHARE_STATE="")
    assert lost.returncode == 1
    assert "--conf, or its state directory with --state" in " ".join(lost.stderr.split())
