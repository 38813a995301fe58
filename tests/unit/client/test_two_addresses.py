"""Clients that know the addresses of two servers ask the one that leads."""

import contextlib
import http.server
import json
import threading

import pytest
from tests.hadoop.configuration import free_ports

from fairshare.client import Client
from fairshare.client.async_client import AsyncClient
from fairshare.client.errors import ServerUnreachable


class Server(http.server.ThreadingHTTPServer):
    """Answers as a standby, or as a server that leads."""

    def __init__(self, leads):
        self.leads, self.asked = leads, 0
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
        body = json.dumps({"applications": []}).encode() if self.server.leads else b"standby"
        self.send_response(200 if self.server.leads else 307)
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


@pytest.mark.anyio
async def test_an_asynchronous_client_does_so_too(servers):
    standby, leading = servers(False), servers(True)
    async with AsyncClient(f"{standby.url},{leading.url}") as client:
        assert not await client.applications()


def test_no_server_that_leads_is_an_error_and_each_is_asked_once(servers):
    one, two = servers(False), servers(False)
    with Client(f"{one.url},{two.url}") as client:
        with pytest.raises(ServerUnreachable, match="is a standby, and none that is known leads"):
            client.applications()
        assert (one.asked, two.asked) == (1, 1)
        two.leads = True
        assert not client.applications()


def test_a_wrong_address_among_several_is_named():
    with pytest.raises(ServerUnreachable, match="'host2:8088', which is not the address"):
        Client("http://host1:8088,host2:8088")
