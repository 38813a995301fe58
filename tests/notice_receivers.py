"""Receivers of notices for tests, on loopback: a mail server and a webhook, in threads."""

import http.server
import json
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class MailServer:
    """Takes mails; `refused` holds addresses that it does not know."""

    def __init__(self) -> None:
        self.mails: list[str] = []
        self.arrived = threading.Condition()
        self.refused: set[str] = set()
        self.port = 0

    def wait(self, count: int, timeout_s: float = 30.0) -> list[str]:
        """The mails, once there are so many."""
        with self.arrived:
            assert self.arrived.wait_for(lambda: len(self.mails) >= count, timeout_s)
            return list(self.mails)


@contextmanager
def mail_server() -> Iterator[MailServer]:
    """A mail server that speaks as much SMTP as a client needs."""
    found = MailServer()

    class Handler(socketserver.StreamRequestHandler):
        def say(self, text: str) -> None:
            self.wfile.write(f"{text}\r\n".encode())

        def handle(self) -> None:
            self.say("220 test")
            while line := self.rfile.readline().decode().strip():
                word = line[:4].upper()
                if word == "DATA":
                    self.say("354 go on")
                    lines = []
                    while (one := self.rfile.readline().decode().rstrip("\r\n")) != ".":
                        lines.append(one)
                    with found.arrived:
                        found.mails.append("\n".join(lines))
                        found.arrived.notify_all()
                    self.say("250 taken")
                elif word == "RCPT" and any(one in line for one in found.refused):
                    self.say("550 no such user")
                elif word == "QUIT":
                    self.say("221 bye")
                    return
                else:
                    self.say("250 ok")

    with _served(socketserver.ThreadingTCPServer, Handler) as found.port:
        yield found


class Webhook:
    """Takes JSON; `statuses` are the answers to come, then 200."""

    def __init__(self) -> None:
        self.bodies: list[dict[str, Any]] = []
        self.arrived = threading.Condition()
        self.statuses: list[int] = []
        self.url = ""

    def wait(self, count: int, timeout_s: float = 30.0) -> list[dict[str, Any]]:
        """The bodies, once there are so many."""
        with self.arrived:
            assert self.arrived.wait_for(lambda: len(self.bodies) >= count, timeout_s)
            return list(self.bodies)


@contextmanager
def webhook() -> Iterator[Webhook]:
    """A web server that collects what is posted."""
    found = Webhook()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            content = self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(found.statuses.pop(0) if found.statuses else 200)
            self.send_header("Content-Length", "0")
            self.end_headers()
            with found.arrived:
                found.bodies.append(json.loads(content))
                found.arrived.notify_all()

        def log_message(self, *words: object) -> None:
            pass

    with _served(http.server.ThreadingHTTPServer, Handler) as port:
        found.url = f"http://127.0.0.1:{port}/hook"
        yield found


@contextmanager
def _served(kind: type[socketserver.TCPServer], handler: type) -> Iterator[int]:
    with kind(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()
