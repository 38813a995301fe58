"""A standby at the ports where administrators and monitors of a ResourceManager look for one."""

import httpx
import pytest
from tests.hadoop.configuration import free_ports

from fairshare.server.settings import Overrides, read_settings
from fairshare.yarn.rpc.configuration import read_hadoop
from fairshare.yarn.rpc.standby import serve_hadoop_as_standby
from fairshare.yarn.rpc.wire.client import RemoteError, RpcClient
from fairshare.yarn.rpc.wire.descriptors import ADMINISTRATION, HIGH_AVAILABILITY, METHODS

pytestmark = pytest.mark.anyio

ACTIVE = "http://127.0.0.1:8088"
STANDBY = 2


class Standby:
    """The addresses of one that runs, and whose active server may be gone."""

    def __init__(self, path) -> None:
        self.active = ACTIVE
        self.web, self.admin = free_ports(2)
        name = "yarn.resourcemanager.admin.address"
        (path / "yarn-site.xml").write_text(
            f"<configuration><property><name>{name}</name>"
            f"<value>127.0.0.1:{self.admin}</value></property></configuration>"
        )
        self.settings = read_settings(path, Overrides(port=self.web, scheduler="fair"))

    def running(self):
        return serve_hadoop_as_standby(
            self.settings, read_hadoop(self.settings), lambda: self.active
        )

    async def call(self, method: str, protocol: str = HIGH_AVAILABILITY, **fields):
        client = RpcClient("ann")
        try:
            request = METHODS[protocol, method].request(**fields)
            return await client.call(("127.0.0.1", self.admin), protocol, method, request)
        finally:
            await client.close()

    async def get(self, path: str, **more) -> httpx.Response:
        async with httpx.AsyncClient(trust_env=False) as http:
            return await http.get(f"http://127.0.0.1:{self.web}{path}", **more)


@pytest.fixture
async def standby(tmp_path):
    standby = Standby(tmp_path)
    async with standby.running():
        yield standby


async def test_its_administration_port_says_that_it_is_a_standby_and_well(standby):
    status = await standby.call("getServiceStatus")
    assert (status.state, status.readyToBecomeActive) == (STANDBY, True)
    await standby.call("monitorHealth")
    await standby.call("transitionToStandby", reqInfo={"reqSource": 0})


async def test_it_takes_over_by_itself_only(standby):
    with pytest.raises(RemoteError, match=f"takes over by itself when {ACTIVE} ends"):
        await standby.call("transitionToActive", reqInfo={"reqSource": 0})


async def test_what_administers_a_cluster_is_for_the_active_server(standby):
    with pytest.raises(RemoteError, match="StandbyException"):
        await standby.call("refreshQueues", ADMINISTRATION)


async def test_monitors_see_its_state_at_the_web_port(standby):
    info = (await standby.get("/ws/v1/cluster/info")).json()["clusterInfo"]
    assert (info["haState"], info["state"]) == ("STANDBY", "STARTED")
    xml = await standby.get("/ws/v1/cluster/info", headers={"Accept": "application/xml"})
    assert "<haState>STANDBY</haState>" in xml.text
    life = await standby.get("/isActive")
    assert (life.status_code, life.text) == (405, "I am not Active!")


async def test_other_paths_lead_to_the_active_server_or_say_that_there_is_none(standby):
    answer = await standby.get("/ws/v1/cluster/apps?states=RUNNING")
    assert answer.status_code == 307
    assert answer.headers["location"] == f"{ACTIVE}/ws/v1/cluster/apps?states=RUNNING"
    assert answer.text.startswith("This is standby RM")
    standby.active = ""
    answer = await standby.get("/cluster")
    assert (answer.status_code, answer.headers["refresh"]) == (307, "3;url=/cluster")
    assert answer.text.startswith("Can not find any active RM.")


async def test_ports_that_the_active_server_has_are_left_to_it(standby, tmp_path):
    second = Standby(tmp_path)
    second.web, second.admin, second.settings = standby.web, standby.admin, standby.settings
    async with second.running():
        assert (await standby.call("getServiceStatus")).state == STANDBY
    assert (await standby.get("/isActive")).status_code == 405
