"""Where a proof is asked for: who is nobody stays outside, and who is somebody in what is his."""

import asyncio

import httpx
import msgspec
import pytest
from tests.unit.server.web.test_applications import TASK
from tests.waiting import until_state

from fairshare.server.access.tokens import FILE, UserTokens
from fairshare.server.server import LiveServer
from fairshare.server.web.app import build_app
from fairshare.settings.shell import AuthenticationSettings

pytestmark = pytest.mark.anyio


class AuthenticationMiddleware:
    """A server that asks for proofs, and clients with some."""

    def __init__(self, server, engine):
        self.server = server
        self.engine = engine
        self.tokens = UserTokens(server.directory.path)
        self.app = build_app(server)

    def client(self, token=None, address="127.0.0.1", **headers):
        if token:
            headers["Authorization"] = f"Bearer {token}"
        transport = httpx.ASGITransport(self.app, client=(address, 5), raise_app_exceptions=False)
        base = self.server.url + "/api/v1"
        return httpx.AsyncClient(transport=transport, base_url=base, headers=headers)

    async def ordered(self):
        """Wait until some container was ordered."""
        version = -1
        async with asyncio.timeout(10):
            while not self.engine.orders:
                version = await self.server.service.changed(version, 10)

    def as_user(self, name, **more):
        return self.client(self.tokens.create(name, 0, **more))


@pytest.fixture
async def door(server_settings, engine, anyio_backend):
    authentication = AuthenticationSettings(
        tokens=True, proxies=("10.0.0.0/24",), proxy_header="X-User"
    )
    settings = msgspec.structs.replace(server_settings, authentication=authentication)
    server = LiveServer(settings, lambda settings, path: engine)
    await server.start("http://127.0.0.1:8088")
    yield AuthenticationMiddleware(server, engine)
    await server.close()


async def submitted(client, **body):
    answer = await client.post("/applications", json={"queue": "a", "tasks": [TASK], **body})
    assert answer.status_code == 201, answer.text
    return answer.json()


async def test_without_credentials_there_is_nothing_to_see(door):
    async with door.client() as nobody:
        answer = await nobody.get("/cluster")
    assert answer.status_code == 401
    assert answer.json()["code"] == "no-token"
    assert answer.headers["WWW-Authenticate"] == "Bearer"


