"""Runs containers on NodeManagers: starts them by a call, lets heartbeats stop them and report.

What a node reports of its containers reaches the resource manager through the resource tracker.
This engine reports only what never came to run. `registered_nodes` keeps what it needs to know of
nodes.

What Python calls returned is fetched from their nodes as soon as a call has ended well. Nodes
delete it with the logs: those that aggregate logs do so when the application is over, so they learn
of its end only afterwards. What cannot be fetched stays on the node.
"""

import asyncio
import base64
import logging
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from fairshare.core.model.events import ContainerAllocated, ContainerCompleted, ExitCode
from fairshare.core.model.identifiers import ApplicationId, ContainerId, application_of, attempt_of
from fairshare.core.model.inputs import ContainerExited, Input
from fairshare.core.model.work import Command
from fairshare.core.record import Record
from fairshare.core.schedulers.protocol import State
from fairshare.engines.local.machine import raise_file_limit
from fairshare.engines.local.outcome import StartFailure
from fairshare.engines.local.preparation import with_variables
from fairshare.engines.protocol import HostEngine, LaunchOrder
from fairshare.errors import EngineError, InputError
from fairshare.runtime.observers import Observers
from fairshare.server.state_directory import fetched_result, results_of
from fairshare.server.web.remote_logs import log_client, log_url, read_remote_part
from fairshare.wording import cause
from fairshare.yarn.rpc.engine.call_program import RESULT
from fairshare.yarn.rpc.engine.launch import own_context, submitted_context, unsupported
from fairshare.yarn.rpc.keys import TokenSigner
from fairshare.yarn.rpc.records import container_id_message
from fairshare.yarn.rpc.registered_nodes import RegisteredNodes
from fairshare.yarn.rpc.wire import calls
from fairshare.yarn.rpc.wire.client import RemoteError, RpcClient, Unreachable
from fairshare.yarn.rpc.wire.descriptors import CONTAINER_MANAGEMENT
from fairshare.yarn.rpc.wire.messages import (
    ContainerLaunchContextProto,
    SignalContainerCommandProto,
    SignalContainerRequestProto,
    StartContainersRequestProto,
    StopContainersRequestProto,
)
from fairshare.yarn.rpc.wire.tokens import Token

_log = logging.getLogger("fairshare.yarn.rpc")

TRIES = 6
"""How often a node is called that does not answer: for about a minute in all."""

FIRST_PAUSE_S = 2.0
MOST_PAYLOAD_BYTES = 100 * 1024 * 1024
"""Hadoop's servers take calls of 128 MB (ipc.maximum.data.length)."""

CALL_TIMEOUT_S = 30.0
CLOSE_TIMEOUT_S = 10.0

INVALID_EXIT = -1000
"""Hadoop's exit code of a container that could not be started."""

_NOT_READY = "org.apache.hadoop.yarn.exceptions.NMNotYetReadyException"
_AGAIN = "Attempt to relaunch the same container"
"""What a node says that has carried out a call whose answer was lost."""


Place = tuple[tuple[str, str], str]
"""The names of a container's application and of itself, and the web address of its node."""


class Results:
    """The results of one state directory. `most_bytes`: larger ones are not fetched; `place_of` is
    the place of a container that runs a Python call, None if it runs something else."""

    def __init__(
        self,
        state_directory: Path,
        most_bytes: int,
        place_of: Callable[[ContainerId], Place | None],
    ) -> None:
        self.on_fetched: Callable[[ApplicationId], None] = lambda application: None
        self._directory = state_directory
        self._most_bytes = most_bytes
        self._place_of = place_of
        self._turn = asyncio.Semaphore(MOST_AT_ONCE)
        self._fetching: Counter[ApplicationId] = Counter()
        self._tasks: set[asyncio.Task[None]] = set()

    def waits(self, application: ApplicationId) -> bool:
        """Whether results of an application are being fetched; `on_fetched` follows."""
        return self._fetching[application] > 0

    def subscribe(self, observers: Observers) -> None:
        """Follow the records: a call has ended."""
        observers.events(self._completed, ContainerCompleted)

    def _completed(self, record: Record, event: ContainerCompleted) -> None:
        place = self._place_of(event.container) if event.exit_code == 0 else None
        if place is not None:
            application = application_of(event.container)
            self._fetching[application] += 1
            fetch = self._fetch(application, *place)
            task = asyncio.get_running_loop().create_task(fetch)
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def prune(self, application_name: str) -> None:
        """Delete the results of an application that is forgotten."""
        shutil.rmtree(results_of(self._directory, application_name), ignore_errors=True)

    async def close(self) -> None:
        """Fetch nothing more."""
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _fetch(
        self, application: ApplicationId, names: tuple[str, str], web_address: str
    ) -> None:
        try:
            async with self._turn, log_client() as client:
                most = (self._most_bytes + 2) // 3 * 4  # in base64
                url = log_url(web_address, names[1], RESULT)
                part = await read_remote_part(client, url, 0, most)
                if 0 < part.size <= most:
                    await asyncio.to_thread(self._keep, names, part.content)
        except (InputError, OSError, ValueError) as error:
            _log.warning("the result of %s stays on its node: %s", names[1], cause(error))
        finally:
            self._fetching[application] -= 1
            if not self._fetching[application]:
                del self._fetching[application]
                self.on_fetched(application)

    def _keep(self, names: tuple[str, str], content: bytes) -> None:
        value = base64.b64decode(content, validate=True)
        target = fetched_result(self._directory, *names)
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        draft = target.with_name(target.name + ".new")
        draft.write_bytes(value)
        draft.replace(target)


