"""The keeper of Ray's processes on a machine of root's cluster, and what it starts: `fairshare node
... --foreground`.

It starts them again when they end: after the network was away for too long, Ray gives a node up,
and its raylet ends. They are root's, and no other account reaches them: everything is below a
directory that is closed, every port asks for the token, and the ports to which others send it are
below 1024 where Ray allows that, since only root can listen there while Ray does not.
"""

import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Mapping
from typing import Final

import msgspec

from fairshare.documents.sizes import MEBIBYTE
from fairshare.engines.local import processes
from fairshare.ray import joined
from fairshare.ray.messages import token_variables
from fairshare.ray.worker import RAY_START
from fairshare.settings.shell import ROOTS_RAY_PORT, Head

FIXED_PORTS: Final = {
    "node-manager-port": 901,
    "object-manager-port": 902,
    "dashboard-agent-grpc-port": 903,
    "dashboard-agent-listen-port": 904,
    "metrics-export-port": 905,
    "runtime-env-agent-port": 10_900,
}
"""Ray's ports by the options of `ray start`; it takes no smaller number for the last one."""
SCALER_PORT: Final = 906
WORKER_PORTS: Final = (10_901, 10_999)
OBJECTS_MB: Final = 512
"""Through Ray's store pass orders and Python calls alone; their results are files."""

END_S, LOOK_S = 30.0, 0.2
FIRST_PAUSE_S, LONGEST_PAUSE_S = 1.0, 30.0


class Offer(msgspec.Struct, frozen=True):
    """What a machine joins with. `head` is the address of the head; empty: it is this machine."""

    head: str
    address: str
    cpus: int
    memory_mb: int
    gpus: int | None = None
    resources: dict[str, int] = {}
    labels: dict[str, str] = {}

    @property
    def cluster(self) -> str:
        """The address of the cluster's head, also if it is this machine."""
        return self.head or Head(self.address, ROOTS_RAY_PORT).address

    def line(self) -> list[str]:
        """The command line of Ray."""
        sizes = ["--num-cpus", str(self.cpus), "--memory", str(self.memory_mb * MEBIBYTE)]
        if self.gpus is not None:
            sizes += ["--num-gpus", str(self.gpus)]
        if self.resources:
            sizes += ["--resources", json.dumps(self.resources)]
        if self.labels:
            sizes += ["--labels", ",".join(f"{key}={text}" for key, text in self.labels.items())]
        if self.head:
            role = ["--address", self.head]
        else:
            role = ["--head", "--port", str(ROOTS_RAY_PORT), "--include-dashboard=false"]
        fixed = [word for name, port in FIXED_PORTS.items() for word in (f"--{name}", str(port))]
        least, most = map(str, WORKER_PORTS)
        return [
            *RAY_START,
            *role,
            *("--node-ip-address", self.address, *fixed),
            *("--min-worker-port", least, "--max-worker-port", most),
            *("--temp-dir", str(joined.RAY), "--include-log-monitor=false"),
            *("--object-store-memory", str(OBJECTS_MB * MEBIBYTE)),
            *sizes,
            "--block",
        ]

    def words(self) -> list[str]:
        """The same as words of this verb."""
        words = ["join", self.head] if self.head else ["head"]
        words += ["--address", self.address, "--cpus", str(self.cpus)]
        words += ["--memory", f"{self.memory_mb}m"]
        if self.gpus is not None:
            words += ["--gpus", str(self.gpus)]
        for name, amount in self.resources.items():
            words += ["--resource", f"{name}={amount}"]
        for key, text in self.labels.items():
            words += ["--label", f"{key}={text}"]
        return words


class Record(msgspec.Struct):
    """What `node.json` says of the keeper: its process, and when that began."""

    pid: int
    start: int
    head: str


def ray_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment of Ray's processes. Workers are started when they are needed: an agent is
    the only one."""
    kept = {name: text for name, text in environment.items() if not name.startswith("RAY_AUTH_")}
    return {
        **kept,
        "RAY_USAGE_STATS_ENABLED": "0",
        "AUTOSCALER_METRIC_PORT": str(SCALER_PORT),
        "RAY_enable_worker_prestart": "0",
        "RAY_prestart_worker_first_driver": "0",
        "RAY_gcs_storage": "rocksdb",
        "RAY_gcs_storage_path": str(joined.STORAGE),
        **token_variables(str(joined.TOKEN_FILE)),
    }


def kept() -> Record | None:
    """The keeper of this machine, if it runs."""
    try:
        record = msgspec.json.decode(joined.RECORD.read_bytes(), type=Record)
    except (OSError, msgspec.DecodeError):
        return None
    return record if processes.start_time(record.pid) == record.start else None


class Keeper:
    """Keeps Ray's processes of this machine running until a signal ends it."""

    def __init__(self, offer: Offer) -> None:
        self._offer = offer
        self._ending = threading.Event()
        self._process: subprocess.Popen[bytes] | None = None
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._end)

    def run(self) -> int:
        """Until a signal ends it; the exit code."""
        os.umask(0o077)
        pid = os.getpid()
        start = processes.start_time(pid) or 0
        record = Record(pid, start, self._offer.cluster)
        draft = joined.RECORD.with_suffix(".new")
        draft.write_bytes(msgspec.json.encode(record))
        draft.replace(joined.RECORD)
        pause_s = FIRST_PAUSE_S
        while not self._ending.is_set():
            began_s = time.monotonic()
            self._process = subprocess.Popen(
                self._offer.line(),
                stdin=subprocess.DEVNULL,
                env=ray_variables(os.environ),
                start_new_session=True,
            )
            code = self._process.wait()
            if self._ending.is_set():
                break
            if time.monotonic() - began_s > LONGEST_PAUSE_S:
                pause_s = FIRST_PAUSE_S
            print(f"Ray ended with {code}; it starts again in {pause_s:g} s", flush=True)
            end_s = time.monotonic() + pause_s
            while not self._ending.is_set() and time.monotonic() < end_s:
                time.sleep(LOOK_S)
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)
        return 0

    def _end(self, *_: object) -> None:
        """In a handler of a signal: `wait` goes on afterwards."""
        self._ending.set()
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            signal.signal(signal.SIGALRM, self._kill)
            signal.alarm(int(END_S))

    def _kill(self, *_: object) -> None:
        if self._process is not None:
            processes.send([*processes.descendants(self._process.pid)], signal.SIGKILL)
