"""The engine of a Ray cluster: orders to its driver, and what comes back from it.

When the agent of a node answers (again), `returned` says with which inputs the state is made true,
and which containers are to be stopped. `waiting_room` says which containers that wait may make the
cluster grow. Both are pure.
"""

import asyncio
import contextlib
import itertools
import logging
import os
import socket
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from fairshare.core.model.applications import Application
from fairshare.core.model.events import ExitCode
from fairshare.core.model.identifiers import ContainerId, application_of, parse_container
from fairshare.core.model.inputs import (
    ContainerExited,
    DrainNode,
    Input,
    NodeJoined,
    NodeLost,
    NodeResized,
)
from fairshare.core.model.resources import VCORES, Resource, ResourceTypes
from fairshare.core.schedulers.protocol import State
from fairshare.core.schedulers.views import QueueView
from fairshare.engines.local.outcome import StartFailure
from fairshare.engines.local.preparation import with_variables
from fairshare.engines.protocol import HostEngine, LaunchOrder
from fairshare.errors import AccountsUnavailable, EngineError, InputError
from fairshare.ray.messages import (
    RAY_NODE,
    DriverOptions,
    FilePart,
    FromDriver,
    Grow,
    Launch,
    Leave,
    Limit,
    LiveNodes,
    NodeSilent,
    NodeUp,
    Prune,
    ReadFile,
    Reported,
    SessionBytes,
    SessionOpened,
    SessionTaken,
    Stop,
    ToDriver,
    Trouble,
    encoded,
    framed,
    read_body,
    token_variables,
)
from fairshare.ray.sessions import ServerSessions
from fairshare.runtime.orders import limits_in_force
from fairshare.runtime.recovery import MISSING, Findings, reconcile_node
from fairshare.this_machine import account_named
from fairshare.wording import cause

MOST_BUNDLES = 1_000
"""The most containers that are asked for at once."""


