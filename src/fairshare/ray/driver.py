"""The process that talks to Ray for a server: `python -m fairshare.ray.driver DESCRIPTOR`.

It keeps an agent on each node, hands orders to the agents, and news to the server. It ends with the
server. Ray may end it at any time; the server then starts another one, which finds the agents.
"""

import asyncio
import logging
import os
import socket
import stat
import sys
import time
from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from ray.autoscaler.sdk import request_resources
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

import ray
from fairshare.core.model.events import ExitCode
from fairshare.core.model.inputs import ContainerExited
from fairshare.engines.protocol import LaunchOrder
from fairshare.ray import amounts
from fairshare.ray.agent import PROTOCOL, NodeAgent
from fairshare.ray.amounts import attributes_of
from fairshare.ray.messages import (
    RAY_NODE,
    AgentOptions,
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
    OpenSession,
    Prune,
    ReadFile,
    Report,
    Reported,
    SessionBytes,
    SessionTaken,
    Stop,
    ToDriver,
    Trouble,
    encoded,
    read_body,
)
from fairshare.ray.sessions import DriverSessions
from fairshare.ray.troubles import REFUSED_TOKEN, first_line, no_answer, no_connection, not_sent

NAMESPACE = "fairshare"
POLL_S = 1.0
ROOM_S = 3.0
"""How often it is looked whether others have freed something."""
ANSWER_S = 10.0
"""How long Ray may take to answer before it counts as away."""
CREATE_S = 60.0
BATCH = 64
LOGGED_BYTES = 65_536
LOOK_S = 0.5

_log = logging.getLogger("fairshare.ray.driver")
_order = msgspec.msgpack.Decoder(LaunchOrder)
_to_driver = msgspec.msgpack.Decoder(ToDriver)
_hello = msgspec.msgpack.Decoder(
    tuple[int, dict[str, int], dict[str, str], tuple[int, ...], tuple[ContainerExited, ...], int]
)
_news = msgspec.msgpack.Decoder(tuple[tuple[int, Report], ...])


