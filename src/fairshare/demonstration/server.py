"""Owns the server of the demonstration, a process of its own, and the folder of its files.

Knows the options of `fairshare serve` and its address; asks it nothing about applications.

All processes of a demonstration have its folder in their command line or environment: the server,
the process that starts containers, the supervisors, the containers. They are found in Linux's
/proc, and killed at last.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from fairshare.client.client import Client
from fairshare.client.errors import Refused, ServerUnreachable
from fairshare.client.waiting import SERVICE_UNAVAILABLE
from fairshare.demonstration import machine
from fairshare.demonstration.errors import DemonstrationFailed
from fairshare.demonstration.invocation import EXAMPLES
from fairshare.demonstration.teams import SETTINGS
from fairshare.errors import FairshareError
from fairshare.wording import failed_call

_PACE_S = 0.05


def processes_of(folder: Path) -> list[int]:
    """The pids of this user's processes with the folder in them, without this process."""
    name = os.fsencode(folder)
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        # A process that has ended has no files; those of other users cannot be read.
        with contextlib.suppress(OSError):
            if name in (entry / "cmdline").read_bytes() or name in (entry / "environ").read_bytes():
                found.append(int(entry.name))
    return sorted(found)


def end_processes_of(folder: Path, patience_s: float) -> list[int]:
    """Kill these processes until none is left; returns those that live after `patience_s`.

    Only needed when the server could not end its containers, because it was killed itself.
    """
    deadline_s = time.monotonic() + patience_s
    while left := processes_of(folder):
        for number in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)
        if time.monotonic() >= deadline_s:
            break
        time.sleep(_PACE_S)
    return left


_START_S = 30.0
_STOP_S = 15.0
_END_S = 5.0
_KILL_S = 5.0
_LOG_BYTES = 2_000
_PR_SET_PDEATHSIG = 1

_END_WITH_PARENT = f"""\
import ctypes, os, sys
ctypes.CDLL(None).prctl({_PR_SET_PDEATHSIG}, {signal.SIGTERM:d}, 0, 0, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""
"""Executes the program in its arguments, which gets SIGTERM if the demonstration is killed."""


def configuration_directory(scheduler: str = "fair") -> Path:
    """The example that is demonstrated; raises DemonstrationFailed if it is missing."""
    directory = EXAMPLES / SETTINGS[scheduler].configuration
    if not (directory / "fairshare.toml").is_file():
        raise DemonstrationFailed(
            f"the demonstration's configuration {directory} is missing: install fairshare again"
        )
    return directory.resolve()


class Server:
    """`fairshare serve` on a free port of the loopback address, with its state in `folder`."""

    def __init__(self, folder: Path, configuration: Path, scheduler: str) -> None:
        self._folder = folder
        self._state = folder / "state"
        self._log = folder / "server.log"
        self._command = (
            *(sys.executable, "-I", "-S", "-c", _END_WITH_PARENT),
            *(sys.executable, "-P", "-m", "fairshare", "serve"),
            *("--conf", str(configuration), "--scheduler", scheduler),
            *("--state", str(self._state), "--port", "0", "--stop-containers"),
        )
        self._process: subprocess.Popen[bytes] | None = None
        self._client: Client | None = None

    def start(self) -> Client:
        """Start it and wait until it answers; raises DemonstrationFailed with its messages."""
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                # Ctrl-C is for us: we end the server in good order.
                start_new_session=True,
            )
        deadline_s = time.monotonic() + _START_S
        while time.monotonic() < deadline_s:
            if self._process.poll() is not None:
                raise DemonstrationFailed(
                    f"the server did not start (exit code {self._process.returncode}):\n"
                    + self.last_words()
                )
            with contextlib.suppress(OSError, ServerUnreachable):
                url = (self._state / "url").read_text().strip()
                self._client = Client(url)
                self._client.cluster()
                return self._client
            time.sleep(_PACE_S)
        raise DemonstrationFailed(
            f"the server did not answer within {_START_S:g} s:\n{self.last_words()}"
        )

    def crash(self) -> None:
        """Kill the server alone, as a failure would, and start another one on its directory.

        Raises DemonstrationFailed if that does not answer, or answers elsewhere.
        """
        assert self._process is not None
        client = self._client
        assert client is not None
        self._process.kill()
        self._process.wait()
        with confined(), self.start() as another:
            url = another.url
        self._client = client
        if url != client.url:
            raise DemonstrationFailed(f"a program has taken {client.url} in between: try again")

    def last_words(self) -> str:
        """The end of what the server has printed."""
        try:
            words = self._log.read_bytes()[-_LOG_BYTES:]
        except OSError:
            return ""
        return words.decode(errors="replace").strip()

    def ended_by_itself(self, error: FairshareError) -> bool:
        """Whether a call failed because the server ends without an order to."""
        away = isinstance(error, ServerUnreachable) or (
            isinstance(error, Refused) and error.status == SERVICE_UNAVAILABLE
        )
        if not away or self._client is None or self._process is None:
            return False
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_END_S)
        return self._process.poll() is not None

    def stop(self) -> None:
        """End the server and all its containers, in good order if that is possible.

        Raises DemonstrationFailed if a process of it cannot be ended.
        """
        if self._client is not None:
            with contextlib.suppress(FairshareError):
                self._client.shutdown(stop_containers=True)
            self._client.close()
        if self._process is not None:
            self._wait_or_signal(self._process, _STOP_S if self._client else 0.0)
        # A server that was killed leaves its containers behind; that is its purpose elsewhere.
        left = end_processes_of(self._folder, _KILL_S)
        if left:
            numbers = ", ".join(map(str, left))
            raise DemonstrationFailed(f"these processes cannot be ended: {numbers}")

    @staticmethod
    def _wait_or_signal(process: subprocess.Popen[bytes], patience_s: float) -> None:
        for number in (None, signal.SIGTERM, signal.SIGKILL):
            if number is not None:
                process.send_signal(number)
                patience_s = _STOP_S
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(patience_s)
                return

    def keep_record(self, directory: Path) -> None:
        """Copy what the ended server has recorded into a directory: its journal, and whose it is.
        Raises DemonstrationFailed."""
        try:
            directory.mkdir(parents=True, exist_ok=True)
            for path in (*self._state.glob("journal.sqlite3*"), self._state / "cluster.json"):
                shutil.copyfile(path, directory / path.name)
        except OSError as error:
            raise DemonstrationFailed(f"the record cannot be kept: {failed_call(error)}") from error


@contextlib.contextmanager
def confined() -> Iterator[None]:
    """Processes started in this block, and all that they start, use the demonstration's processors
    only."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, machine.processors())
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@contextlib.contextmanager
def temporary_folder() -> Iterator[Path]:
    """A new folder, which is removed at the end; raises DemonstrationFailed if that fails."""
    folder = Path(tempfile.mkdtemp(prefix="fairshare-demo-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if folder.exists():
            raise DemonstrationFailed(f"{folder} cannot be removed: delete it by hand")
