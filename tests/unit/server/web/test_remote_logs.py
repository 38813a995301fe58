"""Logs of containers on NodeManagers are read from the nodes' web servers."""

import asyncio
import base64
from contextlib import asynccontextmanager

import msgspec
import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from fairshare.core.model.identifiers import container_name
from fairshare.errors import InputError
from fairshare.server.state_directory import fetched_result
from fairshare.server.web.remote_logs import SLACK_BYTES, log_client, log_url, read_remote_part

pytestmark = pytest.mark.anyio

HEADER = (
    "Container: C on localhost:1\nLogAggregationType: LOCAL\n=====\nLogType:stdout\n"
    "LogLastModifiedTime:Mon Nov 23 06:18:46 +0000 2026\nLogLength:{}\nLogContents:\n"
)
TRAILER = "\nEnd of LogType:stdout.\n****\n\n"


class Node:
    """The web server of a NodeManager with one log, as Hadoop's writes it, and perhaps a result."""

    def __init__(self) -> None:
        self.log = b""
        self.result: bytes | None = None
        self.asked: list[int] = []
        self.grows_by = b""
        self.instead: PlainTextResponse | None = None

    async def answer(self, request):
        size = int(request.query_params["size"])
        self.asked.append(size)
        if self.instead is not None:
            return self.instead
        if request.path_params["log"] == "result":
            return self.answer_result()
        content = self.log[:size] if size > 0 else self.log[size:]
        answer = HEADER.format(len(self.log)).encode() + content + TRAILER.encode()
        self.log, self.grows_by = self.log + self.grows_by, b""
        return PlainTextResponse(answer)

    def answer_result(self):
        if self.result is None:
            return PlainTextResponse("java.lang.Exception: Cannot find this log on the node", 404)
        head = HEADER.format(len(self.result)).encode()
        return PlainTextResponse(head + self.result + TRAILER.encode())


@asynccontextmanager
async def listening(node: Node):
    path = "/ws/v1/node/containers/{container}/logs/{log}"
    app = Starlette(routes=[Route(path, node.answer)])
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning", lifespan="off"))
    task = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"127.0.0.1:{port}"
    finally:
        server.should_exit = True
        await task


@pytest.fixture
async def node():
    node = Node()
    async with listening(node) as address:
        node.address = address
        yield node


async def part(node: Node, offset: int, limit: int) -> tuple[bytes, int]:
    async with log_client() as client:
        found = await read_remote_part(client, log_url(node.address, "C", "stdout"), offset, limit)
    return found.content, found.size


async def test_any_part_of_a_log_can_be_read(node):
    node.log = b"0123456789\nEnd of LogType:stdout."
    size = len(node.log)
    assert await part(node, 0, 4) == (b"0123", size)
    assert await part(node, 8, 100) == (node.log[8:], size)
    assert await part(node, size, 5) == (b"", size)


async def test_a_long_log_is_asked_for_its_end_only(node):
    node.log = bytes(range(250)) * 2_000
    offset = len(node.log) - 10
    assert await part(node, offset, 5) == (node.log[-10:-5], len(node.log))
    assert node.asked == [1, -(10 + SLACK_BYTES)]


async def test_a_log_that_grows_meanwhile_is_asked_for_once_more(node):
    node.log, node.grows_by = b"a" * 100_000, b"b" * (2 * SLACK_BYTES)
    content, size = await part(node, 99_990, 20)
    assert (content, size) == (b"a" * 10 + b"b" * 10, 100_000 + 2 * SLACK_BYTES)
    assert len(node.asked) == 3


@pytest.mark.parametrize(
    "words",
    [
        "java.lang.Exception: Cannot find this log on the local disk.",
        "java.lang.Exception: Unknown container. Container either has not started or has already"
        " completed or doesn't belong to this node at all.",
    ],
)
async def test_a_log_that_is_absent_is_empty(node, words):
    node.instead = PlainTextResponse(words, 400)
    assert await part(node, 0, 10) == (b"", 0)


async def test_another_server_in_its_place_is_named(node):
    node.instead = PlainTextResponse("<html>" * 10_000, 200)
    with pytest.raises(InputError, match="does not answer as a NodeManager does: HTTP 200"):
        await part(node, 0, 10)


