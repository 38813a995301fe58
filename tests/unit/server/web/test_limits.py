"""What one caller may ask for has an end, and every end has a status and a reason."""

import asyncio
import contextlib

import httpx
import msgspec
import pytest
from tests.unit.server.web.test_applications import TASK

from fairshare.errors import InputError
from fairshare.server.access.submitted_bytes import ActiveCounts
from fairshare.server.access.tokens import UserTokens
from fairshare.server.server import LiveServer
from fairshare.server.web.app import build_app
from fairshare.server.web.limits import MAX_KNOWN, Buckets, Streams
from fairshare.settings.limits import LimitSettings
from fairshare.settings.shell import AuthenticationSettings

pytestmark = pytest.mark.anyio

NOBODY = AuthenticationSettings()
DRIVER = {"driver": {"command": "drive"}, "master": {"resources": TASK["resources"]}}


class Clock:
    def __init__(self):
        self.now_s = 0.0

    def __call__(self):
        return self.now_s


@pytest.fixture
def serving(server_settings, engine, anyio_backend):
    """A server with some limits, and clients of it."""

    @contextlib.asynccontextmanager
    async def begin(authentication=NOBODY, **limits):
        settings = msgspec.structs.replace(
            server_settings, limits=LimitSettings(**limits), authentication=authentication
        )
        server = LiveServer(settings, lambda settings, path: engine)
        await server.start("http://127.0.0.1:8088")
        app = build_app(server)

        def client(token=None, address="127.0.0.1"):
            return httpx.AsyncClient(
                transport=httpx.ASGITransport(app, client=(address, 5)),
                base_url="http://127.0.0.1:8088/api/v1",
                headers={"Authorization": f"Bearer {token}"} if token else {},
            )

        try:
            yield server, client
        finally:
            await server.close()

    return begin


def reported(answer):
    assert answer.json()["message"]
    return answer.status_code, answer.json()["code"]


async def test_headers_that_are_too_large_are_refused(serving):
    async with serving(header_kb=1) as (_, client), client() as http:
        assert (await http.get("/cluster", headers={"X": "x" * 100})).status_code == 200
        answer = await http.get("/cluster", headers={"X": "x" * 1100})
        assert reported(answer) == (431, "headers-too-large")


async def test_a_body_that_is_too_large_is_refused_in_both_interfaces(serving):
    async with serving(body_mb=1) as (_, client), client() as http:
        large = b"[" + b" " * 2**20 + b"]"
        answer = await http.post("/applications", content=large)
        assert reported(answer) == (413, "too-large")
        headers = {"Content-Type": "application/json"}
        path = "http://127.0.0.1:8088/ws/v1/cluster/apps"
        answer = await http.post(path, content=large, headers=headers)
        assert answer.status_code == 413
        assert "1048576 bytes" in answer.text


async def test_an_application_has_not_more_tasks_than_it_may(serving):
    async with serving(tasks=10) as (server, client), client() as http:
        body = {"queue": "a", "tasks": [{**TASK, "count": 6}, {**TASK, "name": "b", "count": 5}]}
        assert reported(await http.post("/applications", json=body)) == (413, "too-many-tasks")
        assert server.service.state.applications == {}
        body["tasks"][1]["count"] = 4
        assert (await http.post("/applications", json=body)).status_code == 201


async def test_a_driver_asks_for_not_more_than_it_may(serving):
    async with serving(asks=2, containers=10, tasks=5) as (server, client), client() as http:
        name = (await http.post("/applications", json={"queue": "a", **DRIVER})).json()["id"]
        token = server.tokens.issue(1, server.service.state.applications[1].attempt.number)
        async with client(token) as driver:
            ask = {"count": 4, "resources": TASK["resources"]}
            path = f"/applications/{name}/requests"
            answer = await driver.post(path, json={"requests": [ask, ask, ask]})
            assert reported(answer) == (413, "too-many-asks")
            answer = await driver.post(path, json={"requests": [ask, {**ask, "count": 7}]})
            assert reported(answer) == (413, "too-many-containers")
            path = f"/applications/{name}/tasks"
            four = {**TASK, "count": 4}
            assert (await driver.post(path, json={"tasks": [four]})).status_code != 413
            answer = await driver.post(path, json={"tasks": [{**four, "name": "b", "count": 6}]})
            assert reported(answer) == (413, "too-many-tasks")


async def test_a_user_has_not_more_live_applications_than_he_may(serving):
    async with serving(applications_per_user=2) as (server, client), client() as http:

        async def submit(user):
            body = {"user": user, "queue": "a", "tasks": [TASK]}
            return await http.post("/applications", json=body)

        answers = await asyncio.gather(*(submit("ann") for _ in range(5)))
        assert sorted(a.status_code for a in answers) == [201, 201, 429, 429, 429]
        assert (
            reported(next(a for a in answers if a.status_code == 429))[1] == "too-many-applications"
        )
        assert (await submit("bob")).status_code == 201
        first = next(a for a in answers if a.status_code == 201).json()["id"]
        await http.post(f"/applications/{first}/kill", json={"user": "ann"})
        assert (await submit("ann")).status_code == 201
        yarn = "http://127.0.0.1:8088/ws/v1/cluster/apps"
        number = (await http.post(f"{yarn}/new-application?user.name=ann")).json()
        body = {"application-id": number["application-id"], "queue": "root.a"}
        answer = await http.post(f"{yarn}?user.name=ann", json=body)
        assert answer.status_code == 429
        assert "2 applications that are not over" in answer.text
        assert server.active_counts.count("ann") == 2
        assert server.active_counts.count("bob") == 1


