"""The process that talks to Ray for a server: `python -m fairshare.ray.driver DESCRIPTOR`.

It keeps an agent on each node, hands orders to the agents, and news to the server. It ends with the
server. Ray may end it at any time; the server then starts another one, which finds the agents.
"""

import asyncio
import logging
import os
import socket
import sys
from functools import partial
from typing import Any

import msgspec
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

import ray
from fairshare.model.inputs import ContainerExited
from fairshare.ray import amounts
from fairshare.ray.agent import PROTOCOL, NodeAgent
from fairshare.ray.driver_options import AgentOptions, DriverOptions
from fairshare.ray.messages import (
    RAY_NODE,
    Census,
    FilePart,
    FromDriver,
    Launch,
    Leave,
    NodeSilent,
    NodeUp,
    Prune,
    ReadFile,
    Report,
    Reported,
    Stop,
    ToDriver,
    Trouble,
    encoded,
    read_body,
)
from fairshare.wording import cause

NAMESPACE = "fairshare"
CENSUS_S = 1.0
ANSWER_S = 10.0
"""How long Ray may take to answer before it counts as away."""
CREATE_S = 60.0
BATCH = 64

_log = logging.getLogger("fairshare.ray.driver")
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

    async def census(self) -> None:
        """Look after the nodes, for ever."""
        trouble = ""
        while True:
            try:
                nodes = await self._asked_ray()
            except Exception as error:
                trouble = f"Ray does not answer: {error or type(error).__name__}"
                self.tell(Trouble(trouble))
                await asyncio.sleep(CENSUS_S)
                continue
            if trouble:
                trouble = ""
                self.tell(Trouble(""))
            alive = {one["NodeID"]: one for one in nodes if one["Alive"]}
            self.tell(Census(tuple(sorted(alive))))
            for name in self._agents.keys() - alive.keys():  # Ray has given its node up
                self._later(self._agents[name].leave.remote(True))
            for name, node in alive.items():
                if name not in self._watching:
                    task = asyncio.create_task(self._watch(node))
                    self._watching[name] = task
                    task.add_done_callback(partial(self._watched, name))
            await asyncio.sleep(CENSUS_S)

    def _watched(self, name: str, _: asyncio.Task[None]) -> None:
        del self._watching[name]

    async def _asked_ray(self) -> list[dict[str, Any]]:
        return await asyncio.wait_for(asyncio.to_thread(ray.nodes), ANSWER_S)

    async def _watch(self, node: dict[str, Any]) -> None:
        """Keep an agent on a node, and pass its news on, until it no longer answers."""
        name = node["NodeID"]
        try:
            agent, hello = await self._agent_on(node)
        except Exception as error:
            _log.warning("no agent on %s: %s", name, error)
            self.tell(NodeSilent(name, _words(error)))
            await asyncio.sleep(CENSUS_S)
            return
        _, resources, attributes, running, ended, last = hello
        attributes |= {RAY_NODE: name, "address": node["NodeManagerAddress"]}
        host = node["NodeManagerHostname"]
        self._agents[name] = agent
        self.tell(NodeUp(name, host, resources, attributes, running, ended))
        try:
            while True:
                news = _news.decode(await _result(agent.poll.remote(last)))
                fresh = [(number, report) for number, report in news if number > last]
                if fresh:
                    self.tell(Reported(name, tuple(report for _, report in fresh)))
                    last = fresh[-1][0]
        except Exception as error:
            _log.warning("the agent on %s does not answer: %s", name, error)
            self.tell(NodeSilent(name, _words(error)))
        finally:
            self._agents.pop(name, None)
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
        free = await asyncio.wait_for(asyncio.to_thread(amounts.free_on, node), ANSWER_S)
        offer = amounts.offer(free, self._options.types)
        options = AgentOptions(
            node=node["NodeID"],
            cluster=self._options.cluster,
            resources=offer.resources,
            fence_s=self._options.fence_s,
            limits=self._options.limits,
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

    def tell(self, message: FromDriver) -> None:
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
                case Prune():
                    for agent in self._agents.values():
                        self._later(agent.prune.remote(message.application_name))
                case ReadFile():
                    self._spawn(self._read(message))
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
            self._later(agent.launch.remote(orders[first : first + BATCH]))

    async def _read(self, message: ReadFile) -> None:
        agent = self._agents.get(message.node)
        if agent is None:
            self.tell(FilePart(message.call, error="its node does not answer now"))
            return
        try:
            place = message.application_name, message.container_name, message.file
            reference = agent.read.remote(*place, message.offset, message.limit)
            content, size = await asyncio.wait_for(_result(reference), ANSWER_S)
        except Exception as error:
            self.tell(FilePart(message.call, error=_words(error)))
        else:
            self.tell(FilePart(message.call, content, size))

    async def _leave(self) -> None:
        """End all agents with their containers."""
        agents = tuple(self._agents.values())
        ends = [_result(agent.leave.remote(True)) for agent in agents]
        await asyncio.wait_for(asyncio.gather(*ends, return_exceptions=True), CREATE_S)
        for agent in agents:
            await asyncio.to_thread(ray.kill, agent)

    def _later(self, reference: Any) -> None:
        self._spawn(_ignored(reference))

    def _spawn(self, work: Any) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


async def _result(reference: Any) -> Any:
    return await reference


async def _ignored(reference: Any) -> None:
    try:
        await reference
    except Exception as error:
        _log.warning("an agent could not carry out an order: %s", error)


def _words(error: Exception) -> str:
    """The first line of an error; Ray's have many."""
    text = (cause(error) if isinstance(error, OSError) else str(error)).strip()
    text = text or type(error).__name__
    return text.partition("\n")[0][:500]


async def main(descriptor: int) -> None:
    """Connect with both sides; ends when either is gone."""
    reader, writer = await asyncio.open_unix_connection(sock=socket.socket(fileno=descriptor))
    first = await read_body(reader)
    if first is None:
        return
    options = msgspec.msgpack.decode(first, type=DriverOptions)
    driver = Driver(options, writer)
    try:
        await asyncio.to_thread(_connect, options.address)
    except Exception as error:
        driver.tell(Trouble(f"no Ray cluster answers at {options.address}: {_words(error)}"))
        await writer.drain()
        return
    driver.tell(Trouble(""))
    serving = asyncio.create_task(driver.serve(reader))
    counting = asyncio.create_task(driver.census())
    done, _ = await asyncio.wait((serving, counting), return_when=asyncio.FIRST_COMPLETED)
    counting.cancel()
    for task in done:
        problem = None if task.cancelled() else task.exception()
        if problem is not None:
            _log.error("the driver ends: %s", problem, exc_info=problem)


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
