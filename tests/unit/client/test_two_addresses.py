"""Clients that know the addresses of two servers ask the one that leads."""

import contextlib
import http.server
import json
import threading

import pytest
from tests.hadoop.configuration import free_ports

from fairshare.client import Client
from fairshare.client.async_client import AsyncClient
from fairshare.client.errors import Refused, ServerUnreachable


class Server(http.server.ThreadingHTTPServer):
    """Answers as a standby, as a server that leads, or as one that is stopping."""

    def __init__(self, leads):
        self.leads, self.stops, self.asked = leads, False, 0
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.thread = threading.Thread(target=self.serve_forever, daemon=True)
        self.thread.start()

    def end(self):
        self.shutdown()
        self.server_close()
        self.thread.join()


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked += 1
        status, body = (200, {"applications": []}) if self.server.leads else (307, "standby")
        if self.server.stops:
            status, body = 503, {"code": "stopping", "message": "it is stopping"}
        body = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words):
        pass


@pytest.fixture
def servers():
    with contextlib.ExitStack() as opened:

        def start(leads):
            server = Server(leads)
            opened.callback(server.end)
            return server

        yield start


def test_a_standby_and_an_address_without_a_server_lead_to_the_other_one(servers, monkeypatch):
    standby, leading = servers(False), servers(True)
    absent = f"http://127.0.0.1:{free_ports(1)[0]}"
    for first in (standby.url, absent):
        monkeypatch.setenv("FAIRSHARE_URL", f"{first},{leading.url}")
        with Client() as client:
            assert not client.applications()
            assert client.url == leading.url
    assert leading.asked == 2
    leading.leads, standby.leads = False, True
    monkeypatch.setenv("FAIRSHARE_URL", f"{leading.url}, {standby.url}")
    with Client() as client:
        assert not client.applications()
        assert not client.applications()  # it stays with the one that leads
    assert leading.asked == 3


@pytest.mark.slow
@pytest.mark.anyio
async def test_an_asynchronous_client_does_so_too(servers):
    standby, leading = servers(False), servers(True)
    async with AsyncClient(f"{standby.url},{leading.url}") as client:
        assert not await client.applications()


@pytest.mark.slow
def test_a_call_waits_until_one_of_the_servers_leads(servers):
    one, two = servers(False), servers(False)
    threading.Timer(0.2, setattr, (two, "leads", True)).start()
    with Client(f"{one.url},{two.url}") as client:
        assert not client.applications()
        assert client.url == two.url
    assert one.asked <= 3


@pytest.mark.anyio
async def test_an_asynchronous_call_waits_so_too(servers):
    one, two = servers(False), servers(False)
    threading.Timer(0.2, setattr, (one, "leads", True)).start()
    async with AsyncClient(f"{one.url},{two.url}") as client:
        assert not await client.applications()


@pytest.mark.slow
def test_no_server_that_leads_is_an_error_at_last(servers, monkeypatch):
    monkeypatch.setattr("fairshare.client.connection.LEADER_S", 0.6)
    one, two = servers(False), servers(False)
    with Client(f"{one.url},{two.url}") as client:
        with pytest.raises(ServerUnreachable, match="is a standby, and none that is known leads"):
            client.applications()
        assert one.asked > 1
        assert two.asked > 1
        two.leads = True
        assert not client.applications()


def test_addresses_without_a_server_are_an_error_at_once():
    first, second = free_ports(2)
    with (
        Client(f"http://127.0.0.1:{first},http://127.0.0.1:{second}") as client,
        pytest.raises(ServerUnreachable, match="no server at"),
    ):
        client.applications()


@pytest.mark.slow
def test_a_server_that_is_stopping_leads_to_the_other_one(servers):
    stopping, leading = servers(True), servers(True)
    stopping.stops = True
    with Client(f"{stopping.url},{leading.url}") as client:
        assert not client.applications()
    assert (stopping.asked, leading.asked) == (1, 1)


def test_a_server_that_is_stopping_and_has_no_other_refuses(servers):
    stopping = servers(True)
    stopping.stops = True
    with Client(stopping.url) as client, pytest.raises(Refused, match="it is stopping"):
        client.applications()
    assert stopping.asked == 1


def test_a_wrong_address_among_several_is_named():
    with pytest.raises(ServerUnreachable, match="'host2:8088', which is not the address"):
        Client("http://host1:8088,host2:8088")
