"""The agent of a Ray node: an actor that runs containers with the local engine.

It is detached: it outlives the driver and the server, and keeps what it has to report until it is
acknowledged. Its containers outlive it; the next agent of the node takes them over. Imports Ray
only to ask whether its node is alive.

An agent is fenced when its raylet has ended or is stopped, when Ray says that the node is dead, or
when for `limit_s` neither a server has asked it for news nor Ray has confirmed that the node is
alive: then it may be cut off. The server gives a node up only later than that, so that nothing runs
twice at once.
"""

import asyncio
import contextlib
import logging
import math
import os
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from fairshare.core.model.events import ExitCode
from fairshare.core.model.inputs import ContainerExited, DrainNode, Input
from fairshare.core.model.resources import MEMORY, VCORES
from fairshare.documents.gpus import GPU
from fairshare.engines.local import processes
from fairshare.engines.local.engine import LocalEngine
from fairshare.engines.local.gpus.chosen import ChosenGpus, assigned_elsewhere
from fairshare.engines.local.gpus.found import find_gpus
from fairshare.engines.local.removal import remove_tree
from fairshare.engines.log_files import read_part
from fairshare.engines.protocol import ContainerFiles, LaunchOrder
from fairshare.errors import EngineError
from fairshare.ray import joined
from fairshare.ray.messages import AgentOptions, Report
from fairshare.ray.sessions import AgentSessions
from fairshare.this_machine import boot_id
from fairshare.wording import cause

STOPPED_S = 1.0
"""How long a raylet may be stopped (by a signal or a debugger)."""


class Fence:
    """Looked at by `reason` every fraction of a second, with the present instant in seconds."""

    def __init__(
        self, raylet: int, limit_s: float, parent: Callable[[], int], now_s: float
    ) -> None:
        self._raylet = raylet
        self._limit_s = limit_s
        self._parent = parent
        self._affirmed_s = now_s
        self._stopped_since_s: float | None = None
        self._dead = False

    def asked(self, now_s: float) -> None:
        """A server asked the agent for news."""
        self._affirmed_s = max(self._affirmed_s, now_s)

    def ray_says(self, alive: bool, asked_s: float) -> None:
        """Ray answered a question of `asked_s` about this node."""
        self._dead = self._dead or not alive
        if alive:
            self._affirmed_s = max(self._affirmed_s, asked_s)

    def should_ask_ray(self, now_s: float) -> bool:
        """Whether Ray is to be asked, since no server has asked for a while."""
        return now_s - self._affirmed_s > self._limit_s / 4

    def reason(self, now_s: float) -> str:
        """Why the containers must be stopped now; empty if they need not be."""
        if self._parent() != self._raylet:
            return "the raylet of its node has ended"
        if self._dead:
            return "Ray has given its node up"
        if not processes.is_stopped(self._raylet):
            self._stopped_since_s = None
        elif self._stopped_since_s is None:
            self._stopped_since_s = now_s
        elif now_s - self._stopped_since_s >= STOPPED_S:
            return "the raylet of its node is stopped"
        if now_s - self._affirmed_s > self._limit_s:
            return f"neither a server nor Ray was heard for {self._limit_s:g} s"
        return ""


PROTOCOL = 4
"""The version of the methods below; a driver replaces agents of another one."""

MOST_ENDS = 1_000
LOOK_S = 0.25
_LEVELS = 4  # of an agent's state: its directory, containers/APPLICATION/CONTAINER
EMPTY_S = 3.0
"""An order may be on its way when a machine is to leave."""
POLL_S = 10.0

_log = logging.getLogger("fairshare.ray")
_encode = msgspec.msgpack.encode
_Order = msgspec.msgpack.Decoder(LaunchOrder)


