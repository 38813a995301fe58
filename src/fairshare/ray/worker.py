"""A worker of a Ray program's own cluster: `python -m fairshare.ray.worker ADDRESS CPUS MEMORY_MB
GPUS`, as a task of the program's application.

Joins the head, and stays until it is ended: then it warns what runs in it. Workers on one machine
start one after the other, since Ray's own start-up does not bear several at once.
"""

import contextlib
import fcntl
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

from fairshare.documents.sizes import MEBIBYTE
from fairshare.ray import warnings

OBJECTS_PART = 0.3
"""The part of a worker's memory that is for Ray's objects, as in Ray."""
LEAST_OBJECTS_MB = 80

GRACE_VARIABLE = "FAIRSHARE_WORKER_GRACE_MS"
"""How long a worker may take to end, in milliseconds; without it, it ends at once."""

STARTED = b"Ray runtime started"
START_S = 120.0

_RUN = 'python=$(command -v "$0" || echo python3); exec "$python" -m fairshare.ray.worker "$@"'


def worker_arguments(address: str, resources: Mapping[str, int]) -> tuple[str, ...]:
    """The command line of a worker of this size."""
    numbers = (resources["vcores"], resources["memory-mb"], resources.get("yarn.io/gpu", 0))
    return ("/bin/sh", "-c", _RUN, sys.executable, address, *map(str, numbers))


def head_command(port: int, folder: Path) -> list[str]:
    """The head of a program's own cluster: it schedules, and runs no tasks."""
    return [
        *RAY_START,
        *("--head", "--port", str(port), "--num-cpus", "0", "--temp-dir", str(folder)),
        *("--object-store-memory", str(LEAST_OBJECTS_MB * MEBIBYTE)),
        "--include-dashboard=false",
        "--block",
    ]


def ray_environment() -> dict[str, str]:
    """The variables of Ray's own processes: asked to end, they end at once, since it
    is here that a node is drained."""
    return {**os.environ, "RAY_GRACEFUL_SHUTDOWN_DRAIN_TIMEOUT_S": "0"}


def worker_command(address: str, cpus: int, memory_mb: int, gpus: int, name: str = "") -> list[str]:
    """A worker that offers what its container has. The name is how it is found in the cluster."""
    objects_mb = max(LEAST_OBJECTS_MB, int(memory_mb * OBJECTS_PART))
    return [
        *RAY_START,
        *("--address", address, "--num-cpus", str(cpus), "--num-gpus", str(gpus)),
        *("--memory", str(max(1, memory_mb - objects_mb) * MEBIBYTE)),
        *("--object-store-memory", str(objects_mb * MEBIBYTE)),
        *(("--node-name", name) if name else ()),
        "--block",
    ]


RAY_START = (sys.executable, "-P", "-m", "ray.scripts.scripts", "start", "--disable-usage-stats")


def free_port() -> int:
    """A port that is free now."""
    with socket.socket() as probe:
        probe.bind(("", 0))
        return int(probe.getsockname()[1])


def main(address: str, cpus: int, memory_mb: int, gpus: int) -> int:
    """Join, and stay; the exit code of Ray's own process."""
    name = f"{socket.gethostname()}-{os.getpid()}"
    with tempfile.TemporaryDirectory(prefix="warning-") as folder, _alone() as release:
        file = Path(folder, "warning")
        process = subprocess.Popen(
            worker_command(address, cpus, memory_mb, gpus, name),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=ray_environment() | {warnings.VARIABLE: str(file)},
        )
        end = warnings.WorkerEnd(
            process,
            file,
            warnings.usable_s(int(os.environ.get(GRACE_VARIABLE, "0"))),
            partial(warnings.drain, address, name),
            partial(warnings.listens, address),
        )
        signal.signal(signal.SIGTERM, end.begin)
        timer = threading.Timer(START_S, release)
        timer.daemon = True
        timer.start()
        assert process.stdout is not None
        for line in process.stdout:
            os.write(1, line)
            if STARTED in line:
                release()
        return process.wait()


@contextlib.contextmanager
def _alone() -> Iterator["_Release"]:
    """Hold a lock that all workers of this user on this machine take while they start."""
    name = Path(tempfile.gettempdir(), f"fairshare-ray-{os.geteuid()}.lock")
    descriptor = None
    with contextlib.suppress(OSError):
        descriptor = os.open(name, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        # Another account that has taken the name must not be waited for.
        if os.fstat(descriptor).st_uid == os.geteuid():
            fcntl.flock(descriptor, fcntl.LOCK_EX)
    release = _Release(descriptor)
    try:
        yield release
    finally:
        release()


class _Release:
    """Gives the lock back, once."""

    def __init__(self, descriptor: int | None) -> None:
        self._descriptor = descriptor
        self._lock = threading.Lock()

    def __call__(self) -> None:
        with self._lock:
            if self._descriptor is not None:
                os.close(self._descriptor)
                self._descriptor = None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], *map(int, sys.argv[2:5])))
