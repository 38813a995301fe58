"""Workers that come for calls over a socket, run in threads of the test."""

import socket
import tempfile
import threading
from concurrent.futures import Future
from pathlib import Path

import cloudpickle
import pytest

from fairshare.client import executor_links
from fairshare.client.executor_calls import Call
from fairshare.client.executor_links import Link, WorkerSocket
from fairshare.client.remote_calls import value_or_error
from fairshare.client.remote_worker import SERVED, UNREACHABLE, frame, worker_callable

PATIENCE_S = 30


@pytest.fixture
def met():
    """The link to the next worker."""
    return Future()


@pytest.fixture
def door(met):
    served = threading.Event()

    def serve(link):
        met.set_result(link)
        served.wait(PATIENCE_S)  # its connection closes when this returns

    found = WorkerSocket(serve)
    yield found
    served.set()
    found.close()


@pytest.fixture
def start(monkeypatch):
    """Starts a worker; the future of what came of it."""
    monkeypatch.setenv("FAIRSHARE_APPLICATION_ID", "application_1_0001")
    monkeypatch.setenv("FAIRSHARE_CONTAINER_ID", "container_1_0001_01_000002")
    monkeypatch.setenv("FAIRSHARE_TASK_INDEX", "1")

    def start(path, token):
        ended = Future()
        run = cloudpickle.loads(cloudpickle.dumps(worker_callable(path, token)))
        threading.Thread(target=lambda: ended.set_result(run()), daemon=True).start()
        return ended

    return start


def call_of(function, *arguments):
    sent = cloudpickle.dumps(function), cloudpickle.dumps((arguments, {}))
    return Call("1", *sent, lambda call: None)


def test_a_worker_makes_calls_until_it_is_ended(door, met, start):
    ended = start(door.path, door.token)
    link = met.result(PATIENCE_S)
    worker = link.worker
    assert (worker.application, worker.index) == ("application_1_0001", 1)
    assert worker.container == "container_1_0001_01_000002"
    assert value_or_error(link.ask(call_of(pow, 2, 10))) == (1024, None)
    assert value_or_error(link.ask(call_of(pow, 2, 11))) == (2048, None)
    _, error = value_or_error(link.ask(call_of(divmod, 1, 0)))
    assert isinstance(error, ZeroDivisionError)
    assert value_or_error(link.ask(call_of(pow, 3, 2))) == (9, None)
    assert link.calls == 4
    link.end()
    assert ended.result(PATIENCE_S) == (SERVED, "")


def test_a_worker_ends_when_the_program_is_gone(door, met, start):
    ended = start(door.path, door.token)
    met.result(PATIENCE_S).close()
    assert ended.result(PATIENCE_S) == (SERVED, "")
    door.close()
    found = start(door.path, door.token).result(PATIENCE_S)
    assert found[0] == UNREACHABLE
    assert "No such file" in found[1]


def test_a_function_travels_once_to_calls_in_a_row(door, met):
    with socket.socket(socket.AF_UNIX) as peer, peer.makefile("rb") as file:
        peer.connect(door.path)
        peer.sendall(door.token + frame(b'{"application":"a","container":"c","index":0}'))
        link = met.result(PATIENCE_S)
        large = cloudpickle.dumps(bytes(100_000).upper)
        call = Call("1", large, b"arguments", lambda call: None)
        seen = []
        for _ in range(2):
            answer = Future()

            def ask(answer=answer):
                answer.set_result(link.ask(call))

            threading.Thread(target=ask, daemon=True).start()
            size = int.from_bytes(file.read(8), "big")
            file.read(size)
            seen.append(size)
            peer.sendall(frame(cloudpickle.dumps(("value", b"", "", 0.0))))
            answer.result(PATIENCE_S)
        assert seen[0] > 100_000
        assert seen[1] < 100


@pytest.mark.parametrize(
    "sent",
    [
        b"x" * 32 + frame(b'{"application":"a","container":"c","index":0}'),
        b"short",
        None,
    ],
    ids=["another token", "too little", "a frame too large"],
)
def test_a_connection_without_the_secret_is_closed(door, met, sent):
    with socket.socket(socket.AF_UNIX) as peer:
        peer.settimeout(PATIENCE_S)
        peer.connect(door.path)
        peer.sendall(door.token + (1 << 40).to_bytes(8, "big") if sent is None else sent)
        peer.shutdown(socket.SHUT_WR)
        assert peer.recv(1) == b""
    assert not met.done()


def test_a_worker_that_dies_is_noticed(door, met):
    with socket.socket(socket.AF_UNIX) as peer:
        peer.connect(door.path)
        peer.sendall(door.token + frame(b'{"application":"a","container":"c","index":0}'))
        link = met.result(PATIENCE_S)
    assert isinstance(link, Link)
    with pytest.raises((EOFError, OSError)):
        link.ask(call_of(abs, -1))


def test_a_long_directory_for_temporary_files_is_passed_over(monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", "/nowhere/" + "long" * 30)
    door = WorkerSocket(lambda link: None)
    try:
        assert len(door.path) <= executor_links.MOST_PATH_BYTES
        assert Path(door.path).is_socket()
    finally:
        door.close()
    assert not Path(door.path).parent.exists()