class NodeAgent:
    """The actor. Orders and reports are in MessagePack, so that Ray's own serialization of classes
    does not depend on where they were imported."""

    def __init__(self, options: bytes) -> None:
        self._options = chosen = msgspec.msgpack.decode(options, type=AgentOptions)
        if joined.leaving():
            raise EngineError("its machine leaves the cluster")
        joined.hold()
        as_users = chosen.grants.containers.run_as == "user"
        self._directory = _directory(chosen.cluster, chosen.node, passable=as_users)
        further = {
            name: amount
            for name, amount in chosen.resources.items()
            if name not in (MEMORY, VCORES, GPU)
        }
        self._engine = LocalEngine(
            self._directory,
            memory_mb=chosen.resources[MEMORY],
            vcores=chosen.resources[VCORES],
            resources=further,
            gpus=_own_gpus() if chosen.resources.get(GPU) else None,
            **chosen.grants.arguments(),
        )
        self._node = self._engine.nodes()[0].node
        self._sessions = AgentSessions(self._engine)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._news = asyncio.Event()
        self._leaving_said, self._empty_since_s = False, math.inf
        self._reports: deque[tuple[int, Report]] = deque()
        self._ends: deque[ContainerExited] = deque(maxlen=MOST_ENDS)
        self._sequence = 0
        self._lock = threading.Lock()
        self._engine.start(self._reported)
        self._wait_s = min(POLL_S, chosen.fence_s / 3)  # each call tells the fence of a server
        self._fence = Fence(os.getppid(), chosen.fence_s, os.getppid, time.monotonic())
        threading.Thread(target=self._watch, name="fence", daemon=True).start()
        threading.Thread(target=self._ask_ray, name="ask-ray", daemon=True).start()

    # -- what the driver calls --------------------------------------------------------------------

    async def hello(self) -> bytes:
        """(version, resources, attributes, running containers, ends, last report): what a driver
        has to know. All reports so far are in it, and need not be fetched.

        The last ends are in it, acknowledged ones too: a server that died may have received one
        without recording it.
        """
        self._loop = asyncio.get_running_loop()
        self._fence.asked(time.monotonic())
        self._leaving_said = False
        attributes = dict(self._engine.nodes()[0].attributes)
        running = tuple(sorted(self._engine.running()))
        with self._lock:
            ends, last = tuple(self._ends), self._sequence
        return _encode((PROTOCOL, self._options.resources, attributes, running, ends, last))

    async def launch(self, orders: list[tuple[bytes, bytes]]) -> None:
        """Start containers; each order comes with the content of its payload."""
        for order, call in orders:
            decoded = _Order.decode(order)
            if decoded.command.payload is not None and call:
                try:
                    await asyncio.to_thread(self._keep_call, decoded.command.payload.file, call)
                except OSError as error:
                    problem = f"the Python call cannot be kept on its node: {cause(error)}"
                    end = ContainerExited(decoded.container, ExitCode.ABORTED, problem)
                    self._reported(msgspec.structs.replace(end, node_failed=True))
                    continue
            named = {**decoded.environment, "FAIRSHARE_NODE": decoded.node}
            self._engine.launch(
                msgspec.structs.replace(decoded, node=self._node, environment=named)
            )

    async def stop(self, container: int) -> None:
        """End a container."""
        self._engine.stop(container)

    async def limit(self, container: int, time_limit_ms: int | None) -> None:
        """Change the time limit of a container."""
        self._engine.limit(container, time_limit_ms)

    async def poll(self, after: int) -> bytes:
        """The reports after one as (number, report), which acknowledges all up to it; waits a while
        for the first."""
        self._fence.asked(time.monotonic())
        with self._lock:
            while self._reports and self._reports[0][0] <= after:
                self._reports.popleft()
            self._news.clear()
            waiting = not self._reports
        if waiting:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._news.wait(), self._wait_s)
            self._fence.asked(time.monotonic())
        with self._lock:
            return _encode(tuple(self._reports))

    async def enlarge(self, further: dict[str, int]) -> None:
        """The driver holds further amounts of the node for this agent."""
        total = self._options.resources
        grown = {name: total.get(name, 0) + further.get(name, 0) for name in {**total, **further}}
        self._options = msgspec.structs.replace(self._options, resources=grown)

    async def read(
        self, application_name: str, container_name: str, file: str, offset: int, limit: int
    ) -> tuple[bytes, int]:
        """A part of a file of a container, and the file's size; 0 if it does not exist (yet)."""
        files = self._engine.files(application_name, container_name)
        return await asyncio.to_thread(_read, files, file, offset, limit)

    async def open_session(
        self, application_name: str, container_name: str, terminal: bool
    ) -> tuple[int, str, str]:
        """Connect with a container: see `AgentSessions`."""
        return await self._sessions.open((application_name, container_name), terminal=terminal)

    async def session_output(self, number: int) -> bytes | None:
        """The next output of a connection."""
        return await self._sessions.output(number)

    async def session_input(self, number: int, content: bytes) -> None:
        """Input for a connection."""
        await self._sessions.input(number, content)

    async def close_session(self, number: int) -> None:
        """End a connection."""
        self._sessions.close(number)

    async def prune(self, application_name: str) -> None:
        """Delete the files of a finished application."""
        await asyncio.to_thread(self._engine.prune, application_name)

    async def leave(self, stop_containers: bool) -> None:
        """Stop the engine. The containers go on for the next agent unless `stop_containers`."""
        await asyncio.to_thread(self._engine.close, stop_containers=stop_containers)

    # -- how --------------------------------------------------------------------------------------

    def _reported(self, report: Input) -> None:
        if not isinstance(report, Report):
            return
        with self._lock:
            self._sequence += 1
            self._reports.append((self._sequence, report))
            if isinstance(report, ContainerExited):
                self._ends.append(report)
        loop = self._loop
        if loop is not None:
            loop.call_soon_threadsafe(self._news.set)

    def _keep_call(self, name: str, content: bytes) -> None:
        """Write the payload of a Python call where the engine looks for it."""
        path = self._directory / name
        if path.exists() and path.stat().st_size == len(content):
            return
        path.parent.mkdir(mode=0o700, exist_ok=True)
        draft = path.with_name(f"{path.name}.new")
        draft.write_bytes(content)
        draft.replace(path)

    def _watch(self) -> None:
        while not (reason := self._fence.reason(time.monotonic()) or self._left()):
            time.sleep(LOOK_S)
        _log.error("the agent stops its containers: %s", reason)
        try:
            self._engine.close(stop_containers=True)
        finally:
            os._exit(1)

    def _left(self) -> str:
        """That this machine leaves its cluster, once nothing has run here for a while; until then
        the server has to drain it."""
        if not joined.leaving():
            self._leaving_said, self._empty_since_s = False, math.inf
            return ""
        if not self._leaving_said:
            self._leaving_said = True
            self._reported(DrainNode(""))
        now_s = time.monotonic()
        self._empty_since_s = now_s if self._engine.running() else min(self._empty_since_s, now_s)
        return "this machine leaves its cluster" * (now_s - self._empty_since_s > EMPTY_S)

    def _ask_ray(self) -> None:
        """Ask Ray whether the node is alive, when no server asks; the call may block for ever."""
        import ray

        while True:
            time.sleep(LOOK_S)
            now_s = time.monotonic()
            if not self._fence.should_ask_ray(now_s):
                continue
            nodes: list[dict[str, Any]] = ray.nodes()
            known = [one["Alive"] for one in nodes if one["NodeID"] == self._options.node]
            self._fence.ray_says(bool(known and known[0]), now_s)


