"""Single containers: what they printed and returned, and their end."""

import os

import pytest

from fairshare.core.model.identifiers import container_name

pytestmark = pytest.mark.anyio


async def a_container(page) -> tuple[int, str]:
    """A container that runs: its number and its name."""
    await page.submit(queue="a", tasks=[{"command": "x"}])
    (container,) = await page.launched()
    files = page.server.container_files(container)
    files.path.mkdir(parents=True)
    return container, container_name(page.server.service.state.epoch_ms, container)


async def test_a_log_is_read_in_parts_and_says_when_it_is_complete(page):
    container, name = await a_container(page)
    log = page.server.container_files(container).stdout
    log.write_bytes(b"hello\xff")
    path = f"/containers/{name}/logs/stdout"
    answer = await page.get(path)
    assert answer.content == b"hello\xff"
    assert answer.headers["content-type"].startswith("text/plain")
    assert answer.headers["x-fairshare-complete"] == "false"

    page.engine.end(container)
    await page.until(lambda: page.server.service.is_over(container))
    answer = await page.get(path, params={"offset": 2, "limit": 3})
    assert (answer.content, answer.headers["x-fairshare-complete"]) == (b"llo", "false")
    answer = await page.get(path, params={"offset": 5})
    assert (answer.content, answer.headers["x-fairshare-complete"]) == (b"\xff", "true")
    answer = await page.get(path, params={"offset": 99})
    assert (answer.content, answer.headers["x-fairshare-complete"]) == (b"", "true")


async def test_a_log_is_not_complete_while_a_container_that_was_killed_still_writes(page):
    container, name = await a_container(page)
    files = page.server.container_files(container)
    files.launch.write_text("{}")
    await page.post("/applications/1/kill")
    path = f"/containers/{name}/logs/stdout"
    assert (await page.get(path)).headers["x-fairshare-complete"] == "false"
    files.exit.write_text("{}")
    assert (await page.get(path)).headers["x-fairshare-complete"] == "true"


async def test_a_log_that_is_not_there_yet_is_empty(page):
    _, name = await a_container(page)
    answer = await page.get(f"/containers/{name}/logs/stderr")
    assert (answer.status_code, answer.content) == (200, b"")
    assert answer.headers["x-fairshare-complete"] == "false"


async def test_a_link_or_a_pipe_in_the_place_of_a_log_is_not_opened(page, tmp_path):
    container, name = await a_container(page)
    (tmp_path / "secret").write_text("mine")
    files = page.server.container_files(container)
    files.stdout.symlink_to(tmp_path / "secret")
    os.mkfifo(files.stderr)
    for stream in ("stdout", "stderr"):
        assert (await page.get(f"/containers/{name}/logs/{stream}")).content == b""


async def test_an_unknown_stream_or_container_is_not_found(page):
    _, name = await a_container(page)
    answer = await page.get(f"/containers/{name}/logs/stdin")
    assert (answer.status_code, answer.json()["code"]) == (404, "unknown-log")
    for unknown in ("container_1_0001_01_000001", "x", "..%2f..%2fsecret", name + "0"):
        answer = await page.get(f"/containers/{unknown}/logs/stdout")
        assert answer.status_code == 404, unknown


async def test_a_container_that_never_was_is_not_found_and_a_forgotten_one_is(page):
    container, name = await a_container(page)
    absent = [
        container_name(page.server.service.state.epoch_ms, container + more) for more in (1, 98)
    ]
    absent += [name.replace("_01_", "_02_"), name.replace("_01_000001", "_01_000000")]
    for other in absent:
        answer = await page.get(f"/containers/{other}/logs/stdout")
        assert (answer.status_code, answer.json()["code"]) == (404, "unknown-container")
    page.server.projections.history.application(1).containers.clear()
    assert (await page.get(f"/containers/{name}/logs/stdout")).status_code == 200


async def test_a_result_is_sent_as_it_is_and_a_missing_one_is_not_found(page):
    container, name = await a_container(page)
    answer = await page.get(f"/containers/{name}/result")
    assert (answer.status_code, answer.json()["code"]) == (404, "no-result")
    page.server.container_files(container).result.write_bytes(b"\x80pickled")
    answer = await page.get(f"/containers/{name}/result")
    assert answer.content == b"\x80pickled"
    assert answer.headers["content-type"] == "application/octet-stream"


async def test_stopping_a_container_is_an_order_to_the_engine(page):
    container, name = await a_container(page)
    assert (await page.post(f"/containers/{name}/stop")).status_code == 202
    assert page.engine.stopped == [container]
    page.engine.end(container, 143)
    await page.until(lambda: page.server.service.is_over(container))
    answer = await page.post(f"/containers/{name}/stop")
    assert (answer.status_code, answer.json()["code"]) == (409, "not-running")
