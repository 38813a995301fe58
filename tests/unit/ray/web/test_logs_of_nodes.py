"""The log of a job whose containers run on other machines, in all its attempts."""

import asyncio
import contextlib

import pytest

from fairshare.errors import EngineError
from fairshare.ray.web.jobs import texts_of

pytestmark = pytest.mark.anyio

LOST = -100


class Logs:
    """What the nodes of an engine have, by container; a node that is lost answers nothing."""

    def __init__(self):
        self.content: dict[str, bytes] = {}
        self.lost: set[str] = set()

    async def read(self, node, names, file, offset, limit):
        assert (node, file) == ("n1", "stdout")
        if names[1] in self.lost:
            raise EngineError("n1 does not answer")
        content = self.content.get(names[1], b"")
        return content[offset : offset + limit], len(content)


@pytest.fixture
def logs(engine):
    """The engine fetches files from its nodes."""
    found = Logs()
    engine.read = found.read
    return found


@pytest.fixture
async def followed(ray):
    """Begins to follow the job `j`; the texts so far."""
    async with contextlib.AsyncExitStack() as opened:

        async def begin():
            state = ray.page.server.service.state
            [application] = state.applications.values()
            found = []

            async def follow():
                async for text in texts_of(ray.page.server, application):
                    found.append(text)

            task = asyncio.create_task(follow())
            opened.callback(task.cancel)
            return found, task

        yield begin


async def until(found, text):
    async with asyncio.timeout(10):
        while "".join(found) != text:
            await asyncio.sleep(0.01)


@pytest.mark.slow
async def test_a_log_goes_on_in_the_next_attempt_when_a_node_is_lost(ray, logs, followed):
    await ray.submit(submission_id="j", metadata={"fairshare.queue": "root.a"})
    first, _ = await ray.driver()
    logs.content[first.container_name] = b"one\n"
    found, task = await followed()
    await until(found, "one\n")
    logs.lost.add(first.container_name)
    ray.page.engine.end(first.container, LOST)
    await ray.page.launched(2)
    order, headers = await ray.run()
    assert order.container_name != first.container_name
    logs.content[order.container_name] = b"two\n"
    await until(found, "one\ntwo\n")
    assert await ray.call("GET", "jobs/j/logs") == {"logs": "two\n"}
    await ray.finish(order, headers)
    async with asyncio.timeout(10):
        await task


async def test_a_job_that_is_stopped_before_it_starts_has_an_empty_log(ray, logs, followed):
    metadata = {"fairshare.queue": "root.a"}
    await ray.submit(submission_id="j", metadata=metadata, entrypoint_num_cpus=4)  # above its part
    assert (await ray.show("j"))["driver_node_id"] is None
    found, task = await followed()
    await ray.call("POST", "jobs/j/stop")
    async with asyncio.timeout(10):
        await task
    assert "".join(found) == ""
    assert await ray.call("GET", "jobs/j/logs") == {"logs": ""}