def _own_gpus() -> ChosenGpus:
    """The GPUs that Ray has assigned to this actor, by the names that Ray has for them."""
    import ray

    names: list[str] = ray.get_runtime_context().get_accelerator_ids().get("GPU", [])
    return assigned_elsewhere(tuple(map(str, names)), find_gpus())


ROOTS_DIRECTORY = Path("/var/lib/fairshare-agents")


def _directory(cluster: str, node: str, *, passable: bool) -> Path:
    """The state directory of a node's agents, named by the start of the machine, which containers
    do not outlive. Others may pass through, not list it, if it is `passable`. Raises EngineError if
    another account could be meant by it.
    """
    base = _base(os.geteuid(), Path(tempfile.gettempdir()))
    try:
        base.mkdir(mode=0o700, exist_ok=True)
        found = base.lstat()
        if found.st_uid != os.geteuid() or found.st_mode & 0o066 or base.is_symlink():
            raise EngineError(
                f"{base} must be a directory of this user, and closed to others: remove it, or"
                " start Ray with another TMPDIR, which only this user can write"
            )
        base.chmod(0o711 if passable else 0o700)
    except OSError as error:
        raise EngineError(f"cannot use {base}: {cause(error)}") from error
    boot = boot_id()[:8]
    threading.Thread(target=_remove_earlier, args=(base, boot), daemon=True).start()
    return base / f"{boot}-{cluster}-{node[:16]}"


def _base(account: int, temporary: Path) -> Path:
    """Where an account's agents keep their state: in its own directory for temporary files, else
    root's where no other account can take the name first, and those of others in the common one."""
    found = temporary.stat()
    is_own = found.st_uid == account and not found.st_mode & 0o022
    return ROOTS_DIRECTORY if account == 0 and not is_own else temporary / f"fairshare-{account}"


def _remove_earlier(base: Path, boot: str) -> None:
    """Delete what agents left before the machine was started again."""
    try:
        for path in base.iterdir():
            if not path.name.startswith(f"{boot}-"):
                remove_tree(path, levels=_LEVELS)
    except OSError as error:
        _log.warning("what was left in %s cannot be deleted: %s", base, cause(error))


def _read(files: ContainerFiles, file: str, offset: int, limit: int) -> tuple[bytes, int]:
    path = {"stdout": files.stdout, "stderr": files.stderr, "result": files.result}[file]
    return read_part(path, offset, limit)
