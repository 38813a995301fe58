"""Calls that are too large for a submission are uploaded, and named by their digest."""

import asyncio
import hashlib

import pytest
from tests.unit.server.web.test_authentication import door  # noqa: F401 - a fixture

from fairshare.server import payloads

pytestmark = pytest.mark.anyio

CALL = b"a pickled call"
DIGEST = hashlib.sha256(CALL).hexdigest()
TASK = {"payload": DIGEST, "resources": {"memory-mb": 128, "vcores": 1}}


def files(page) -> set[str]:
    folder = page.server.directory.path / "payloads"
    return {path.name for path in folder.iterdir()} if folder.exists() else set()


async def test_an_uploaded_call_is_what_a_container_runs_and_goes_with_its_application(page):
    answer = await page.http.put(f"/payloads/{DIGEST}", content=CALL)
    assert (answer.status_code, answer.json()) == (201, {"digest": DIGEST, "size": len(CALL)})
    name = await page.submit(queue="root.a", tasks=[TASK])
    (container,) = await page.launched()
    payload = page.engine.orders[container].command.payload
    assert (payload.digest, payload.size) == (DIGEST, len(CALL))
    assert (page.server.directory.path / payload.file).read_bytes() == CALL
    await page.post(f"/applications/{name}/kill", json={})
    assert files(page) == {DIGEST}  # it is kept for a while: another submission may name it
    page.server.uploads.close()
    assert files(page) == set()


async def test_an_upload_that_nothing_names_is_deleted(page, monkeypatch):
    monkeypatch.setattr(payloads, "KEPT_S", 0.0)
    await page.http.put(f"/payloads/{DIGEST}", content=CALL)
    async with asyncio.timeout(60):
        while files(page):
            await asyncio.sleep(0)
    answer = await page.post("/applications", json={"queue": "root.a", "tasks": [TASK]})
    assert answer.status_code == 400
    assert "tasks[0].payload: you have uploaded no" in answer.json()["message"]


@pytest.mark.parametrize(
    ("digest", "content", "headers", "status", "words"),
    [
        ("0" * 64, CALL, {}, 400, "another SHA-256"),
        ("../../etc/passwd", CALL, {}, 404, ""),
        ("short", CALL, {}, 400, "is not a SHA-256"),
        (DIGEST, CALL + CALL, {"Content-Length": "5"}, 400, "more than 5 bytes"),
        (DIGEST, b"", {}, 413, "there may be 1 to"),
        (DIGEST, CALL, {"Content-Length": str(10**12)}, 413, "payload_mb below [limits]"),
    ],
)
async def test_what_is_not_what_it_says_leaves_nothing(
    page, digest, content, headers, status, words
):
    answer = await page.http.put(f"/payloads/{digest}", content=content, headers=headers)
    assert (answer.status_code, words in answer.text) == (status, True), answer.text
    assert files(page) == set()


async def test_the_upload_of_another_user_cannot_be_named(door):  # noqa: F811
    async with door.as_user("ann") as ann, door.as_user("bob") as bob:
        assert (await ann.put(f"/payloads/{DIGEST}", content=CALL)).status_code == 201
        body = {"queue": "root.a", "tasks": [TASK]}
        refused = await bob.post("/applications", json=body)
        assert refused.status_code == 400
        assert "you have uploaded no" in refused.json()["message"]
        assert (await ann.post("/applications", json=body)).status_code == 201
    async with door.client() as stranger:
        assert (await stranger.put(f"/payloads/{DIGEST}", content=CALL)).status_code == 401


async def test_uploads_count_as_submitted_by_their_user(page):
    submitted = page.server.active_counts.submitted_bytes
    await page.http.put(f"/payloads/{DIGEST}", content=CALL)
    assert submitted.size("") == len(CALL)
    await page.http.put(f"/payloads/{DIGEST}", content=CALL)
    assert submitted.size("") == len(CALL)
    page.server.uploads.close()
    assert submitted.size("") == 0


async def test_nothing_is_uploaded_to_a_full_disk(page, monkeypatch):
    monkeypatch.setattr(page.server.disk, "problem", "the disk is full")
    answer = await page.http.put(f"/payloads/{DIGEST}", content=CALL)
    assert (answer.status_code, answer.json()["code"]) == (503, "disk-full")
