"""Another account listens at the port of a server that has just ended: clients give it nothing, and
the next server starts over its Unix socket and takes the port when it is free."""

import asyncio
import contextlib
import os
import pwd
import socket
import subprocess
import tempfile
import threading
import time
from contextlib import closing
from pathlib import Path

import httpx
import pytest
from tests.e2e.test_accounts import USERS, missing
from tests.forked import fairshare
from tests.hadoop.configuration import free_ports
from tests.served import FAIR_SITE, SMALL_MACHINE, Served

from fairshare.client import Client
from fairshare.client.async_client import AsyncClient
from fairshare.client.discovery import Server
from fairshare.client.errors import AnswerNotUnderstood, ServerUnreachable
from fairshare.client.exchange import Request
from fairshare.client.plain_http import LocalExchange
from fairshare.client.sessions import open_session
from fairshare.errors import FairshareError

from .test_executor_socket import system_python

pytestmark = pytest.mark.skipif(bool(missing()), reason=missing() or "all is there")

TOKEN = "fst_" + "a" * 30
SQUAT = r"""
import socket, sys
family = socket.AF_INET6 if ":" in sys.argv[2] else socket.AF_INET
listener = socket.create_server((sys.argv[2], int(sys.argv[1])), family=family)
print("listening", flush=True)
while True:
    connection, _ = listener.accept()
    received = connection.recv(10_000)
    if received:
        print(received, flush=True)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\n???")
    connection.close()
"""
SQUATTER = USERS[0]


class Squatter:
    """A program of another account at a port."""

    def __init__(self, port, address="127.0.0.1"):
        account = pwd.getpwnam(SQUATTER)
        self.process = subprocess.Popen(
            [system_python(), "-c", SQUAT, str(port), address],
            stdout=subprocess.PIPE,
            text=True,
            user=account.pw_uid,
            group=account.pw_gid,
            extra_groups=[],
            cwd="/",
        )
        assert self.process.stdout.readline() == "listening\n"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()

    def end(self):
        """End it; returns all that it has received."""
        self.process.kill()
        if not self.process.stdout.closed:
            self._received = self.process.communicate()[0]
        return self._received


@pytest.fixture
def port():
    (found,) = free_ports(1)
    return found


@pytest.fixture
def url(port):
    return f"http://127.0.0.1:{port}"


@pytest.fixture
def squatter(port):
    found = Squatter(port)
    yield found
    found.end()


def by_client(url):
    with Client(url, token=TOKEN) as client:
        client.applications()


def by_async_client(url):
    async def ask():
        async with AsyncClient(url, token=TOKEN) as client:
            await client.applications()

    asyncio.run(ask())


def by_session(url):
    open_session(Server(url, TOKEN), "container_1_0001_01_000002", "exec")


def by_result(url):
    """What comes would be unpickled."""
    with Client(url) as client:
        client.result("container_1_0001_01_000002")


def by_async_result(url):
    async def ask():
        async with AsyncClient(url) as client:
            await client.result("container_1_0001_01_000002")

    asyncio.run(ask())


@pytest.mark.parametrize(
    "ask", [by_client, by_async_client, by_session, by_result, by_async_result]
)
def test_a_client_sends_nothing_to_a_program_of_another_account(squatter, url, ask, monkeypatch):
    with pytest.raises(ServerUnreachable) as caught:
        ask(url)
    assert f"the account {SQUATTER} listens at {url}, so nothing was sent" in str(caught.value)
    monkeypatch.setenv("FAIRSHARE_SERVER_ACCOUNT", SQUATTER)  # the user says that it is the server
    with pytest.raises(FairshareError) as caught:
        ask(url)
    assert not isinstance(caught.value, ServerUnreachable)
    received = squatter.end()
    assert received.count("GET /api/v1") == 1


@pytest.mark.parametrize(
    "words", [("apps",), ("yarn", "application", "-list")], ids=["apps", "yarn"]
)
def test_a_verb_names_the_account_and_sends_no_token(squatter, url, words):
    environment = {**os.environ, "FAIRSHARE_URL": url, "FAIRSHARE_TOKEN": TOKEN}
    done = fairshare(*words, env=environment)
    assert done.returncode != 0
    assert f"the account {SQUATTER} listens at {url}" in done.stderr
    assert squatter.end() == ""


