"""Results of Python calls are fetched from their nodes, which keep them until then."""

import asyncio
import base64

import pytest

from fairshare.core.model.events import ContainerCompleted
from fairshare.core.model.identifiers import container_id
from fairshare.core.model.inputs import NodeBeat
from fairshare.core.record import Record
from fairshare.errors import InputError
from fairshare.runtime.observers import Observers
from fairshare.server.state_directory import fetched_result
from fairshare.server.web.remote_logs import RemotePart
from fairshare.yarn.rpc.engine import engine
from fairshare.yarn.rpc.engine.engine import Results

pytestmark = pytest.mark.anyio
CALL = container_id(1, 1, 1)
NAMES = ("application_1_0001", "container_1_0001_01_000001")


class Node:
    """A node that has a result, and gives it out when `free` is set."""

    def __init__(self, value: bytes) -> None:
        self.content = base64.b64encode(value)
        self.free = asyncio.Event()
        self.asked: list[str] = []
        self.problem: InputError | None = None

    async def read(self, client, url, offset, limit):
        self.asked.append(url)
        await self.free.wait()
        if self.problem is not None:
            raise self.problem
        return RemotePart(self.content[offset : offset + limit], len(self.content))


@pytest.fixture
async def node(monkeypatch):
    made = Node(b"value" * 10)
    monkeypatch.setattr(engine, "read_remote_part", made.read)
    return made


@pytest.fixture
async def results(tmp_path, node):
    made = Results(
        tmp_path, 50, lambda container: (NAMES, "h1:8042") if container == CALL else None
    )
    made.done = asyncio.Event()  # type: ignore[attr-defined]
    made.on_fetched = lambda application: made.done.set()  # type: ignore[attr-defined]
    observers = Observers()
    made.subscribe(observers)
    made.observe = lambda event: observers.observe(  # type: ignore[attr-defined]
        [Record(1, 0, NodeBeat("n1"), (event,))]
    )
    yield made
    await made.close()


def ended(exit_code: int = 0):
    return ContainerCompleted(CALL, exit_code)


async def test_a_result_is_fetched_when_its_call_has_ended_and_the_nodes_keep_it_meanwhile(
    results, node, tmp_path
):
    results.observe(ended())
    assert results.waits(1)
    node.free.set()
    await asyncio.wait_for(results.done.wait(), 10)
    assert not results.waits(1)
    kept = fetched_result(tmp_path, *NAMES)
    assert kept.read_bytes() == b"value" * 10
    assert node.asked == [f"http://h1:8042/ws/v1/node/containers/{NAMES[1]}/logs/result"]
    assert kept.parent.stat().st_mode & 0o077 == 0
    results.prune(NAMES[0])
    assert not kept.parent.exists()


@pytest.mark.parametrize("exit_code", [1, -100])
async def test_a_call_that_failed_has_no_result_to_wait_for(results, exit_code):
    results.observe(ended(exit_code))
    assert not results.waits(1)


async def test_results_of_other_containers_are_not_requested(results, node):
    results.observe(ContainerCompleted(container_id(1, 1, 2), 0))
    assert (results.waits(1), node.asked) == (False, [])


@pytest.mark.parametrize("trouble", ["away", "damaged", "large"])
async def test_what_cannot_be_fetched_is_not_waited_for(results, node, tmp_path, trouble, caplog):
    if trouble == "away":
        node.problem = InputError("node-unreachable", "the node does not answer")
    else:
        node.content = b"!!!!" if trouble == "damaged" else base64.b64encode(bytes(100))
    node.free.set()
    results.observe(ended())
    await asyncio.wait_for(results.done.wait(), 10)
    assert not fetched_result(tmp_path, *NAMES).exists()
    assert ("stays on its node" in caplog.text) == (trouble != "large")
