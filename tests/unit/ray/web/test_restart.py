"""Jobs and packages outlive their server; nothing of them is stored beside the journal."""

import httpx
import pytest
from tests.unit.ray.web.conftest import PACKAGE, URI, Ray, zipped

from fairshare.server.server import LiveServer
from fairshare.server.web.app import build_app

pytestmark = pytest.mark.anyio


@pytest.fixture
def started(server_settings, engine):
    """Starts a server on the same state directory; Ray's client of it."""

    async def start():
        server = LiveServer(server_settings, lambda settings, path: engine)
        await server.start("http://127.0.0.1:1")
        transport = httpx.ASGITransport(build_app(server), raise_app_exceptions=False)
        return server, Ray(None, httpx.AsyncClient(transport=transport))

    return start


async def test_a_job_and_its_package_are_there_after_a_restart(started):
    server, ray = await started()
    await ray.upload(zipped(train_py="print(1)"))
    metadata = {"fairshare.queue": "root.a", "owner": "ann"}
    runtime_env = {"working_dir": URI, "env_vars": {"A": "b"}}
    await ray.submit(submission_id="j", metadata=metadata, runtime_env=runtime_env)
    before = await ray.show("j")
    await server.close()
    server, ray = await started()
    try:
        after = await ray.show("j")
        same = ("submission_id", "job_id", "entrypoint", "metadata", "runtime_env", "start_time")
        assert [after[name] for name in same] == [before[name] for name in same]
        await ray.call("GET", f"packages/gcs/{PACKAGE}")
        refused = await ray.submit(submission_id="j", metadata=metadata, status=400)
        assert "already exists" in refused["message"]
    finally:
        await server.close()