async def test_a_node_that_does_not_answer_is_named(node):
    node.address = "127.0.0.1:9"
    with pytest.raises(InputError, match="the node does not answer at http://127"):
        await part(node, 0, 10)


async def test_clients_read_logs_of_nodes_as_those_of_this_machine(page, node):
    page.engine.web_addresses["n1"] = node.address
    node.log = b"hello\xff"
    await page.submit(queue="a", tasks=[{"command": "x"}])
    (container,) = await page.launched()
    name = container_name(page.server.service.state.epoch_ms, container)
    answer = await page.get(f"/containers/{name}/logs/stdout", params={"offset": 2})
    assert answer.content == b"llo\xff"
    assert answer.headers["x-fairshare-complete"] == "false"
    page.engine.end(container)
    await page.until(lambda: page.server.service.is_over(container))
    answer = await page.get(f"/containers/{name}/logs/stdout")
    assert (answer.content, answer.headers["x-fairshare-complete"]) == (b"hello\xff", "true")
    assert (await page.get(f"/containers/{name}/result")).status_code == 404
    page.engine.web_addresses = {"n2": node.address}
    answer = await page.get(f"/containers/{name}/logs/stdout")
    assert answer.status_code == 502
    assert "is not registered" in answer.text


async def test_what_a_python_call_returned_on_a_node_is_read_from_there(page, node):
    page.engine.web_addresses["n1"] = node.address
    await page.submit(queue="a", tasks=[{"command": "x"}])
    (container,) = await page.launched()
    path = f"/containers/{container_name(page.server.service.state.epoch_ms, container)}/result"
    node.result = base64.b64encode(b"the value" * 1_000)
    answer = await page.get(path)
    assert (answer.status_code, "only a callable that has returned" in answer.text) == (404, True)
    page.engine.end(container)
    await page.until(lambda: page.server.service.is_over(container))
    answer = await page.get(path)
    assert answer.content == b"the value" * 1_000
    assert answer.headers["content-type"] == "application/octet-stream"
    fetched = fetched_result(page.server.directory.path, *page.server.container_names(container))
    fetched.parent.mkdir(parents=True)
    fetched.write_bytes(b"what was fetched")
    assert (await page.get(path)).content == b"what was fetched"
    fetched.unlink()
    node.result = b"no base64!"
    answer = await page.get(path)
    assert (answer.status_code, "is damaged" in answer.text) == (404, True)


async def test_a_result_on_a_node_that_is_too_large_is_refused_with_its_size(page, node):
    page.engine.web_addresses["n1"] = node.address
    limits = msgspec.structs.replace(page.server.settings.limits, result_mb=1)
    page.server.settings = msgspec.structs.replace(page.server.settings, limits=limits)
    await page.submit(queue="a", tasks=[{"command": "x"}])
    (container,) = await page.launched()
    page.engine.end(container)
    await page.until(lambda: page.server.service.is_over(container))
    path = f"/containers/{container_name(page.server.service.state.epoch_ms, container)}/result"
    node.result = base64.b64encode(bytes(1 << 20))
    assert (await page.get(path)).content == bytes(1 << 20)
    node.result = base64.b64encode(bytes((1 << 20) + 3))
    answer = await page.get(path)
    assert answer.status_code == 413
    assert "bytes, and more than 1 MB are not handed out" in answer.text


async def test_a_log_that_its_node_has_deleted_is_refused_with_where_it_is(page, node):
    page.engine.web_addresses["n1"] = node.address
    await page.submit(queue="a", tasks=[{"command": "x"}])
    (container,) = await page.launched()
    name = container_name(page.server.service.state.epoch_ms, container)
    path = f"/containers/{name}/logs/stdout"
    node.instead = PlainTextResponse("java.lang.Exception: Unknown container.", 404)
    answer = await page.get(path)
    assert (answer.status_code, answer.content) == (200, b"")  # it is not there yet
    page.engine.end(container)
    await page.until(lambda: page.server.service.is_over(container))
    answer = await page.get(path)
    assert (answer.status_code, "nodes delete logs after a while" in answer.text) == (404, True)
    page.server.log_aggregation.enabled = True
    answer = await page.get(path)
    assert "yarn logs -applicationId application_" in answer.json()["message"]
    page.engine.web_addresses = {"n2": node.address}
    answer = await page.get(path)
    assert (answer.status_code, "yarn logs -applicationId" in answer.text) == (502, True)