def waiting_room(
    queues: Iterable[QueueView],
    applications: Iterable[Application],
    types: ResourceTypes,
    present_vcores: int,
    most_vcores: int,
) -> dict[Resource, int]:
    """The containers that wait, by their size, as many as a cluster of `most_vcores` and the
    limits of their queues admit. A limit in percent counts as that part of `most_vcores`."""
    place = types.names.index(VCORES)
    views = {queue.name: queue for queue in queues}
    left = {
        queue.name: _limit(queue, place, most_vcores) - queue.used[place]
        for queue in views.values()
    }
    room, sizes, count = most_vcores - present_vcores, dict[Resource, int](), 0
    for application in applications:
        path, queue = [], application.queue  # the queue and those above it; none if it is gone
        while queue in views:
            path.append(queue)
            queue = views[queue].parent
        if application.over or not application.attempt.runnable or not path:
            continue
        for key in application.attempt.asks.wanting:
            ask = key.anywhere
            if ask is None or ask.count < 1:
                continue
            each = max(1, ask.resource[place])
            most = min(
                ask.count,
                MOST_BUNDLES - count,
                *(one // each for one in (room, *(left[name] for name in path))),
            )
            if most < 1:
                continue
            sizes[ask.resource] = sizes.get(ask.resource, 0) + most
            count, room = count + most, room - most * each
            for name in path:
                left[name] -= most * each
    return sizes


def _limit(queue: QueueView, place: int, most_vcores: int) -> int:
    if queue.capacity is not None:
        return int(most_vcores * queue.capacity.absolute_max_capacity / 100)
    return queue.max_share[place] if queue.max_share else most_vcores


def returned(
    state: State,
    node: NodeJoined,
    running: Iterable[ContainerId],
    ended: Iterable[ContainerExited],
) -> Findings:
    """Compare a node and its containers with what its agent says.

    A container that was granted there and launches later is kept; one that was launched and that
    the agent does not know has not started, and is aborted: its order was lost on the way.
    """
    known_node = state.nodes.get(node.node)
    inputs: list[Input] = []
    if known_node is None:
        inputs.append(node)
    elif state.offered(known_node) != node.total:
        inputs.append(NodeResized(node.node, node.total))
    reported: dict[ContainerId, ContainerExited | None] = dict.fromkeys(running)
    reported.update((one.container, one) for one in ended)
    findings = reconcile_node(state, node.node, reported, may_start=True)
    inputs += findings.inputs
    for container in known_node.containers if known_node is not None else ():
        if container in reported or container in state.running:
            continue
        if container in state.applications[application_of(container)].attempt.launched:
            inputs.append(ContainerExited(container, ExitCode.ABORTED, MISSING))
    return msgspec.structs.replace(findings, inputs=tuple(inputs))


FIRST_PAUSE_S, LONGEST_PAUSE_S = 1.0, 30.0
MARGIN_S = 5.0
"""How much later than its agent fences itself a node is given up."""
CLOSE_S = 20.0
GROWTH_S = 5.0
"""How often it is looked whether the cluster should grow."""
READ_S = 15.0
LONGEST_NAME = 40

_log = logging.getLogger("fairshare.ray")
_from_driver = msgspec.msgpack.Decoder(FromDriver)


class RayEngine(HostEngine):
    """Used in the event loop of the server; `close` in a thread. `connect` gives it the state
    before the server starts it. What a node lacks for a command it finds out when it starts it; how
    a container ended is not known before its node returns."""

    nodes_register = True

    def __init__(self, state_directory: Path, options: DriverOptions) -> None:
        self._directory = state_directory
        self._options = options
        self._lost_after_s = options.fence_s + MARGIN_S
        self._loop: asyncio.AbstractEventLoop
        self._report: Callable[[Input], None]
        self._state: Callable[[], State]
        self._set_silent: Callable[[str, bool], None]
        self._keeper: asyncio.Task[None] | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._process: asyncio.subprocess.Process | None = None
        self._up: dict[str, str] = {}  # the identifiers of the nodes whose agents answer, by name
        self._names: dict[str, str] = {}
        self._gone_since_s: dict[str, float] = {}
        self._heard_ms: dict[str, int] = {}
        self._numbers: dict[str, int] = {}  # of the accounts of users
        self._calls = itertools.count(1)
        self._parts: dict[int, asyncio.Future[FilePart]] = {}
        self._sessions = ServerSessions(self._send)
        self._trouble = "the Ray cluster is being reached"

    def connect(
        self,
        state: Callable[[], State],
        set_silent: Callable[[str, bool], None],
        now_ms: Callable[[], int],
        epoch_ms: int,
        queues: Callable[[], Iterable[QueueView]],
    ) -> None:
        """Give it the state and the queues, and a way to suspend nodes. `epoch_ms` names the
        agents: those of another state directory are left alone."""
        self._state, self._set_silent, self._now_ms = state, set_silent, now_ms
        self._queues = queues
        self._options = msgspec.structs.replace(self._options, cluster=str(epoch_ms))

    # -- the engine -------------------------------------------------------------------------------

    def start(self, report: Callable[[Input], None], **_: object) -> None:
        """Start the driver; agents of an earlier server are found by it."""
        self._loop = asyncio.get_running_loop()
        self._report = report
        self._keeper = self._loop.create_task(self._keep_driver(), name="ray-driver")

    def launch(self, order: LaunchOrder) -> None:
        """Hand an order to the node's agent."""
        if order.command.is_launch_context:
            self._fail(order, "launch contexts of YARN need NodeManagers: Ray nodes run commands")
            return
        node = self._up.get(order.node)
        if node is None:
            self._fail(order, f"the node {order.node} does not answer now")
            return
        try:
            order = with_variables(self._directory, order)
        except StartFailure as failure:
            self._fail(order, failure.diagnostics)
            return
        call = b""
        if order.command.payload is not None:
            try:
                call = (self._directory / order.command.payload.file).read_bytes()
            except OSError as error:
                self._fail(order, f"the Python call cannot be read: {cause(error)}")
                return
        as_users = self._options.grants.containers.run_as == "user"
        if as_users and order.user not in self._numbers:  # an earlier server took what it submitted
            try:
                self.account_problem(order.user)
            except AccountsUnavailable as error:
                self._fail(order, str(error))
                return
        numbered = msgspec.structs.replace(order, uid=self._numbers.get(order.user))
        self._send(Launch(node, numbered, call))

    def stop(self, container: ContainerId) -> None:
        """Have the node's agent end a container; a node that is away is asked when it returns."""
        for name, node in self._state().nodes.items():
            if container in node.containers or container in node.ending:
                if name in self._up:
                    self._send(Stop(self._up[name], container))
                return
        for identifier in self._up.values():  # of a container that the state does not know
            self._send(Stop(identifier, container))

    def limit(self, container: ContainerId, time_limit_ms: int | None) -> None:
        """Change a container's time limit; a node that is away is reminded when it returns."""
        for name, node in self._state().nodes.items():
            if container in node.containers and name in self._up:
                self._send(Limit(self._up[name], container, time_limit_ms))

    def signal(self, container: ContainerId, command: str) -> None:
        """Either way to end a container is `stop`."""
        if command == "OUTPUT_THREAD_DUMP":
            raise EngineError("containers of Ray nodes are not asked for their threads")
        self.stop(container)

    def running(self) -> frozenset[ContainerId]:
        """None are known before their nodes return."""
        return frozenset()

    def close(self, *, stop_containers: bool) -> None:
        """End the driver. Agents and containers go on, unless `stop_containers`."""
        closing = asyncio.run_coroutine_threadsafe(self._close(stop_containers), self._loop)
        closing.result(2 * CLOSE_S)

    # -- the host's part --------------------------------------------------------------------------

    def last_heartbeat_ms(self, node: str) -> int | None:
        """When a node was last heard of; None: not since the start."""
        return self._heard_ms.get(node)

    def account_problem(self, user: str) -> str:
        """Accounts are those of the nodes, which look for them when they start a container. They
        are to have the number that they have here, if they are here."""
        account = account_named(user)
        if account is not None:
            self._numbers[user] = account.pw_uid
            if account.pw_uid == 0:
                return f"{user!r} is root here, and nothing runs as root: submit under another name"
        return ""

    def trouble(self) -> str:
        """Why no container can be started; empty if they can."""
        return self._trouble

    def prune(self, application_name: str) -> None:
        """Delete the files of a finished application on all nodes."""
        self._loop.call_soon_threadsafe(self._send, Prune(application_name))

    async def read(
        self, node: str, names: tuple[str, str], file: str, offset: int, limit: int
    ) -> tuple[bytes, int]:
        """A part of a file of a container (application, container), and its size; raises
        EngineError if its node does not answer."""
        identifier = self._up.get(node)
        if identifier is None:
            raise EngineError(f"the node {node} does not answer now")
        call = next(self._calls)
        answer = self._parts[call] = self._loop.create_future()
        self._send(ReadFile(call, identifier, *names, file, offset, limit))
        try:
            part = await asyncio.wait_for(answer, READ_S)
        except TimeoutError:
            raise EngineError(f"the node {node} does not answer in time") from None
        finally:
            self._parts.pop(call, None)
        if part.error:
            raise EngineError(part.error)
        return part.content, part.size

    def open_command(
        self, application_name: str, container_name: str, ended: Callable[[], None]
    ) -> socket.socket:
        """A connection to a new process that runs a command in a container; raises InputError."""
        return self._session((application_name, container_name), ended, terminal=False)

    def open_terminal(self, application_name: str, container_name: str) -> socket.socket:
        """A connection to the terminal of a container; raises InputError."""
        return self._session((application_name, container_name), lambda: None, terminal=True)

    def _session(
        self, names: tuple[str, str], ended: Callable[[], None], *, terminal: bool
    ) -> socket.socket:
        async def opened() -> socket.socket:
            container = parse_container(names[1])
            for name, node in self._state().nodes.items():
                if container in node.containers and name in self._up:
                    return await self._sessions.open(
                        self._up[name], names, ended, terminal=terminal
                    )
            raise InputError("not-running", f"no node that answers now runs {names[1]}")

        return asyncio.run_coroutine_threadsafe(opened(), self._loop).result()

    # -- the driver -------------------------------------------------------------------------------

    async def _keep_driver(self) -> None:
        """Start the driver, and again after a pause when it ends."""
        pause_s = FIRST_PAUSE_S
        while True:
            began_s = self._loop.time()
            try:
                await self._run_driver()
            except OSError as error:
                self._trouble = f"the driver of Ray cannot be started: {cause(error)}"
                _log.warning("%s", self._trouble)
            if self._loop.time() - began_s > LONGEST_PAUSE_S:
                pause_s = FIRST_PAUSE_S
            if not self._trouble:
                self._trouble = "the driver of Ray ended, and is started again"
                _log.warning("%s", self._trouble)
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)

    async def _run_driver(self) -> None:
        ours, theirs = socket.socketpair()
        with (self._directory / "ray-driver.log").open("ab") as log, theirs:
            self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-P", "-m", "fairshare.ray.driver"),
                str(theirs.fileno()),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=(theirs.fileno(),),
                env={
                    **os.environ,
                    "RAY_USAGE_STATS_ENABLED": "0",
                    **token_variables(self._options.token_file),
                },
            )
        reader, self._writer = await asyncio.open_unix_connection(sock=ours)
        growing = self._loop.create_task(self._grow(), name="ray-growth")
        try:
            self._writer.write(framed(msgspec.msgpack.encode(self._options)))
            while (body := await read_body(reader)) is not None:
                self._take(_from_driver.decode(body))
        finally:
            growing.cancel()
            self._writer.close()
            self._writer = None
            for name in tuple(self._up):
                self._silence(name)
            self._gone_since_s.clear()
            self._sessions.lose()
            for part in self._parts.values():
                if not part.done():
                    part.set_result(FilePart(0, error="the driver of Ray ended"))
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()

    async def _grow(self) -> None:
        """While containers wait, ask for nodes; withdraw it when none does."""
        most = self._options.autoscale_vcores
        asked: dict[Resource, int] | None = None
        before: dict[Resource, int] = {}
        while most:
            await asyncio.sleep(GROWTH_S)
            state = self._state()
            place = state.types.names.index(VCORES)
            present = sum(node.total[place] for node in state.nodes.values())
            applications = state.applications.values()
            now = waiting_room(self._queues(), applications, state.types, present, most)
            # What waits for a moment only finds room by itself.
            lasting = {size: min(now[size], before[size]) for size in now if size in before}
            before = now
            if lasting != asked and (self._up or not lasting):
                asked = lasting
                names = state.types.names
                sizes = [(dict(zip(names, one, strict=True)), lasting[one]) for one in lasting]
                self._send(Grow(tuple(sizes)))

    def _send(self, message: ToDriver) -> None:
        if self._writer is not None:
            self._writer.write(encoded(message))

    def _take(self, message: FromDriver) -> None:
        match message:
            case Reported():
                name = self._names.get(message.node)
                if name is not None:
                    self._heard_ms[name] = self._now_ms()
                for report in message.reports:
                    if not isinstance(report, DrainNode):
                        self._report(report)
                    elif name is not None:
                        _log.info("node %s leaves the cluster", name)
                        self._report(DrainNode(name))
            case LiveNodes():
                self._count(frozenset(message.nodes))
            case NodeUp():
                self._node_up(message)
            case NodeSilent():
                name = self._names.get(message.node)
                if name is not None and name in self._up:
                    _log.warning("node %s does not answer: %s", name, message.reason)
                    self._silence(name)
                elif message.reason != self._trouble:
                    _log.warning("Ray node %s cannot be used: %s", message.node, message.reason)
            case SessionOpened() | SessionBytes() | SessionTaken():
                self._sessions.take(message)
            case FilePart():
                waiting = self._parts.get(message.call)
                if waiting is not None and not waiting.done():
                    waiting.set_result(message)
            case Trouble():
                if message.message and message.message != self._trouble:
                    _log.warning("%s", message.message)
                self._trouble = message.message

    # -- nodes ------------------------------------------------------------------------------------

    def _node_up(self, message: NodeUp) -> None:
        name = f"{message.host[:LONGEST_NAME]}-{message.node[:6]}"
        state = self._state()
        total = tuple(message.resources.get(one, 0) for one in state.types.names)
        self._names[message.node] = name
        self._up[name] = message.node
        self._gone_since_s.pop(name, None)
        self._heard_ms[name] = self._now_ms()
        joined = NodeJoined(name, total, attributes=message.attributes, host=message.host)
        findings = returned(state, joined, message.running, message.ended)
        for given in findings.inputs:
            self._report(given)
        for container in findings.stops:
            self._send(Stop(message.node, container))
        for order in limits_in_force(state):
            if order.container in message.running:
                self._send(Limit(message.node, order.container, order.time_limit_ms))
        self._set_silent(name, False)
        _log.info("node %s is there with %s", name, message.resources)

    def _silence(self, name: str) -> None:
        self._up.pop(name, None)
        self._set_silent(name, True)

    def _count(self, alive: frozenset[str]) -> None:
        """Give up the nodes that Ray has given up, after their agents must have fenced
        themselves."""
        now_s = self._loop.time()
        for name, node in tuple(self._state().nodes.items()):
            if node.attributes.get(RAY_NODE) in alive:
                self._gone_since_s.pop(name, None)
            elif now_s - self._gone_since_s.setdefault(name, now_s) >= self._lost_after_s:
                del self._gone_since_s[name]
                self._silence(name)
                _log.warning("node %s is lost: Ray has given it up", name)
                self._report(NodeLost(name, "LOST", "Ray has given the node up"))

    def _fail(self, order: LaunchOrder, problem: str) -> None:
        _log.warning("%s was not started: %s", order.container_name, problem)
        self._report(ContainerExited(order.container, ExitCode.ABORTED, problem))

    async def _close(self, stop_containers: bool) -> None:
        process = self._process
        if self._keeper is not None:
            if stop_containers and self._writer is not None and process is not None:
                self._send(Leave())
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(process.wait(), CLOSE_S)
            self._keeper.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._keeper