class Driver:
    """One connection to Ray, and one to the server."""

    def __init__(self, options: DriverOptions, writer: asyncio.StreamWriter) -> None:
        self._options = options
        self._writer = writer
        self._agents: dict[str, Any] = {}  # of the nodes that are up
        self._watching: dict[str, asyncio.Task[None]] = {}  # of all nodes that are alive
        self._orders: dict[str, list[tuple[bytes, bytes]]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._sessions = DriverSessions(self._agents.get, self.send)
        self._free = amounts.FreeRoom()
        self._offered: dict[str, dict[str, int]] = {}  # of the nodes that are up

    async def watch_nodes(self) -> None:
        """Look after the nodes, for ever."""
        trouble, look_s = "", 0.0
        taking: asyncio.Task[None] | None = None
        while True:
            try:
                nodes = await asyncio.wait_for(asyncio.to_thread(ray.nodes), ANSWER_S)
            except Exception as error:
                trouble = no_answer(error)
                self.send(Trouble(trouble))
                await asyncio.sleep(POLL_S)
                continue
            if trouble:
                trouble = ""
                self.send(Trouble(""))
            alive = {one["NodeID"]: one for one in nodes if one["Alive"]}
            self.send(LiveNodes(tuple(sorted(alive))))
            for name in self._agents.keys() - alive.keys():  # Ray has given its node up
                self._later(self._agents[name].leave.remote(True))
            for name, node in alive.items():
                if name not in self._watching:
                    task = asyncio.create_task(self._watch(node))
                    self._watching[name] = task
                    task.add_done_callback(partial(self._watched, name))
            if taking is None or (taking.done() and time.monotonic() >= look_s):
                look_s = time.monotonic() + ROOM_S
                taking = self._spawn(self._take_room())
            await asyncio.sleep(POLL_S)

    async def _take_room(self) -> None:
        """Hold what others have freed on the nodes, and say so to their agents."""
        try:
            free = await asyncio.wait_for(asyncio.to_thread(amounts.free_everywhere), ANSWER_S)
            for name, amounts_there in self._free.lasting(free).items():
                more = amounts.further(amounts_there, self._options.types)
                if more is None or name not in self._agents:
                    continue
                if await asyncio.to_thread(amounts.hold, self._options.cluster, name, more):
                    await _result(self._agents[name].enlarge.remote(more.resources))
                    self._watching[name].cancel()  # its next hello has the new amounts
        except Exception as error:
            _log.warning("what others have freed was not taken: %s", first_line(error))

    def _watched(self, name: str, _: asyncio.Task[None]) -> None:
        del self._watching[name]

    async def _watch(self, node: dict[str, Any]) -> None:
        """Keep an agent on a node, and pass its news on, until it no longer answers."""
        name = node["NodeID"]
        try:
            agent, hello = await self._agent_on(node)
        except Exception as error:
            _log.warning("no agent on %s: %s", name, error)
            self.send(NodeSilent(name, first_line(error)))
            await asyncio.sleep(POLL_S)
            return
        _, resources, attributes, running, ended, last = hello
        attributes |= attributes_of(node, self._options.partition_label)
        attributes |= {RAY_NODE: name, "address": node["NodeManagerAddress"]}
        host = node["NodeManagerHostname"]
        self._agents[name] = agent
        self._offered[name] = resources
        self.send(NodeUp(name, host, resources, attributes, running, ended))
        try:
            while True:
                news = _news.decode(await _result(agent.poll.remote(last)))
                fresh = [(number, report) for number, report in news if number > last]
                if fresh:
                    self.send(Reported(name, tuple(report for _, report in fresh)))
                    last = fresh[-1][0]
        except Exception as error:
            _log.warning("the agent on %s does not answer: %s", name, error)
            self.send(NodeSilent(name, first_line(error)))
        finally:
            self._agents.pop(name, None)
            self._offered.pop(name, None)
            self._orders.pop(name, None)

    async def _agent_on(self, node: dict[str, Any]) -> tuple[Any, Any]:
        """The agent of a node, an earlier driver's or a new one."""
        name = f"agent-{self._options.cluster}-{node['NodeID']}"
        try:
            agent = await asyncio.wait_for(
                asyncio.to_thread(ray.get_actor, name, namespace=NAMESPACE), ANSWER_S
            )
        except ValueError:  # there is none
            agent = await self._new_agent(name, node)
        hello = _hello.decode(await asyncio.wait_for(_result(agent.hello.remote()), CREATE_S))
        if hello[0] == PROTOCOL:
            return agent, hello
        await asyncio.wait_for(_result(agent.leave.remote(False)), CREATE_S)
        await asyncio.to_thread(ray.kill, agent)
        raise RuntimeError("an agent of another release was ended; a new one comes")

    async def _new_agent(self, name: str, node: dict[str, Any]) -> Any:
        await asyncio.to_thread(amounts.release, self._options.cluster, node["NodeID"])
        free = await asyncio.wait_for(asyncio.to_thread(amounts.free_on, node), ANSWER_S)
        offer = amounts.offer(free, self._options.types)
        options = AgentOptions(
            node=node["NodeID"],
            cluster=self._options.cluster,
            resources=offer.resources,
            fence_s=self._options.fence_s,
            grants=self._options.grants,
        )
        affinity = NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
        actor = ray.remote(NodeAgent).options(
            name=name,
            namespace=NAMESPACE,
            lifetime="detached",
            num_cpus=offer.cpus,
            num_gpus=offer.gpus,
            memory=offer.memory_bytes,
            resources=offer.custom,
            max_concurrency=1_000,
            max_restarts=0,
            scheduling_strategy=affinity,
        )
        return await asyncio.to_thread(actor.remote, msgspec.msgpack.encode(options))

    # -- the server -------------------------------------------------------------------------------

    def send(self, message: FromDriver) -> None:
        """Send a message to the server."""
        self._writer.write(encoded(message))

    async def serve(self, reader: asyncio.StreamReader) -> None:
        """Carry out what the server says, until it is gone."""
        while (body := await read_body(reader)) is not None:
            message = _to_driver.decode(body)
            match message:
                case Launch():
                    self._launch(message)
                case Stop() if (agent := self._agents.get(message.node)) is not None:
                    self._later(agent.stop.remote(message.container))
                case Limit() if (agent := self._agents.get(message.node)) is not None:
                    limit = message.container, message.time_limit_ms
                    self._later(agent.limit.remote(*limit))
                case Prune():
                    for agent in self._agents.values():
                        self._later(agent.prune.remote(message.application_name))
                case ReadFile():
                    self._spawn(self._read(message))
                case OpenSession():
                    self._spawn(self._sessions.begin(message))
                case SessionBytes() | SessionTaken():
                    self._spawn(self._sessions.take(message))
                case Grow():
                    self._spawn(self._grow(message))
                case Leave():
                    await self._leave()
                    return
                case _:
                    pass  # a node that is gone has stopped its containers itself

    def _launch(self, message: Launch) -> None:
        """Orders for a node that come together go in one call. One that does not arrive is not
        reported: when the node is back, it says what runs there."""
        orders = self._orders.setdefault(message.node, [])
        orders.append((msgspec.msgpack.encode(message.order), message.call))
        if len(orders) == 1:
            asyncio.get_running_loop().call_soon(self._send_orders, message.node)

    def _send_orders(self, node: str) -> None:
        orders = self._orders.pop(node, [])
        agent = self._agents.get(node)
        if agent is None:
            return
        for first in range(0, len(orders), BATCH):
            batch = orders[first : first + BATCH]
            try:
                reference = agent.launch.remote(batch)
            except Exception as error:  # nothing was sent
                self._refuse(node, batch, not_sent(error))
            else:
                self._spawn(self._launched(node, reference))

    def _refuse(self, node: str, orders: list[tuple[bytes, bytes]], problem: str) -> None:
        _log.warning("%s: %s", node, problem)
        containers = [_order.decode(order).container for order, _ in orders]
        aborted = ExitCode.ABORTED
        ends = [ContainerExited(one, aborted, problem, node_failed=True) for one in containers]
        self.send(Reported(node, tuple(ends)))

    async def _launched(self, node: str, reference: Any) -> None:
        """If an agent did not carry out orders, what it runs decides: it is asked again."""
        try:
            await reference
        except Exception as error:
            _log.warning("orders for %s failed: %s", node, first_line(error))
            watching = self._watching.get(node)
            if watching is not None:
                watching.cancel()

    async def _grow(self, message: Grow) -> None:
        """Ray's autoscaler counts a request as the whole cluster: what there is comes first."""
        there = list(self._offered.values()) if message.sizes else []
        bundles = [amounts.bundle(one) for one in there]
        for size, count in message.sizes:
            bundles += [amounts.bundle(size)] * count
        try:
            await asyncio.to_thread(request_resources, bundles=bundles)
        except Exception as error:
            _log.warning("Ray's autoscaler was not asked for nodes: %s", first_line(error))

    async def _read(self, message: ReadFile) -> None:
        agent = self._agents.get(message.node)
        if agent is None:
            self.send(FilePart(message.call, error="its node does not answer now"))
            return
        try:
            place = message.application_name, message.container_name, message.file
            reference = agent.read.remote(*place, message.offset, message.limit)
            content, size = await asyncio.wait_for(_result(reference), ANSWER_S)
        except Exception as error:
            self.send(FilePart(message.call, error=first_line(error)))
        else:
            self.send(FilePart(message.call, content, size))

    async def _leave(self) -> None:
        """End all agents with their containers."""
        if self._options.autoscale_vcores:
            await self._grow(Grow(()))
        agents = tuple(self._agents.values())
        ends = [_result(agent.leave.remote(True)) for agent in agents]
        await asyncio.wait_for(asyncio.gather(*ends, return_exceptions=True), CREATE_S)
        for agent in agents:
            await asyncio.to_thread(ray.kill, agent)
        await asyncio.to_thread(amounts.release, self._options.cluster)

    def _later(self, reference: object) -> None:
        self._spawn(_ignored(reference))

    def _spawn(self, work: Coroutine[object, None, None]) -> asyncio.Task[None]:
        task: asyncio.Task[None] = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


async def _result(reference: Any) -> Any:
    return await reference


async def _ignored(reference: Any) -> None:
    try:
        await reference
    except Exception as error:
        _log.warning("an agent could not carry out an order: %s", error)


async def main(descriptor: int) -> None:
    """Connect with both sides; ends when either is gone."""
    reader, writer = await asyncio.open_unix_connection(sock=socket.socket(fileno=descriptor))
    first = await read_body(reader)
    if first is None:
        return
    options = msgspec.msgpack.decode(first, type=DriverOptions)
    driver = Driver(options, writer)
    why_not = await _connected(options.address)
    if why_not:
        driver.send(Trouble(why_not))
        await writer.drain()
        os._exit(1)  # Ray may still be trying
    driver.send(Trouble(""))
    serving = asyncio.create_task(driver.serve(reader))
    counting = asyncio.create_task(driver.watch_nodes())
    done, _ = await asyncio.wait((serving, counting), return_when=asyncio.FIRST_COMPLETED)
    counting.cancel()
    for task in done:
        problem = None if task.cancelled() else task.exception()
        if problem is not None:
            _log.error("the driver ends: %s", problem, exc_info=problem)


async def _connected(address: str) -> str:
    """Connect with Ray's head; why not, or empty. Ray itself goes on trying with a token that its
    head refuses, and only logs it."""
    logged = _log_reader()
    connecting = asyncio.create_task(asyncio.to_thread(_connect, address))
    while not connecting.done():
        await asyncio.wait((connecting,), timeout=LOOK_S)
        if REFUSED_TOKEN in logged():
            return no_connection(address, ConnectionError(), logged())
    error = connecting.exception()
    return no_connection(address, error, "") if isinstance(error, Exception) else ""


def _log_reader() -> Callable[[], str]:
    """Reads what is logged from now on, by Ray's own code, too; the log is a file."""
    begin = os.lseek(2, 0, os.SEEK_END) if stat.S_ISREG(os.fstat(2).st_mode) else None

    def read() -> str:
        if begin is None:
            return ""
        with Path("/proc/self/fd/2").open("rb") as log:
            log.seek(begin)
            return log.read(LOGGED_BYTES).decode(errors="replace")

    return read


def _connect(address: str) -> None:
    """Connect with Ray's head; raises an error within seconds if nothing listens there."""
    host, colon, port = address.rpartition(":")
    if colon and port.isdigit():  # Ray itself would try for a minute
        socket.create_connection((host.strip("[]"), int(port)), ANSWER_S).close()
    ray.init(
        address=address,
        namespace=NAMESPACE,
        log_to_driver=False,
        logging_level=logging.WARNING,
    )


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    asyncio.run(main(int(sys.argv[1])))
    os._exit(0)  # Ray's own threads may wait for a head that is gone