class NodeManagersEngine(HostEngine):
    """The engine of a cluster of NodeManagers.

    `connect` gives it what the protocols know before the server starts it. Used in the event loop
    of the server; `close` in a thread. Nodes check accounts when they start a container, and report
    their own health; how a container ended is not known before its node returns.
    """

    nodes_register = True

    def __init__(self, state_directory: Path, user: str = "yarn") -> None:
        self._directory = state_directory
        self._client = RpcClient(user)
        self._loop: asyncio.AbstractEventLoop
        self._report: Callable[[Input], None]
        self._nodes: RegisteredNodes
        self._signer: TokenSigner
        self._state: Callable[[], State]
        self._heard_ms: Callable[[str], int | None]
        self.results: Results | None = None
        self._starting: dict[ContainerId, asyncio.Task[None]] = {}
        self._first_pause_s = FIRST_PAUSE_S

    def connect(
        self,
        state: Callable[[], State],
        nodes: RegisteredNodes,
        signer: TokenSigner,
        heard_ms: Callable[[str], int | None] = lambda node: None,
        results: Results | None = None,
    ) -> None:
        """Connect the engine with the state, the registered nodes, and the keys. `heard_ms`: when a
        node was last heard of. `results` fetches those of Python calls."""
        self.results = results
        self._heard_ms = heard_ms
        self._state = state
        self._nodes = nodes
        self._signer = signer

    # -- the engine -------------------------------------------------------------------------------

    def start(self, report: Callable[[Input], None], **_: object) -> None:
        """Begin; nothing is adopted here, nodes report what they run when they return."""
        raise_file_limit()  # each node keeps a connection open
        self._loop = asyncio.get_running_loop()
        self._report = report

    def launch(self, order: LaunchOrder) -> None:
        """Start a container on its node, in the background."""
        if order.container in self._starting:
            return
        task = self._loop.create_task(self._launch(order))
        self._starting[order.container] = task
        task.add_done_callback(lambda _: self._starting.pop(order.container, None))

    def stop(self, container: ContainerId) -> None:
        """End a container, also one that its master has started."""
        starting = self._starting.get(container)
        if starting is not None:
            starting.cancel()
        self._nodes.clean_up(container)

    def signal(self, container: ContainerId, command: str) -> None:
        """Have its node send a container a signal with the next heartbeat."""
        message = container_id_message(self._state().epoch_ms, container)
        number = SignalContainerCommandProto.Value(command)
        request = SignalContainerRequestProto(container_id=message, command=number)
        if not self._nodes.signal(container, request):
            raise EngineError("no node has reported that it runs this container")

    def running(self) -> frozenset[ContainerId]:
        """None are known before their nodes return."""
        return frozenset()

    def close(self, *, stop_containers: bool) -> None:
        """Stop starting containers, and end those that run if so wanted."""
        closing = asyncio.run_coroutine_threadsafe(self._close(stop_containers), self._loop)
        closing.result(2 * CLOSE_TIMEOUT_S)

    # -- the host's part --------------------------------------------------------------------------

    def node_web_address(self, node: str) -> str:
        """`host:port` of a node's web server, which has the logs; empty: it is not registered."""
        known = self._nodes.get(node)
        return "" if known is None else known.web_address

    def last_heartbeat_ms(self, node: str) -> int | None:
        """When a node was last heard of; None: not since the start."""
        return self._heard_ms(node)

    def command_problem(self, user: str, command: Command) -> str:
        """What a NodeManager cannot do."""
        return unsupported(command)

    def prune(self, application_name: str) -> None:
        """Delete what was fetched of an application; nodes delete its files themselves."""
        if self.results is not None:
            self.results.prune(application_name)

    # -- starting ---------------------------------------------------------------------------------

    async def _launch(self, order: LaunchOrder) -> None:
        application = self._state().applications.get(application_of(order.container))
        granted = None if application is None else application.containers.get(order.container)
        if granted is None:
            return
        try:
            context = await self._context_of(order, granted)
            problem = await self._start_patiently(order, granted, context)
        except EngineError as error:
            self._fail(order, INVALID_EXIT, str(error))
        except Exception as error:
            _log.exception("%s could not be started because of a defect", order.container_name)
            self._fail(order, INVALID_EXIT, f"it could not be started: {cause(error)}")
        else:
            if problem:
                self._fail(order, ExitCode.ABORTED, problem)

    async def _context_of(
        self, order: LaunchOrder, granted: ContainerAllocated
    ) -> ContainerLaunchContextProto:
        try:
            order = await asyncio.to_thread(with_variables, self._directory, order)
        except StartFailure as failure:
            raise EngineError(failure.diagnostics) from failure
        payload = order.command.payload
        if payload is None:
            return own_context(order, order.command.callable)
        try:
            content = await asyncio.to_thread((self._directory / payload.file).read_bytes)
        except OSError as error:
            raise EngineError(
                f"what {order.container_name} runs cannot be read: {cause(error)}"
            ) from error
        if len(content) > MOST_PAYLOAD_BYTES:
            raise EngineError(
                f"a Python call of {len(content)} bytes; NodeManagers take at most"
                f" {MOST_PAYLOAD_BYTES}: put large values into files"
            )
        if not order.command.is_launch_context:
            return own_context(order, content)
        application = self._state().applications[granted.application]
        token = self._signer.master(granted.application, attempt_of(order.container))
        name, submitted_ms = order.application_name, application.submitted_ms
        return submitted_context(content, token, name, submitted_ms)

    async def _start_patiently(
        self, order: LaunchOrder, granted: ContainerAllocated, context: ContainerLaunchContextProto
    ) -> str:
        """Start a container; the problem if its node cannot be reached, empty if it runs.

        Raises EngineError if the node refuses it.
        """
        problem, pause_s = "", self._first_pause_s
        for attempt in range(TRIES):
            if attempt:
                await asyncio.sleep(pause_s)
                pause_s *= 2
            node = self._nodes.get(order.node)
            if node is None:
                problem = f"the node {order.node} is not registered"
                continue
            try:
                await self._start((node.host, node.port), order, granted, context)
            except Unreachable as error:
                problem = str(error)
                continue
            except RemoteError as error:
                if attempt and _AGAIN in error.message:
                    return ""
                if error.class_name not in (_NOT_READY, calls.RETRIABLE):
                    words = error.message.partition("\n")[0]  # without the stack trace of Java
                    raise EngineError(
                        f"the node {order.node} refuses the container: {words}"
                    ) from error
                problem = error.message
                continue
            return ""
        return problem

    async def _start(
        self,
        address: tuple[str, int],
        order: LaunchOrder,
        granted: ContainerAllocated,
        context: ContainerLaunchContextProto,
    ) -> None:
        request = StartContainersRequestProto()
        start = request.start_container_request.add()
        start.container_launch_context.CopyFrom(context)
        token = self._signer.container(granted, order.user)
        start.container_token.CopyFrom(token.message())
        login = self._login(granted.container, granted.node, order.user)
        answer = await self._client.call(
            address,
            CONTAINER_MANAGEMENT,
            "startContainers",
            request,
            token=login,
            timeout_s=CALL_TIMEOUT_S,
        )
        for failed in answer.failed_requests:
            raise RemoteError(failed.exception.class_name, failed.exception.message)

    def _login(self, container: ContainerId, node: str, user: str) -> Token:
        application, attempt = application_of(container), attempt_of(container)
        return self._signer.node(application, attempt, node, user)

    def _fail(self, order: LaunchOrder, exit_code: int, problem: str) -> None:
        _log.warning("%s was not started: %s", order.container_name, problem)
        # Hadoop's own masters are tried again as its ResourceManager does.
        of_node = exit_code == ExitCode.ABORTED and not order.command.is_launch_context
        self._report(ContainerExited(order.container, exit_code, problem, node_failed=of_node))

    # -- the end ----------------------------------------------------------------------------------

    async def _close(self, stop_containers: bool) -> None:
        for starting in tuple(self._starting.values()):
            starting.cancel()
        if stop_containers:
            # The state has ended them already: what runs is what nodes have reported.
            stops = map(self._stop_now, tuple(self._nodes.running()))
            await asyncio.wait_for(asyncio.gather(*stops), CLOSE_TIMEOUT_S)
        if self.results is not None:
            await self.results.close()
        await self._client.close()

    async def _stop_now(self, container: ContainerId) -> None:
        """End a container by a call: there are no more heartbeats to answer."""
        node = self._nodes.node_of(container)
        state = self._state()
        application = state.applications.get(application_of(container))
        if node is None or application is None:
            return
        request = StopContainersRequestProto()
        request.container_id.append(container_id_message(state.epoch_ms, container))
        try:
            await self._client.call(
                (node.host, node.port),
                CONTAINER_MANAGEMENT,
                "stopContainers",
                request,
                token=self._login(container, node.name, application.user),
                timeout_s=CLOSE_TIMEOUT_S,
            )
        except (RemoteError, Unreachable) as error:
            _log.warning("a container on %s goes on running: %s", node.name, error)


MOST_AT_ONCE = 4
"""Of all results: each is in memory while it is fetched."""