async def test_a_user_names_only_so_many_queues_into_being(serving):
    async with serving(created_queues_per_user=2) as (server, client), client() as http:

        async def submit(user, queue, **more):
            body = {"user": user, "queue": queue, "tasks": [TASK], **more}
            return await http.post("/applications", json=body)

        first = await submit("ann", "n1", held=True)
        assert [first.status_code, (await submit("ann", "root.n2")).status_code] == [201, 201]
        refused = await submit("ann", "n3")
        assert reported(refused) == (429, "too-many-queues")
        assert "root.n3" not in server.service.state.queues
        for queue in ("n1", "root.n2", "a", "root.a"):  # they exist
            assert (await submit("ann", queue)).status_code == 201
        assert (await submit("bob", "n3")).status_code == 201
        assert (await submit("ann", "n3")).status_code == 201  # by now it exists
        for one in (await http.get("/applications")).json()["applications"]:
            if one["user"] == "ann" and one["queue"] != "root.n2":
                await http.post(f"/applications/{one['id']}/kill", json={"user": "ann"})
        assert (await submit("ann", "n4")).status_code == 201


async def test_what_was_recovered_counts(serving, server_settings, engine):
    async with serving() as (_, client), client() as http:
        await http.post("/applications", json={"user": "ann", "queue": "a", "tasks": [TASK]})
    async with serving(applications_per_user=1) as (_, client), client() as http:
        answer = await http.post("/applications", json={"user": "ann", "tasks": [TASK]})
        assert reported(answer) == (429, "too-many-applications")


async def test_the_refusal_of_too_many_requests_has_the_time_to_wait(serving):
    tokens = AuthenticationSettings(tokens=True)
    async with serving(tokens, requests_per_second=1) as (server, client):
        kept = UserTokens(server.directory.path)
        async with client(kept.create("ann", 0)) as ann, client(kept.create("bob", 0)) as bob:
            answers = [await ann.get("/cluster") for _ in range(4)]
            assert [a.status_code for a in answers] == [200, 200, 429, 429]
            assert reported(answers[3]) == (429, "too-many-requests")
            assert int(answers[3].headers["Retry-After"]) >= 1
            # Another user of the same address is another caller.
            assert (await bob.get("/cluster")).status_code == 200
        async with client("nonsense") as nobody:
            answers = [await nobody.get("/cluster") for _ in range(4)]
            assert [a.status_code for a in answers] == [401, 401, 429, 429]


async def test_without_authentication_requests_are_not_counted(serving):
    async with serving() as (_, client), client() as http:
        assert {(await http.get("/nodes")).status_code for _ in range(50)} == {200}


async def test_only_so_many_wait_for_a_change(serving):
    async with (
        serving(streams_per_caller=2, streams=3) as (server, client),
        client() as one,
        client(address="127.0.0.2") as two,
    ):
        version = server.service.version
        waits = f"/changes?since={version}&timeout=30"
        open_ones = [asyncio.create_task(one.get(waits)) for _ in range(2)]
        open_ones.append(asyncio.create_task(two.get(waits)))
        await asyncio.sleep(0)
        answers = []
        for http in (one, two):
            async with asyncio.timeout(10):
                answer = await http.get(waits)
                answers.append(answer)
        assert [reported(a) for a in answers] == [(429, "too-many-streams")] * 2
        assert "you have 2" in answers[0].text
        assert "there are 3" in answers[1].text
        await one.post("/applications", json={"queue": "a", "tasks": [TASK]})
        done = await asyncio.gather(*open_ones)
        assert {a.status_code for a in done} == {200}
        assert (await one.get("/changes?timeout=0")).status_code == 200


def test_a_bucket_fills_again_with_time():
    clock = Clock()
    buckets = Buckets(10, clock)
    assert [buckets.take("ann") for _ in range(20)] == [0.0] * 20
    assert buckets.take("ann") == pytest.approx(0.1)
    clock.now_s += 0.1
    assert buckets.take("ann") == 0.0
    assert buckets.take("ann") > 0
    clock.now_s += 3600
    assert [buckets.take("ann") for _ in range(20)] == [0.0] * 20
    assert buckets.take("ann") > 0


def test_callers_are_not_remembered_for_ever():
    buckets = Buckets(1, Clock())
    for number in range(MAX_KNOWN + 10):
        buckets.take(str(number))
    assert len(buckets._known) == MAX_KNOWN


def test_a_stream_that_is_closed_makes_room():
    streams = Streams(LimitSettings(streams_per_caller=1))
    with streams.hold("ann"), pytest.raises(InputError), streams.hold("ann"):
        pass
    with streams.hold("ann"):
        pass
    assert not streams._open


def test_the_count_of_a_user_follows_starts_and_ends():
    census = ActiveCounts()
    with census.on_its_way("ann"), census.on_its_way("ann"):
        assert census.count("ann") == 2
        with census.on_its_way("ann"):
            assert census.count("ann") == 3
        assert census.count("ann") == 2
    assert census.count("ann") == 0
