from io import StringIO

import httpx
import pytest
from rich.console import Console

from fairshare.cli import top
from fairshare.client import Client, ServerUnreachable


@pytest.fixture
def client(cluster, monkeypatch):
    monkeypatch.setattr(top, "PACE_S", 0)
    monkeypatch.setenv("TERM", "xterm-256color")
    with Client("http://127.0.0.1:1", transport=httpx.MockTransport(cluster)) as client:
        yield client


@pytest.fixture
def terminal():
    return Console(force_terminal=True, width=100, height=30, file=StringIO())


def test_the_screen_is_drawn_again_at_every_change(client, terminal, cluster):
    cluster.answers["/changes"] = [{"version": 4}, {"version": 5}, KeyboardInterrupt()]
    with pytest.raises(KeyboardInterrupt):
        top.watch(client, terminal)
    polls = [given for _, path, given in cluster.calls if path == "/changes"]
    assert polls == [
        {"since": "0", "timeout": "0"},
        {"since": "4", "timeout": "2"},
        {"since": "5", "timeout": "2"},
    ]
    drawn = terminal.file.getvalue()
    assert drawn.count("12 containers") == 2
    assert drawn.startswith("\x1b[?1049h")  # the other screen, and back
    assert "\x1b[?1049l" in drawn


def test_the_screen_is_left_when_the_server_is_gone(client, terminal, cluster):
    cluster.answers["/changes"] = [{"version": 4}, httpx.ConnectError("refused")]
    with pytest.raises(ServerUnreachable):
        top.watch(client, terminal)
    assert "\x1b[?1049l" in terminal.file.getvalue()


def test_once_is_once(run, cluster):
    assert run("top", "--once").exit_code == 0
    assert "/changes" not in [path for _, path, _ in cluster.calls]
