"""How the parts of a Ray program are warned before their container ends: by a file, and a worker by
Ray's own drain.
"""

import contextlib
import socket
import threading
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from subprocess import Popen
from typing import Any

VARIABLE = "FAIRSHARE_WARNING_FILE"
"""The environment variable of the file's name. The file appears with the warning, and holds the
instant of the end in seconds since 1970."""

NODEMANAGER_VARIABLE = "NM_HOST"
"""What NodeManagers set in each container; they have a grace time and a signal of their own."""

LONGEST_RESERVE_S = 2.0
ASK_S = 0.5
ANSWER_S = 1.0


def usable_s(grace_ms: int) -> float:
    """The part of a grace time that is for the program: the rest is for ending Ray's processes.

    >>> usable_s(10_000), usable_s(1_000)
    (8.0, 0.75)
    """
    grace_s = grace_ms / 1000
    return grace_s - min(LONGEST_RESERVE_S, grace_s / 4)


def write(file: Path, end_s: float) -> None:
    """Let the file appear as a whole; a folder that is gone needs no warning."""
    draft = file.with_name(f"{file.name}.new")
    with contextlib.suppress(OSError):
        draft.write_text(f"{end_s:.3f}\n")
        draft.replace(file)


class WorkerEnd:
    """Ends a worker, a `ray start --block`, when it is warned: Ray places nothing more there, what
    runs there goes on until it ends or the time is over."""

    def __init__(
        self,
        process: "Popen[bytes]",
        file: Path,
        usable_s: float,
        drain: Callable[[float], None],
        head_answers: Callable[[], bool],
    ) -> None:
        self._process = process
        self._file = file
        self._usable_s = usable_s
        self._drain = drain
        self._head_answers = head_answers
        self._begun = False

    def begin(self, *_: object) -> None:
        """As a handler of a signal: returns at once."""
        if not self._begun:
            self._begun = True
            timer = threading.Timer(self._usable_s, self._process.terminate)
            timer.daemon = True  # whatever happens to the drain
            timer.start()
            threading.Thread(target=self._run, name="drain", daemon=True).start()

    def _run(self) -> None:
        end_s = time.time() + self._usable_s
        if self._head_answers():
            try:  # before the file appears, so that what saves and ends does not begin again here
                self._drain(end_s)
            except Exception as error:
                print(f"Ray does not know that this worker ends: {error}", flush=True)
            write(self._file, end_s)
        while self._process.poll() is None:
            if not self._head_answers():  # the program is over, and Ray would wait for its head
                self._process.kill()
            time.sleep(ASK_S)


def listens(address: str) -> bool:
    """Whether something accepts connections at HOST:PORT."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), ANSWER_S).close()
    except OSError:
        return False
    return True


def drain(address: str, node_name: str, end_s: float) -> None:
    """Ask the head to drain a node until an instant, as `ray drain-node` does. Raises RuntimeError
    if it does not."""
    raylet: Any = import_module("ray._raylet")  # compiled; Ray's command line uses it so, too
    reasons: Any = import_module("ray.core.generated.autoscaler_pb2").DrainNodeReason
    client = raylet.GcsClient(address=address)
    nodes = client.get_all_node_info().values()
    identifiers = [one.node_id.hex() for one in nodes if one.node_name == node_name]
    if not identifiers:
        raise RuntimeError("it does not know it")
    accepted, why = client.drain_node(
        identifiers[0],
        reasons.DRAIN_NODE_REASON_PREEMPTION,
        "its container ends: it was preempted or killed",
        int(end_s * 1000),
    )
    if not accepted:
        raise RuntimeError(why)
