"""One server with narrow limits, and the raw sockets with which it is attacked."""

import contextlib
import json
import socket
import time
from importlib.util import find_spec
from pathlib import Path

import httpx
import pytest
from tests.e2e.test_server import ALLOCATIONS, YARN_SITE, Server
from tests.forked import fairshare

PROXY = "127.0.0.2"
"""Named below [authentication]; the whole of 127.0.0.0/8 leads here."""

HADOOP = ("--hadoop",) if find_spec("google") and find_spec("google.protobuf") else ()
"""With protobuf the server has Hadoop's ports, too."""

NARROW = f"""
[authentication]
tokens = true
proxies = ["{PROXY}"]
[limits]
connections = 60
connections_per_address = 40
header_s = 2
body_s = 1
send_s = 1
answers_mb = 1
bodies_mb = 1
result_mb = 1
user_mb = 16
requests_per_second = 0
"""


class Attacked:
    """A server, tokens for it, and sockets to it."""

    def __init__(self, server):
        self.server = server
        self.state = server.state
        self.host, port = server.url.removeprefix("http://").split(":")
        self.port = int(port)
        self._tokens = {}

    def token(self, user, *more):
        """A token of a user; it is made once."""
        if user not in self._tokens:
            made = fairshare("admin", "token", "create", user, *more, "--state", self.state)
            made.check_returncode()
            self._tokens[user] = made.stdout.strip()
        return self._tokens[user]

    def client(self, user=None, address="127.0.0.1", *more, **headers):
        """A client of its own connections; its requests come from `address`."""
        if user is not None:
            headers["Authorization"] = f"Bearer {self.token(user, *more)}"
        return httpx.Client(
            base_url=self.server.url,
            transport=httpx.HTTPTransport(local_address=address),
            headers=headers,
            timeout=30,
        )

    @contextlib.contextmanager
    def sockets(self, number=1, address="127.0.0.1", receive_bytes=None):
        """Connections that say nothing yet."""
        with contextlib.ExitStack() as stack:
            found = []
            for _ in range(number):
                one = stack.enter_context(socket.socket())
                if receive_bytes is not None:
                    one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
                one.settimeout(30)
                one.bind((address, 0))
                one.connect((self.host, self.port))
                found.append(one)
            yield found

    def audited(self, fits):
        """The first line of the audit log that fits: it is written when the answer was sent."""
        deadline_s = time.monotonic() + 30
        while time.monotonic() < deadline_s:
            lines = (self.state / "audit.log").read_text().splitlines(keepends=True)
            for line in map(json.loads, (one for one in lines if one.endswith("\n"))):
                if fits(line):
                    return line
            time.sleep(0.01)
        raise AssertionError("there is no such line")

    def head(self, path, user=None, method="GET", **headers):
        """The bytes of a request's head."""
        lines = [f"{method} {path} HTTP/1.1", f"Host: {self.host}:{self.port}"]
        if user is not None:
            lines.append(f"Authorization: Bearer {self.token(user)}")
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        return ("\r\n".join(lines) + "\r\n\r\n").encode()


def read_to_end(one):
    """All that comes until the other side closes; a reset ends it too."""
    found = b""
    with contextlib.suppress(ConnectionResetError):
        while part := one.recv(65536):
            found += part
    return found


def resident_kb(server: Server) -> int:
    """What a server has in memory."""
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0])


@pytest.fixture(scope="package")
def attacked(tmp_path_factory):
    conf = tmp_path_factory.mktemp("hostile") / "conf"
    conf.mkdir()
    (conf / "yarn-site.xml").write_text(YARN_SITE)
    (conf / "fair-scheduler.xml").write_text(ALLOCATIONS)
    (conf / "fairshare.toml").write_text(NARROW)
    server = Server(conf, conf.parent / "state", "--port", "0", *HADOOP)
    found = Attacked(server)
    found.token("ann")  # to make it takes longer than a silent connection lives
    yield found
    code, stderr = server.end()
    assert code == 0, stderr
