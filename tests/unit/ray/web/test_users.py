"""Where callers prove who they are, jobs and packages belong to their users."""

import asyncio
import hashlib

import httpx
import msgspec
import pytest
from tests.unit.ray.web.conftest import PACKAGE, URI, Ray, zipped

from fairshare.server.access.tokens import UserTokens
from fairshare.server.server import LiveServer
from fairshare.server.web.app import build_app
from fairshare.settings.shell import AuthenticationSettings

pytestmark = pytest.mark.anyio

QUEUE = {"fairshare.queue": "root.a"}


@pytest.fixture
async def as_user(server_settings, engine, anyio_backend):
    """Ray's client with the token of a user."""
    settings = msgspec.structs.replace(
        server_settings, authentication=AuthenticationSettings(tokens=True)
    )
    server = LiveServer(settings, lambda settings, path: engine)
    await server.start("http://127.0.0.1:1")
    app, tokens = build_app(server), UserTokens(server.directory.path)

    def client(user, **more):
        token = tokens.create(user, 0, **more) if user else "nonsense"
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        headers = {"Authorization": f"Bearer {token}"}
        return Ray(None, httpx.AsyncClient(transport=transport, headers=headers))

    yield client
    await server.close()


async def test_clients_without_a_token_are_refused(as_user):
    refused = await as_user(None).call("GET", "version", 401)
    assert refused["code"] == "wrong-token"
    for method, path in (("POST", "jobs/"), ("PUT", f"packages/gcs/{PACKAGE}")):
        await as_user(None).call(method, path, 401, content=b"{}")


async def test_jobs_of_others_are_as_if_they_were_not_there(as_user):
    ann, bob, boss = as_user("ann"), as_user("bob"), as_user("boss", administrator=True)
    await ann.submit(submission_id="j", metadata=QUEUE)
    for method, path in (("GET", "jobs/j"), ("POST", "jobs/j/stop"), ("DELETE", "jobs/j")):
        assert (await bob.call(method, path, 404))["code"] == "unknown-job"
    assert await bob.call("GET", "jobs/") == []
    assert (await boss.show("j"))["status"] == "PENDING"
    # The id is free for others, who mean their own by it.
    await bob.submit("sleep 1", submission_id="j", metadata=QUEUE)
    await boss.submit("sleep 2", submission_id="j", metadata=QUEUE)
    jobs = [await one.show("j") for one in (ann, bob, boss)]
    assert [job["entrypoint"] for job in jobs] == ["python train.py", "sleep 1", "sleep 2"]
    assert await boss.call("POST", f"jobs/{jobs[0]['job_id']}/stop") == {"stopped": True}
    assert (await ann.show("j"))["status"] == "STOPPED"


async def test_packages_of_others_are_as_if_they_were_not_there(as_user):
    ann, bob = as_user("ann"), as_user("bob")
    await ann.upload()
    await bob.call("GET", f"packages/gcs/{PACKAGE}", 404)
    refused = await bob.submit(runtime_env={"working_dir": URI}, metadata=QUEUE, status=400)
    assert "bob has not uploaded it" in refused["message"]
    await ann.submit(runtime_env={"working_dir": URI}, metadata=QUEUE)


async def test_a_jobs_container_fetches_its_packages_with_its_own_token(as_user, engine):
    ann = as_user("ann")
    content = zipped(train_py="print(1)")
    await ann.upload(content)
    await ann.submit(runtime_env={"working_dir": URI}, metadata=QUEUE)
    async with asyncio.timeout(10):
        while not engine.orders:
            await asyncio.sleep(0)
    [order] = engine.orders.values()
    path = (
        f"v1/applications/{order.application_name}/packages/{hashlib.sha256(content).hexdigest()}"
    )
    driver = {"Authorization": f"Bearer {order.environment['FAIRSHARE_TOKEN']}"}
    answer = await ann.http.get(f"{ann.root}/{path}", headers=driver)
    assert answer.content == content
    assert (await as_user("bob").call("GET", path, 403))["code"] == "access-denied"
    refused = await ann.http.get(f"{ann.root}/jobs/", headers=driver)
    assert refused.status_code == 403


async def test_only_administrators_act_for_others(as_user):
    metadata = {**QUEUE, "fairshare.user": "ann"}
    refused = await as_user("bob").submit(metadata=metadata, status=403)
    assert refused["code"] == "access-denied"
    await as_user("boss", administrator=True).submit(submission_id="j", metadata=metadata)
    assert (await as_user("ann").show("j"))["submission_id"] == "j"
