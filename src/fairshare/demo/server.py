"""The server of the demonstration. All its processes (also supervisors and containers) have the
demonstration's folder in their command line or environment: so none is left at the end."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from fairshare.client.client import Client
from fairshare.client.errors import Refused, ServerUnreachable
from fairshare.client.waiting import SERVICE_UNAVAILABLE
from fairshare.errors import FairshareError

EXAMPLES = Path(__file__).with_name("examples")
"""A link to the folder of the same name in a checkout; a wheel has the files here."""

PROCESSORS = 2
"""The maximum number of processors that are used, so that the demonstration is the same everywhere
and leaves a large machine to its user."""

_START_S, _STOP_S, _END_S = 30.0, 15.0, 5.0
_PACE_S, _LOG_BYTES, _PR_SET_PDEATHSIG = 0.05, 2_000, 1

_CONFINED = f"""\
import ctypes, os, sys
ctypes.CDLL(None).prctl({_PR_SET_PDEATHSIG}, {signal.SIGTERM:d}, 0, 0, 0)
os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-{PROCESSORS}:])
os.execv(sys.argv[1], sys.argv[1:])
"""
"""Executes the program in its arguments on few processors; it gets SIGTERM if the demonstration is
killed."""


class DemonstrationFailed(FairshareError):
    """The demonstration has ended early; the message says why."""


class Server:
    """`fairshare serve` on a free port of the loopback address, with its state in `folder`."""

    def __init__(self, folder: Path, configuration: Path, scheduler: str) -> None:
        self._folder = folder
        self._state = folder / "state"
        self._log = folder / "server.log"
        self._command = (
            *(sys.executable, "-I", "-S", "-c", _CONFINED),
            *(sys.executable, "-P", "-m", "fairshare", "serve"),
            *("--conf", str(configuration), "--scheduler", scheduler),
            *("--state", str(self._state), "--port", "0", "--stop-containers"),
            "--trust-local-users",  # its work is harmless, and it ends after a minute
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
                start_new_session=True,  # Ctrl-C is for us: we end the server in good order
            )
        deadline_s = time.monotonic() + _START_S
        while time.monotonic() < deadline_s and self._process.poll() is None:
            with contextlib.suppress(OSError, ServerUnreachable):
                self._client = Client((self._state / "url").read_text().strip())
                self._client.cluster()
                return self._client
            time.sleep(_PACE_S)
        raise DemonstrationFailed(f"the server does not answer:\n{self._last_words()}")

    def crash(self) -> None:
        """Kill the server alone, as a failure would, and start another one on its directory."""
        client = self._client
        assert self._process is not None
        assert client is not None
        self._process.kill()
        self._process.wait()
        with self.start() as another:
            self._client = client
            if another.url != client.url:
                raise DemonstrationFailed(f"a program has taken {client.url} in between: try again")

    def failure(self, error: FairshareError) -> FairshareError:
        """What a failed call means: this error, or that the server has ended by itself."""
        stopping = isinstance(error, Refused) and error.status == SERVICE_UNAVAILABLE
        if self._process and (stopping or isinstance(error, ServerUnreachable)):
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_END_S)
                words = self._last_words()
                return DemonstrationFailed(f"the server has ended in the middle:\n{words}")
        return error

    def _last_words(self) -> str:
        """The end of what the server has printed."""
        return self._log.read_bytes()[-_LOG_BYTES:].decode(errors="replace").strip()

    def stop(self, keep: Path | None) -> None:
        """End the server and all its containers, in good order if that is possible; copy what it
        has recorded to the directory `keep`.

        Raises DemonstrationFailed if a process of it cannot be ended.
        """
        if self._client is not None:
            with contextlib.suppress(FairshareError):
                self._client.shutdown(stop_containers=True)
            self._client.close()
        if self._process is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_STOP_S if self._client else 0.0)
        # A server that was killed leaves its containers behind; that is its purpose elsewhere.
        deadline_s = time.monotonic() + _STOP_S
        while left := _processes_of(self._folder):
            if time.monotonic() >= deadline_s:
                numbers = ", ".join(map(str, left))
                raise DemonstrationFailed(f"these processes cannot be ended: {numbers}")
            for number in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(number, signal.SIGKILL)
            time.sleep(_PACE_S)
        if self._process is not None:
            self._process.wait()
        if keep is not None:
            keep.mkdir(parents=True, exist_ok=True)
            for path in (*self._state.glob("journal.sqlite3*"), self._state / "cluster.json"):
                shutil.copyfile(path, keep / path.name)


def _processes_of(folder: Path) -> list[int]:
    """This user's processes with the folder in them, without this process."""
    name, processes = os.fsencode(folder), []
    for entry in Path("/proc").glob("[0-9]*"):
        # A process that has ended has no files; those of other users cannot be read.
        with contextlib.suppress(OSError):
            words = (entry / "cmdline").read_bytes() + (entry / "environ").read_bytes()
            if name in words and int(entry.name) != os.getpid():
                processes.append(int(entry.name))
    return processes
