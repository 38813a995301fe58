"""The Unix socket: the kernel says which account calls, and what the caller says does not count."""

import contextlib
import getpass
import json
import os
import pwd
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import httpx
import pytest
from tests.forked import fairshare

from fairshare.errors import FairshareError
from fairshare.server.web import unix_socket
from fairshare.server.web.unix_socket import bound

from .test_server import ALLOCATIONS, YARN_SITE, Server

OTHER = "daemon"
"""An account of every Linux machine that is not the server's."""


@pytest.fixture(scope="module")
def folder():
    """One that other accounts can pass through."""
    path = Path(tempfile.mkdtemp(prefix="fairshare-"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)


@pytest.fixture(scope="module")
def server(folder):
    conf = folder / "conf"
    conf.mkdir()
    (conf / "yarn-site.xml").write_text(YARN_SITE)
    (conf / "fair-scheduler.xml").write_text(ALLOCATIONS)
    settings = f'[server]\nsocket = "{folder}/run/socket"\n[authentication]\nsocket = true\n'
    (conf / "fairshare.toml").write_text(settings)
    server = Server(conf, folder / "state", "--port", "0")
    yield server
    server.end()
    assert not (folder / "run" / "socket").exists()


def as_account(folder, user, method, address, body="{}"):
    """The status and the answer of a call by an account."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            found = pwd.getpwnam(user)
            if found.pw_uid != os.getuid():
                os.setgroups([])
                os.setgid(found.pw_gid)
                os.setuid(found.pw_uid)
            transport = httpx.HTTPTransport(uds=str(folder / "run" / "socket"), verify=False)
            with httpx.Client(transport=transport, base_url="http://localhost/api/v1") as http:
                answer = http.request(method, address, content=body)
                found = json.dumps([answer.status_code, answer.json()])
        except BaseException as error:
            found = json.dumps([0, repr(error)])
        os.write(writing, found.encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    return json.loads(text)


def shell(*arguments, **variables):
    return fairshare(*arguments, env={**os.environ, **variables})


def test_local_clients_use_the_socket_and_loopback_is_closed(server, folder):
    state = {"FAIRSHARE_STATE": str(folder / "state"), "FAIRSHARE_URL": ""}
    done = shell("submit", "--queue", "a", "--memory", "64m", "--wait", "true", **state)
    assert done.returncode == 0, done.stderr
    me = pwd.getpwuid(os.geteuid()).pw_name
    named = {"FAIRSHARE_URL": f"unix:{folder}/run/socket"}
    application = json.loads(shell("status", done.stdout.strip(), "--json", **named).stdout)
    assert application["user"] == me
    assert server.get("/applications").status_code == 401
    lied = server.get("/applications", headers={"Host": "localhost", "X-Forwarded-User": me})
    assert lied.status_code == 401
    listed = shell("yarn", "application", "-list", "-appStates", "ALL", **named)
    assert application["id"] in listed.stdout


def test_the_socket_is_open_to_all_accounts_and_is_not_a_file(folder, server):
    found = (folder / "run" / "socket").stat()
    assert stat.S_ISSOCK(found.st_mode)
    assert stat.S_IMODE(found.st_mode) == 0o666


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to be another account")
def test_an_account_is_its_own_user_whatever_it_says(folder, server):
    task = {"name": "g", "count": 1, "arguments": ["true"]}
    work = {"queue": "a", "tasks": [task]}
    status, answer = as_account(folder, OTHER, "POST", "/applications", json.dumps(work))
    assert status == 201, answer
    _, shown = as_account(folder, OTHER, "GET", f"/applications/{answer['id']}")
    assert shown["user"] == OTHER
    lie = json.dumps({**work, "user": "root"})
    status, answer = as_account(folder, OTHER, "POST", "/applications", lie)
    assert (status, answer["code"]) == (403, "access-denied")
    _, of_root = as_account(folder, "root", "POST", "/applications", json.dumps(work))
    status, _ = as_account(folder, OTHER, "POST", f"/applications/{of_root['id']}/kill")
    assert status == 403
    status, _ = as_account(folder, OTHER, "POST", "/shutdown")
    assert status == 403


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to be another account")
def test_an_account_without_a_number_here_is_not_a_user(folder, server):
    """The kernel says `nobody` of accounts of other user namespaces."""
    overflow = pwd.getpwuid(int(Path("/proc/sys/kernel/overflowuid").read_text())).pw_name
    status, answer = as_account(folder, overflow, "GET", "/applications")
    assert (status, answer["code"]) == (401, "no-token")


def test_a_second_server_does_not_take_the_socket_away(folder, server, monkeypatch):
    monkeypatch.setattr(unix_socket, "PATIENCE_S", 0.2)
    path = folder / "run" / "socket"
    with pytest.raises(FairshareError, match="another server listens on"), bound(path, None):
        pass
    assert as_account(folder, getpass.getuser(), "GET", "/cluster")[0] in (200, 401)


def test_a_server_that_takes_over_waits_for_the_socket_of_the_one_before(tmp_path):
    path = tmp_path / "socket"
    before = contextlib.ExitStack()
    before.enter_context(bound(path, None))
    threading.Timer(0.3, before.close).start()
    with bound(path, None) as listener, socket.socket(socket.AF_UNIX) as client:
        client.connect(str(path))
        listener.setblocking(True)
        listener.accept()[0].close()
    assert not path.exists()


def test_what_a_dead_server_left_is_replaced_and_another_file_is_not(tmp_path):
    path = tmp_path / "run" / "socket"
    code = f"import socket; socket.socket(socket.AF_UNIX).bind({str(path)!r})"
    path.parent.mkdir()
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
    with bound(path, None) as listener:
        assert listener.getsockname() == str(path)
    path.write_text("precious")
    with pytest.raises(FairshareError, match="is not a socket"), bound(path, None):
        pass
    assert path.read_text() == "precious"