def test_any_address_of_this_machine_is_checked(port):
    """Also one that is not a loopback address."""
    with Squatter(port, "0.0.0.0") as squatter:
        for host in {"0.0.0.0", "127.0.0.2", *own_addresses()}:
            with pytest.raises(ServerUnreachable, match=f"the account {SQUATTER} listens at"):
                by_client(f"http://{host}:{port}")
        assert squatter.end() == ""


def test_localhost_is_the_address_where_the_server_listens(port, monkeypatch):
    """The server has 127.0.0.1, and another account takes ::1."""
    look = socket.getaddrinfo

    def both(name, *rest, **named):
        names = (b"::1", b"127.0.0.1") if name == b"localhost" else (name,)
        return [found for one in names for found in look(one, *rest, **named)]

    monkeypatch.setattr(socket, "getaddrinfo", both)
    try:
        squatter = Squatter(port, "::1")
    except AssertionError:
        pytest.skip("this machine has no ::1")
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"
    with squatter, socket.create_server(("127.0.0.1", port)) as server:

        def serve():
            connection, _ = server.accept()
            with connection:
                received.append(connection.recv(10_000))
                connection.sendall(answer)

        received = []
        thread = threading.Thread(target=serve)
        thread.start()
        with closing(LocalExchange(f"http://localhost:{port}", TOKEN)) as exchange:
            assert exchange.send(Request("GET", "/cluster")).content == b"hi"
        thread.join()
        assert TOKEN.encode() in received[0]
        assert squatter.end() == ""


def own_addresses():
    """The address from which this machine would call others, if it has one."""
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.1", 9))  # sends nothing
        return {probe.getsockname()[0]}
    return set()


def test_an_account_that_is_not_there_cannot_be_expected(squatter, url, monkeypatch):
    monkeypatch.setenv("FAIRSHARE_SERVER_ACCOUNT", "no-such-account")
    with pytest.raises(ServerUnreachable, match="there is no such account"):
        by_client(url)
    assert squatter.end() == ""


def test_the_owner_of_the_state_directory_is_expected(squatter, url, tmp_path, monkeypatch):
    monkeypatch.setenv("FAIRSHARE_STATE", str(tmp_path))
    (tmp_path / "url").write_text(url + "\n")
    os.chown(tmp_path / "url", pwd.getpwnam(SQUATTER).pw_uid, -1)
    with pytest.raises(AnswerNotUnderstood):
        by_client(url)
    assert TOKEN in squatter.end()


def test_a_server_with_a_socket_starts_although_its_port_is_taken(squatter, port, url):
    with tempfile.TemporaryDirectory(dir="/tmp") as made:
        path = Path(made, "socket")
        files = {
            "yarn-site.xml": FAIR_SITE,
            "fair-scheduler.xml": '<allocations><queue name="a"/></allocations>',
            "fairshare.toml": f'[server]\nsocket = "{path}"\n',
        }
        options = ("--port", str(port), *SMALL_MACHINE)
        server = Served(Path(made, "conf"), *options, files=files, state=Path(made, "state"))
        try:
            assert server.url == f"unix:{path}"
            with Client(server.url) as client:
                assert client.applications() == ()
            squatter.end()
            end = time.monotonic() + 60
            while True:
                try:
                    assert httpx.get(f"{url}/api/v1/cluster", trust_env=False).status_code == 200
                    break
                except httpx.ConnectError:
                    assert time.monotonic() < end
                    time.sleep(0.1)
        finally:
            code, said = server.end()
        assert code == 0
        assert f"port {port} of 127.0.0.1 is in use by a program of {SQUATTER}" in said
        assert "this server listens there now" in said


def test_a_server_without_a_socket_names_the_account_that_has_its_port(squatter, port, tmp_path):
    files = {"yarn-site.xml": FAIR_SITE, "fair-scheduler.xml": "<allocations/>"}
    with pytest.raises(AssertionError, match=f"in use by a program of {SQUATTER}"):
        Served(tmp_path / "conf", "--port", str(port), *SMALL_MACHINE, files=files)
