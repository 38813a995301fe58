"""Programs of fairshare that start at once: processes of their own, forked from one that has
loaded what they need.

Starting an interpreter and loading a server takes most of the processor time that a server of a
test uses, and the suite starts many. `Forked` has what tests use of `subprocess.Popen`; the program
gets arguments, environment, directory and streams of its own, and ends as Python does. In /proc the
command line and environment are those of the process that forked. What Python reads at its start is
that process's, too: the seed of hashes, the encoding of the locale, the variables `PYTHON*`, of
which a program with others refuses to start. A test of these, of the start itself or of memory
starts an interpreter instead.

This file is also the program of the process that forks: it has no threads, and reports each start
and end through a pipe that comes with the request.
"""

import atexit
import contextlib
import gc
import importlib
import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import IO, Any

PATIENCE_S = 60.0

_NUMBER = struct.Struct("i")
_LARGEST_REQUEST = 1 << 17
_VERBS = (
    "admin apps attach cron exec hold init kill logs nodes queues run serve shell status submit"
    " wait why"
)
_LOADED = (
    *("asyncio", "click._textwrap", "concurrent.futures.thread", "encodings.idna", "httpx"),
    *("uvicorn.lifespan.off", "uvicorn.protocols.http.h11_impl"),
    *("fairshare.cli.wait", "fairshare.client", "fairshare.yarn.rpc.setup"),
    "fairshare.server.web.listener",
    *(
        f"fairshare.settings.{name}.{part}"
        for name in ("fair", "capacity")
        for part in ("reading", "stored")
    ),
    *(f"fairshare.yarn.views.{name}" for name in ("fair", "capacity")),
    *(f"fairshare.core.schedulers.{name}.scheduler" for name in ("fair", "capacity")),
)
"""What programs of tests use. Whatever else one needs, it loads itself."""


class ForkingEnded(RuntimeError):
    """The process that forks is gone, and with it the reports of what it has forked."""