@pytest.mark.parametrize("token", ["fst_00000000_" + "x" * 43, "nonsense", "ümlaut".encode()])
async def test_a_wrong_token_opens_nothing(door, token, caplog):
    headers = {
        "Authorization": b"Bearer " + (token if isinstance(token, bytes) else token.encode())
    }
    async with door.client() as nobody:
        answer = await nobody.get("/cluster", headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (401, "wrong-token")
    assert "401 GET /api/v1/cluster from 127.0.0.1" in caplog.text
    assert "fst_00000000_x" not in caplog.text


async def test_the_user_of_a_token_is_the_submitter(door):
    async with door.as_user("ann") as ann:
        name = (await submitted(ann))["id"]
        assert (await ann.get(f"/applications/{name}")).json()["user"] == "ann"


async def test_only_an_administrator_submits_in_the_name_of_another(door):
    async with door.as_user("ann") as ann:
        answer = await ann.post("/applications", json={"user": "bob", "tasks": [TASK]})
        assert (answer.status_code, answer.json()["code"]) == (403, "access-denied")
    async with door.as_user("root", administrator=True) as root:
        assert (await submitted(root, user="bob"))["id"]
    assert [a.user for a in door.server.service.state.applications.values()] == ["bob"]


async def test_what_is_anothers_is_closed_and_the_log_says_why(door, caplog):
    async with door.as_user("ann") as ann, door.as_user("bob") as bob:
        name = (await submitted(ann))["id"]
        for path in ("", "/tasks", "/containers", "/reasons"):
            answer = await bob.get(f"/applications/{name}{path}")
            assert (answer.status_code, answer.json()["code"]) == (403, "access-denied")
        for path in ("/kill", "/move", "/priority", "/resubmit", "/hold", "/requeue"):
            assert (await bob.post(f"/applications/{name}{path}", json={})).status_code == 403
        container = (await ann.get(f"/applications/{name}/containers")).json()["containers"][0][
            "id"
        ]
        for path in ("logs/stdout", "result"):
            assert (await bob.get(f"/containers/{container}/{path}")).status_code == 403
        assert (await ann.get(f"/containers/{container}/logs/stdout")).status_code == 200
    assert "you are bob, and this application is ann's" in caplog.text
    assert not door.server.service.state.applications[1].over


async def test_an_administrators_token_may_kill_anothers(door):
    async with door.as_user("ann") as ann, door.as_user("root", administrator=True) as root:
        name = (await submitted(ann))["id"]
        assert (await root.post(f"/applications/{name}/kill", json={})).status_code == 200
        assert (await root.post("/admin/refresh-queues", json={})).status_code != 403


async def test_only_administrators_change_the_cluster(door):
    async with door.as_user("ann") as ann:
        labels = {"labels": {"gpu": True}}
        orders = {"/admin/refresh-queues": {}, "/shutdown": {}, "/admin/labels/add": labels}
        for path, body in orders.items():
            answer = await ann.post(path, json=body)
            assert answer.status_code == 403, path
    assert not door.server.stop_requested.is_set()


async def test_a_revoked_token_and_an_expired_one_open_nothing(door):
    text = door.tokens.create("ann", 0)
    old = door.tokens.create("ann", 0, expires_ms=1)
    async with door.client(old) as late:
        assert (await late.get("/cluster")).status_code == 401
    async with door.client(text) as ann:
        assert (await ann.get("/cluster")).status_code == 200
        door.tokens.revoke(text.split("_")[1])
        assert (await ann.get("/cluster")).status_code == 401


async def test_a_driver_opens_its_own_application_and_nothing_else(door):
    driver = {"command": "drive"}
    body = {"queue": "a", "driver": driver, "master": {"resources": TASK["resources"]}}
    async with door.as_user("ann") as ann:
        mine = (await ann.post("/applications", json=body)).json()["id"]
        others = (await submitted(ann))["id"]
    await door.ordered()
    token = next(iter(door.engine.orders.values())).environment["FAIRSHARE_TOKEN"]
    async with door.client(token) as driving:
        assert (await driving.get(f"/applications/{mine}")).status_code == 200
        assert (await driving.post(f"/applications/{mine}/register", json={})).status_code == 200
        assert (await driving.get(f"/applications/{others}")).status_code == 403
        assert (await driving.get("/applications")).status_code == 403
        assert (await driving.post("/applications", json={"tasks": [TASK]})).status_code == 403


DRIVER = {"driver": {"command": "drive"}, "master": {"resources": TASK["resources"]}}


async def test_a_token_is_looked_up_and_not_compared_with_those_of_all_drivers(door, monkeypatch):
    async with door.as_user("ann") as ann:
        for _ in range(5):
            await ann.post("/applications", json={"queue": "a", **DRIVER})
    tokens = door.server.tokens
    attempt = door.server.service.state.applications[3].attempt.number
    token = tokens.issue(3, attempt)
    computed = []
    issue = type(tokens).issue
    monkeypatch.setattr(
        type(tokens), "issue", lambda *given: computed.append(given) or issue(*given)
    )
    for sent, status in ((token, 200), ("A" * 43, 401), ("fsd_9_x", 401), (token[6:], 401)):
        async with door.client(sent) as driving:
            assert (await driving.get("/cluster")).status_code == status
    assert len(computed) == 1


async def test_a_proxy_is_believed_by_its_address_alone(door):
    async with door.client(address="10.0.0.7", **{"X-User": "eve"}) as behind:
        assert (await submitted(behind))["id"]
    async with door.client(address="10.0.1.7", **{"X-User": "eve"}) as elsewhere:
        assert (await elsewhere.get("/cluster")).status_code == 401
    assert door.server.service.state.applications[1].user == "eve"


def test_of_a_token_only_a_hash_is_kept(tmp_path):
    tokens = UserTokens(tmp_path)
    text = tokens.create("ann", 0, note="laptop")
    kept = (tmp_path / FILE).read_text()
    assert text.split("_", 2)[2] not in kept
    assert [(t.user, t.note) for t in tokens.listed()] == [("ann", "laptop")]
    assert (tmp_path / FILE).stat().st_mode & 0o777 == 0o600


async def test_only_administrators_receive_the_records_of_all_users(door):
    async with door.as_user("ann") as ann, door.as_user("root", administrator=True) as root:
        await submitted(ann)
        async with asyncio.timeout(60):  # what is not refused goes on
            answer = await ann.get("/events?kinds=record&since=0")
        assert (answer.status_code, answer.json()["code"]) == (403, "access-denied")
        reported = {}
        for name, client in (("ann", ann), ("root", root)):
            # The stream goes on until the server stops, which it is about to.
            stopping = client.get("/events?since=0")
            task = asyncio.ensure_future(stopping)
            reported[name] = task
        await asyncio.sleep(0)
        await door.server.service.stop()
        texts = {name: (await task).text for name, task in reported.items()}
    assert "event: record" in texts["root"]
    assert "SubmitApplication" in texts["root"]
    assert "event: record" not in texts["ann"]
    assert "event: changed" in texts["ann"]


async def test_groups_are_looked_up_and_not_believed(door):
    async with door.as_user("ann") as ann:
        body = {"queue": "a", "tasks": [TASK], "groups": ["admins"]}
        answer = await ann.post("/applications", json=body)
        assert (answer.status_code, answer.json()["code"]) == (403, "access-denied")


async def test_the_list_hides_output_of_other_users_containers(door):
    failing = {**TASK, "max_attempts": 1}
    async with door.as_user("ann") as ann, door.as_user("bob") as bob:
        await submitted(ann, tasks=[failing])
        await door.ordered()
        container = next(iter(door.engine.orders))
        door.engine.end(container, 1, "exit code 1\nlast lines of stderr:\nmy secret")
        await until_state(door.server, lambda: door.server.service.state.applications[1].over)
        mine = (await ann.get("/applications")).json()["applications"][0]["diagnostics"]
        theirs = (await bob.get("/applications")).json()["applications"][0]["diagnostics"]
    assert "my secret" in mine
    assert "my secret" not in theirs
    assert "exit code 1" in theirs


async def test_damaged_tokens_are_logged_once_and_answered_without_the_path(door, tmp_path, caplog):
    async with door.as_user("ann") as ann:
        assert (await ann.get("/cluster")).status_code == 200
        path = door.server.directory.path / FILE
        path.write_text("{")
        answers = [await ann.get("/cluster") for _ in range(2)]
    for answer in answers:
        assert (answer.status_code, answer.json()["code"]) == (503, "tokens-unreadable")
        assert str(path) not in answer.text
    reported = [one for one in caplog.records if str(path) in one.getMessage()]
    assert len(reported) == 1
