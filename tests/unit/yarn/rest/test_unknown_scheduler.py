"""A scheduler that YARN does not know has sensible documents: the defaults of `YarnInterface`."""

from pathlib import Path

import httpx
import pytest
from tests.browser.conftest import pools_configuration
from tests.manual_engine import ManualEngine

from fairshare.server.server import LiveServer
from fairshare.server.settings import Overrides, read_settings
from fairshare.server.web.app import build_app
from fairshare.yarn.views.interface import YarnInterface

pytestmark = pytest.mark.anyio


@pytest.fixture
async def unknown(yarn):
    """A server whose scheduler gives YARN's interface nothing of its own."""
    yarn.server.gateway.yarn = YarnInterface()
    return yarn


async def test_its_document_has_all_queues_in_the_names_of_the_fair_scheduler(unknown):
    await unknown.submit(resource={"memory": 1024, "vCores": 1})
    await unknown.beat()
    info = (await unknown.get("/scheduler")).json()["scheduler"]["schedulerInfo"]
    assert info["type"] == "fairScheduler"  # `fair` and `Scheduler`
    root = info["rootQueue"]
    assert root["queueName"] == "root"
    assert root["clusterResources"]["memory"] == 8192
    a, b = root["childQueues"]["queue"]
    assert (a["queueName"], a["numActiveApps"], b["numActiveApps"]) == ("root.a", 1, 0)
    assert a["usedResources"]["memory"] == 1024
    assert a["maxApps"] == 2**31 - 1
    assert "childQueues" not in a
    written = await unknown.get("/scheduler", headers={"accept": "application/xml"})
    assert "<queueName>root.b</queueName>" in written.text


async def test_every_path_has_an_answer(unknown):
    name = await unknown.submit(resource={"memory": 1024, "vCores": 1})
    await unknown.beat()
    for path in ("/metrics", "/scheduler-overview", "/nodes", "/apps", "/get-node-labels"):
        assert (await unknown.get(path)).status_code == 200, path
    overview = (await unknown.get("/scheduler-overview")).json()
    assert overview["schedulerType"] == "fair"
    assert overview["maximumAllocation"]["memory"] == "8192"
    found = await unknown.app(name)
    assert (found["queueUsagePercentage"], found["clusterUsagePercentage"]) == (12.5, 12.5)
    listed = (await unknown.get("/apps?queue=root.a")).json()["apps"]["app"]
    assert [one["id"] for one in listed] == [name]


async def test_its_diagnostics_are_its_own_words(unknown):
    name = await unknown.submit(queue="root")
    assert (await unknown.app(name))["diagnostics"] == (
        "root is not a leaf queue. Its leaf queues are root.a, root.b"
    )


async def test_pools_of_mapreduce_have_a_document(tmp_path: Path):
    settings = read_settings(
        pools_configuration(tmp_path / "conf"), Overrides(port=0, state_directory=tmp_path / "s")
    )
    server = LiveServer(settings, lambda _, place: ManualEngine(tmp_path / "c"))
    await server.start("http://127.0.0.1:1")
    transport = httpx.ASGITransport(app=build_app(server))
    try:
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:1") as http:
            answer = await http.get("/ws/v1/cluster/scheduler")
    finally:
        await server.end()
        await server.close()
    info = answer.json()["scheduler"]["schedulerInfo"]
    assert (info["type"], info["rootQueue"]["queueName"]) == ("poolsScheduler", "root")
