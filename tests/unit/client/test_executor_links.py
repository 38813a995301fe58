"""Workers that come for calls over a socket, run in threads of the test."""

import contextlib
import os
import socket
import stat
import tempfile
import threading
from concurrent.futures import Future
from pathlib import Path

import cloudpickle
import pytest

from fairshare.client.executor import links
from fairshare.client.executor.calls import Call
from fairshare.client.executor.links import Link, WorkerSocket
from fairshare.client.executor.remote import (
    NONCE_BYTES,
    PROGRAM,
    SERVED,
    UNREACHABLE,
    WORKER,
    frame,
    proof_of,
    value_or_error,
    worker_callable,
)

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


def greet(peer, door):
    """Be a worker of the executor at `door`."""
    peer.connect(door.path)
    peer.sendall(b"n" * NONCE_BYTES)
    with peer.makefile("rb", buffering=0) as file:
        nonces = b"n" * NONCE_BYTES + file.read(NONCE_BYTES)
        assert file.read(32) == proof_of(door.token, PROGRAM, nonces)
    hello = frame(b'{"application":"a","container":"c","index":0}')
    peer.sendall(proof_of(door.token, WORKER, nonces) + hello)


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
        greet(peer, door)
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
    "proof",
    [
        lambda token, nonces: proof_of(b"x" * 32, WORKER, nonces),
        lambda token, nonces: proof_of(token, PROGRAM, nonces),
        lambda token, nonces: token,
        lambda token, nonces: b"short",
        lambda token, nonces: proof_of(token, WORKER, nonces) + (1 << 40).to_bytes(8, "big"),
    ],
    ids=["another token", "the program's", "the token", "too little", "a frame too large"],
)
def test_a_connection_that_does_not_prove_to_know_the_token_is_closed(door, met, proof):
    with socket.socket(socket.AF_UNIX) as peer, peer.makefile("rb") as file:
        peer.settimeout(PATIENCE_S)
        peer.connect(door.path)
        peer.sendall(b"n" * NONCE_BYTES)
        nonces = b"n" * NONCE_BYTES + file.read(NONCE_BYTES)
        file.read(32)
        peer.sendall(proof(door.token, nonces))
        peer.shutdown(socket.SHUT_WR)
        assert file.read(1) == b""
    assert not met.done()


class Squatter:
    """Listens where an executor listened, and keeps what a worker sends."""

    def __init__(self, path, answers):
        self.received = b""
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen()
        self.thread = threading.Thread(target=self._serve, args=(answers,), daemon=True)
        self.thread.start()

    def _serve(self, answers):
        connection, _ = self._listener.accept()
        with connection:
            connection.settimeout(PATIENCE_S)
            for answer in answers:
                self.received += connection.recv(1000)
                with contextlib.suppress(OSError):
                    connection.sendall(answer)
            while piece := connection.recv(1000):
                self.received += piece

    def close(self):
        self._listener.close()
        self.thread.join(PATIENCE_S)


class Harm:
    """Unpickled, it makes a file."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


def test_a_worker_neither_sends_its_token_nor_unpickles_before_the_program_has_proved_itself(
    start, tmp_path
):
    """Even to a program of its own account."""
    path, harm = tmp_path / "socket", tmp_path / "harm"
    told = frame(cloudpickle.dumps(Harm(harm)))
    for answer in (told, b"n" * NONCE_BYTES + b"p" * 32 + told):
        squatter = Squatter(path, [answer])
        found = start(str(path), b"t" * 32).result(PATIENCE_S)
        squatter.close()
        path.unlink()
        assert found == (UNREACHABLE, f"what listens at {path} is not the executor's program")
        assert len(squatter.received) == NONCE_BYTES
        assert b"t" * 32 not in squatter.received
    assert not harm.exists()


def test_a_worker_sends_nothing_to_a_socket_of_another_account(start, tmp_path, monkeypatch):
    path = tmp_path / "socket"
    squatter = Squatter(path, [])
    own = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: own + 1)  # of the program
    found = start(str(path), b"t" * 32).result(PATIENCE_S)
    assert found == (UNREACHABLE, f"the directory of {path} is another account's")
    lstat = os.lstat
    other = os.stat_result((stat.S_IFDIR, 0, 0, 0, own + 1, 0, 0, 0, 0, 0))
    monkeypatch.setattr(
        os, "lstat", lambda at, **more: other if at == str(tmp_path) else lstat(at, **more)
    )
    found = start(str(path), b"t" * 32).result(PATIENCE_S)
    assert found == (UNREACHABLE, f"another account listens at {path}")
    squatter.close()
    assert squatter.received == b""


@pytest.fixture
def short():
    """A directory whose path leaves room for the name of a socket."""
    with tempfile.TemporaryDirectory(dir="/tmp") as made:
        yield Path(made)


def test_the_socket_is_where_no_other_account_can_make_one(monkeypatch, short):
    def made(**settings):
        for name in ("XDG_RUNTIME_DIR", "XDG_STATE_HOME"):
            monkeypatch.delenv(name, raising=False)
        for name, value in settings.items():
            monkeypatch.setenv(name, str(value))
        found = WorkerSocket(lambda link: None)
        mode = stat.S_IMODE(Path(found.path).parent.stat().st_mode)
        found.close()
        return Path(found.path).parents[1], found.is_shared, mode

    runtime, state = short / "r", short / "s"
    runtime.mkdir(mode=0o700)
    state.mkdir()
    given = {"XDG_RUNTIME_DIR": runtime, "XDG_STATE_HOME": state}
    assert made(**given) == (runtime, False, 0o700)
    runtime.chmod(0o777)  # anybody can make one there
    assert made(**given) == (state / "fairshare", False, 0o700)
    (state / "fairshare").rmdir()
    (state / "fairshare").touch()
    assert made(**given) == (Path(tempfile.gettempdir()), True, 0o711)
    monkeypatch.setattr(links, "MOST_PATH_BYTES", 20)
    assert made(**given) == (Path("/tmp"), True, 0o711)


def test_what_a_killed_program_left_is_removed_and_what_listens_is_not(monkeypatch, short):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(short))
    live = WorkerSocket(lambda link: None)
    left = short / "fairshare-workers-left" / "socket"
    left.parent.mkdir()
    with socket.socket(socket.AF_UNIX) as killed:
        killed.bind(str(left))
    WorkerSocket(lambda link: None).close()
    assert left.is_socket()  # it is new: it may be about to listen
    for path in (left, Path(live.path)):
        os.utime(path, (0, 0))
    WorkerSocket(lambda link: None).close()
    assert not left.parent.exists()
    assert Path(live.path).is_socket()
    live.close()


def test_a_worker_that_dies_is_noticed(door, met):
    with socket.socket(socket.AF_UNIX) as peer:
        greet(peer, door)
        link = met.result(PATIENCE_S)
    assert isinstance(link, Link)
    with pytest.raises((EOFError, OSError)):
        link.ask(call_of(abs, -1))


def test_a_long_directory_for_temporary_files_is_passed_over(monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", "/nowhere/" + "long" * 30)
    door = WorkerSocket(lambda link: None)
    try:
        assert len(door.path) <= links.MOST_PATH_BYTES
        assert Path(door.path).is_socket()
    finally:
        door.close()
    assert not Path(door.path).parent.exists()