class Forked:
    """A process of `python -m fairshare` with these arguments; compare `subprocess.Popen`.

    Outputs are pipes unless given: a file or a constant of `subprocess`. Without `stdin`, a file,
    there is nothing to read.
    """

    def __init__(
        self,
        *words: str,
        stdin: IO[Any] | int | None = None,
        stdout: int | IO[str] = subprocess.PIPE,
        stderr: int | IO[str] = subprocess.PIPE,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> None:
        self.args = words
        self.returncode: int | None = None
        request = {
            "words": words,
            "environment": dict(os.environ if env is None else env),
            "directory": str(cwd or Path.cwd()),
        }
        with contextlib.ExitStack() as handed_over:

            def pipe() -> tuple[int, int]:
                read, write = os.pipe()
                handed_over.callback(os.close, write)
                return read, write

            def output(wanted: int | IO[str]) -> tuple[int, IO[str] | None]:
                if not isinstance(wanted, int):
                    return wanted.fileno(), None
                assert wanted == subprocess.PIPE
                read, write = pipe()
                return write, os.fdopen(read, encoding="utf-8", errors="replace")

            source = None if stdin == subprocess.DEVNULL else stdin
            source = source or handed_over.enter_context(open(os.devnull))  # noqa: PTH123
            given = source if isinstance(source, int) else source.fileno()
            out, self.stdout = output(stdout)
            err, self.stderr = (out, None) if stderr == subprocess.STDOUT else output(stderr)
            self._reports, report = pipe()
            _forking().request(request, (given, out, err, report))
        pid = self._report()
        assert pid is not None
        self.pid = pid

    def _report(self) -> int | None:
        """The next number that was reported; None if the forking process is gone."""
        found = os.read(self._reports, _NUMBER.size)
        return _NUMBER.unpack(found)[0] if found else None

    def poll(self) -> int | None:
        """The exit code, if it has ended."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end; the exit code."""
        if self.returncode is None:
            waiting = select.poll()
            waiting.register(self._reports, select.POLLIN)
            if not waiting.poll(None if timeout is None else timeout * 1000):
                assert timeout is not None
                raise subprocess.TimeoutExpired(self.args, timeout)
            status = self._report()
            if status is None:
                raise ForkingEnded
            os.close(self._reports)
            self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode

    def communicate(self, timeout: float | None = None) -> tuple[str | None, str | None]:
        """Read all that is still to come, and wait for the end."""
        deadline_s = None if timeout is None else time.monotonic() + timeout
        read: dict[IO[str], str] = {}

        def drain(stream: IO[str]) -> None:
            with stream:
                read[stream] = stream.read()

        open_ones = [s for s in (self.stdout, self.stderr) if s is not None and not s.closed]
        threads = [threading.Thread(target=drain, args=(s,), daemon=True) for s in open_ones]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(None if deadline_s is None else max(0.0, deadline_s - time.monotonic()))
            if thread.is_alive():
                raise subprocess.TimeoutExpired(self.args, timeout or 0)
        self.wait(None if deadline_s is None else max(0.0, deadline_s - time.monotonic()))
        return tuple(s if s is None else read.get(s, "") for s in (self.stdout, self.stderr))

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended: that is known a moment after its number is free."""
        with contextlib.suppress(ForkingEnded):
            if self.poll() is not None:
                return
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Send SIGTERM."""
        self.send_signal(15)

    def kill(self) -> None:
        """Send SIGKILL."""
        self.send_signal(9)


def fairshare(
    *words: object,
    input: str = "",  # noqa: A002
    stdin: IO[Any] | int | None = None,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    timeout: float = PATIENCE_S,
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end; compare `subprocess.run`. It reads `input`, or else `stdin`."""
    texts = tuple(map(str, words))
    with contextlib.ExitStack() as stack:
        given, out, err = [stack.enter_context(tempfile.TemporaryFile("w+")) for _ in range(3)]
        if input:
            given.write(input)
            given.seek(0)
            stdin = given
        process = Forked(*texts, stdin=stdin, stdout=out, stderr=err, env=env, cwd=cwd)
        try:
            code = process.wait(timeout)
        except BaseException:
            process.kill()
            process.wait()
            raise
        for file in (out, err):
            file.seek(0)
        return subprocess.CompletedProcess(texts, code, out.read(), err.read())


class _Forking:
    """The process that forks, from the outside."""

    def __init__(self) -> None:
        self._requests, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._lock = threading.Lock()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, __file__, str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
            )
        atexit.register(self.end)

    def request(self, request: Mapping[str, object], descriptors: Sequence[int]) -> None:
        with self._lock:
            socket.send_fds(self._requests, [json.dumps(request).encode()], descriptors)

    def end(self) -> None:
        self._requests.close()
        self._process.wait()


@cache
def _forking() -> _Forking:
    """The process that forks for this one; it starts with the first request."""
    return _Forking()


def _load() -> None:
    gc.disable()
    from fairshare.cli.verbs import VERBS

    verbs = [VERBS[verb][0].partition(":")[0] for verb in _VERBS.split()]
    for name in (*verbs, *_LOADED):
        importlib.import_module(name)
    gc.collect()
    gc.freeze()  # so that a child's collections do not copy what it shares


def _fork_on_request(requests: socket.socket) -> Callable[[], None] | None:
    """Fork for each request, and report ends, until the other side is gone; then None. In the
    forked process: what prepares it for its program."""
    running: dict[int, tuple[int, int]] = {}
    waiting = select.poll()
    waiting.register(requests, select.POLLIN)
    while True:
        for descriptor, _ in waiting.poll():
            if descriptor in running:
                pid, report = running.pop(descriptor)
                waiting.unregister(descriptor)
                os.close(descriptor)
                _, status = os.waitpid(pid, 0)
                with contextlib.suppress(BrokenPipeError):
                    os.write(report, _NUMBER.pack(status))
                os.close(report)
                continue
            message, descriptors, _, _ = socket.recv_fds(requests, _LARGEST_REQUEST, 4)
            if not message:
                return None
            *streams, report = descriptors
            pid = os.fork()
            if pid == 0:
                for one in (requests.detach(), report, *running):
                    os.close(one)
                for _, other in running.values():
                    os.close(other)
                return lambda: _prepare(json.loads(message), streams)
            for one in streams:
                os.close(one)
            os.write(report, _NUMBER.pack(pid))
            pidfd = os.pidfd_open(pid)
            running[pidfd] = (pid, report)
            waiting.register(pidfd, select.POLLIN)


def _prepare(request: dict, streams: Sequence[int]) -> None:
    """Give this process what a started interpreter would have."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    ours = dict(os.environ)
    os.environ.clear()
    os.environ.update(request["environment"])
    time.tzset()
    os.chdir(request["directory"])
    sys.path[0] = request["directory"]
    for number, one in enumerate(streams):
        os.dup2(one, number)
    for one in streams:
        os.close(one)
    sys.argv[:] = ["fairshare", *request["words"]]
    sys.stdin = open(0, closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", 1, errors="backslashreplace", closefd=False)  # noqa: SIM115
    for name, value in request["environment"].items():
        if name.startswith("PYTHON") and value != ours.get(name, ""):
            raise SystemExit(f"a program with {name}={value} needs an interpreter of its own")


def main() -> None:
    """The program of the process that forks, and afterwards that of the forked ones."""
    # Ctrl-C ends the suite, whose fixtures then end what was forked, by means of this process.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    requests = socket.socket(fileno=int(sys.argv[1]))
    _load()
    prepare = _fork_on_request(requests)
    if prepare is not None:
        prepare()
        from fairshare.cli import main as program

        program()


if __name__ == "__main__":
    main()
