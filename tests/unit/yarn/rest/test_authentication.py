"""Where a proof is asked for, YARN's interface too shows and changes only what is the caller's."""

import httpx
import msgspec
import pytest
from tests.manual_engine import ManualEngine
from tests.unit.yarn.rest.conftest import ALLOCATIONS
from tests.unit.yarn.rest.test_master_pages import MasterServer, listening

from fairshare.core.model.inputs import NodeBeat, NodeJoined, UpdateShares
from fairshare.server.access.tokens import UserTokens
from fairshare.server.server import LiveServer
from fairshare.server.settings import Overrides, read_settings
from fairshare.server.web.app import build_app
from fairshare.settings.shell import AuthenticationSettings
from fairshare.yarn.rest.answering import YarnRoute
from fairshare.yarn.rest.interface import BASE, yarn_routes

pytestmark = pytest.mark.anyio

SECRETS = ("sleep 4711", "x-secret-variable")
"""What stands in nobody's answer but the owner's: his command, his environment."""

_PUBLIC = """
    id user name queue state finalStatus progress trackingUI trackingUrl diagnostics clusterId
    applicationType applicationTags priority startedTime launchTime finishedTime elapsedTime
    memorySeconds vcoreSeconds resourceSecondsMap preemptedResourceMB preemptedResourceVCores
    numNonAMContainerPreempted numAMContainerPreempted preemptedMemorySeconds
    preemptedVcoreSeconds preemptedResourceSecondsMap logAggregationStatus unmanagedApplication
    appNodeLabelExpression amNodeLabelExpression timeouts allocatedMB allocatedVCores reservedMB
    reservedVCores runningContainers queueUsagePercentage clusterUsagePercentage
    masterNodeId
"""
PUBLIC = frozenset(_PUBLIC.split())
"""The fields of an application that Hadoop sends to everybody; those of use are empty then."""


class Cluster:
    """A server that asks for tokens, one application of ann's, and clients."""

    def __init__(self, live: LiveServer) -> None:
        self.live = live
        self.app = build_app(live)
        self.tokens = UserTokens(live.directory.path)
        self.epoch_ms = live.service.state.epoch_ms

    def client(self, user=None, **more):
        token = self.tokens.create(user, 0, **more) if user else None
        return self.with_token(token)

    def with_token(self, token):
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        return httpx.AsyncClient(
            transport=httpx.ASGITransport(self.app, raise_app_exceptions=False),
            base_url="http://localhost:8088",
            headers=headers,
        )

    async def submitted(self, user, **spec):
        async with self.client(user) as http:
            name = (await http.post(f"{BASE}/apps/new-application")).json()["application-id"]
            command = {
                "commands": {"command": "sleep 4711"},
                "environment": {"entry": [{"key": "X", "value": "x-secret-variable"}]},
                **spec,
            }
            body = {"application-id": name, "queue": "root.a", "am-container-spec": command}
            assert (await http.post(f"{BASE}/apps", json=body)).status_code == 202
        await self.live.service.ask(UpdateShares())
        await self.live.service.ask(NodeBeat("n1"))
        return name

    @property
    def container(self):
        return f"container_{self.epoch_ms}_0001_01_000001"

    @property
    def attempt(self):
        return f"appattempt_{self.epoch_ms}_0001_000001"


@pytest.fixture
async def cluster(tmp_path, anyio_backend):
    conf = tmp_path / "conf"
    conf.mkdir()
    (conf / "fair-scheduler.xml").write_text(ALLOCATIONS)
    overrides = Overrides(port=0, state_directory=tmp_path / "state", scheduler="fair")
    settings = msgspec.structs.replace(
        read_settings(conf, overrides), authentication=AuthenticationSettings(tokens=True)
    )
    engine = ManualEngine(tmp_path / "containers", starts=False, stops=False)
    live = LiveServer(settings, lambda settings, path: engine)
    await live.start("http://localhost:8088")
    await live.service.ask(NodeJoined("n1", (8192, 8)))
    yield Cluster(live)
    await live.close()


def yarn_paths():
    """Every path of the interface with the methods that it takes."""
    for route in yarn_routes():
        if isinstance(route, YarnRoute):
            yield route.path, tuple(route._handlers)
        for inner in getattr(route, "routes", ()) or ():
            if isinstance(inner, YarnRoute) and not inner.path.endswith("/"):
                yield BASE + inner.path, tuple(inner._handlers)


def filled(path, cluster, name):
    return path.format_map(
        {
            "application": name,
            "attempt": cluster.attempt,
            "container": cluster.container,
            "command": "FORCEFUL_SHUTDOWN",
            "node": "n1:45454",
            "queue": "root.a",
            "type": "LIFETIME",
        }
    )


async def test_without_a_proof_no_path_answers(cluster):
    name = await cluster.submitted("ann")
    async with cluster.client() as nobody:
        for path, methods in yarn_paths():
            for method in methods:
                answer = await nobody.request(
                    method, filled(path, cluster, name) + "?user.name=ann"
                )
                assert answer.status_code == 401, (method, path)


async def test_other_users_see_only_the_public_part_of_an_application(cluster):
    name = await cluster.submitted("ann")
    async with cluster.client("ann") as ann, cluster.client("bob") as bob:
        mine = (await ann.get(f"{BASE}/apps/{name}")).json()["app"]
        assert "amContainerLogs" in mine
        assert mine["allocatedMB"] > 0
        seen = 0
        for path, methods in yarn_paths():
            if "GET" not in methods:
                continue
            for query in ("", "?groupBy=diagnostic", "?deSelects=none"):
                answer = await bob.get(filled(path, cluster, name) + query)
                seen += answer.status_code == 200
                assert cluster.container not in answer.text, path
                assert not [word for word in SECRETS if word in answer.text], path
        assert seen > 40
        theirs = (await bob.get(f"{BASE}/apps/{name}")).json()["app"]
        listed = (await bob.get(f"{BASE}/apps")).json()["apps"]["app"][0]
    assert set(theirs) <= PUBLIC
    growing = {"memorySeconds", "vcoreSeconds", "resourceSecondsMap"}  # with the clock
    assert {k: v for k, v in listed.items() if k not in growing} == {
        k: v for k, v in theirs.items() if k not in growing
    }
    for field in ("allocatedMB", "startedTime", "runningContainers"):
        assert theirs.get(field, 0) in (0, -1)


async def test_users_cannot_change_applications_of_others(cluster):
    name = await cluster.submitted("ann")
    async with cluster.client("bob") as bob:
        bodies = {
            "state": {"state": "KILLED"},
            "queue": {"queue": "root.b"},
            "priority": {"priority": 3},
            "timeout": {"timeout": {"type": "LIFETIME", "expiryTime": "2099-01-01T00:00:00Z"}},
        }
        for what, body in bodies.items():
            answer = await bob.put(f"{BASE}/apps/{name}/{what}", json=body)
            assert (answer.status_code, what) == (403, what), answer.text
            claims = await bob.put(f"{BASE}/apps/{name}/{what}?user.name=ann", json=body)
            assert claims.status_code == 403
        stop = f"{BASE}/containers/{cluster.container}/signal/FORCEFUL_SHUTDOWN"
        assert (await bob.post(stop)).status_code == 500  # Hadoop's word for it
    application = cluster.live.service.state.applications[1]
    assert not application.over
    assert (application.queue, application.expires_ms) == ("root.a", None)


async def test_only_administrators_change_the_cluster(cluster):
    await cluster.submitted("ann")
    changes = {
        ("PUT", "/scheduler-conf"): {"global-updates": {}},
        ("POST", "/scheduler-conf/validate"): {"global-updates": {}},
        ("GET", "/scheduler-conf"): None,
        ("GET", "/scheduler-conf/format"): None,
        ("POST", "/nodes/n1:8088/resource"): {"resource": {"memory": 1, "vCores": 1}},
        ("POST", "/add-node-labels"): {"nodeLabelInfo": [{"name": "x"}]},
        ("POST", "/nodes/n1:8088/replace-labels?labels=x"): {},
        ("POST", "/remove-node-labels?labels=x"): {},
        ("POST", "/replace-node-to-labels"): {"nodeToLabels": []},
    }
    before = cluster.live.service.version
    async with cluster.client("bob") as bob:
        for (method, path), body in changes.items():
            answer = await bob.request(method, BASE + path, json=body)
            assert answer.status_code in (400, 401, 403), (method, path, answer.text)
    assert cluster.live.service.version == before
    assert cluster.live.service.state.nodes["n1"].total == (8192, 8)
    async with cluster.client("root", administrator=True) as root:
        body = {"resource": {"memory": 4096, "vCores": 4}}
        answer = await root.post(f"{BASE}/nodes/n1:8088/resource", json=body)
        assert answer.status_code == 200, answer.text
    assert cluster.live.service.state.nodes["n1"].total == (4096, 4)


async def test_the_lists_of_an_application_open_it(cluster):
    acls = {"entry": [{"key": "VIEW_APP", "value": "bob"}, {"key": "MODIFY_APP", "value": "carl"}]}
    name = await cluster.submitted("ann", **{"application-acls": acls})
    path = f"{BASE}/apps/{name}"
    async with cluster.client("bob") as bob, cluster.client("carl") as carl:
        assert "amContainerLogs" in (await bob.get(path)).json()["app"]
        assert (await bob.put(f"{path}/state", json={"state": "KILLED"})).status_code == 403
        assert "amContainerLogs" not in (await carl.get(path)).json()["app"]
        assert (await carl.put(f"{path}/state", json={"state": "KILLED"})).status_code == 202


async def test_the_lists_of_an_application_open_it_in_the_other_interface_too(cluster):
    acls = {"entry": [{"key": "VIEW_APP", "value": "bob"}, {"key": "MODIFY_APP", "value": "carl"}]}
    path = f"/api/v1/applications/{await cluster.submitted('ann', **{'application-acls': acls})}"
    async with cluster.client("bob") as bob, cluster.client("carl") as carl:
        for part in ("", "/tasks", "/containers", "/reasons"):
            assert (await bob.get(path + part)).status_code == 200, part
            assert (await carl.get(path + part)).status_code == 403, part
        for call, body in (("kill", {}), ("priority", {"priority": 2}), ("move", {"queue": "b"})):
            assert (await bob.post(f"{path}/{call}", json=body)).status_code == 403, call
        answer = await carl.post(f"{path}/priority", json={"priority": 2})
        assert answer.json().get("code") != "access-denied", answer.text
        assert (await carl.post(f"{path}/kill", json={})).json()["state"] == "KILLED"
    async with cluster.client("dora") as dora:
        assert (await dora.get(path)).status_code == 403


async def test_logs_are_shown_only_to_users_that_may_view_the_application(cluster):
    name = await cluster.submitted("ann")
    files = cluster.live.container_files(1 << 40 | 1 << 24 | 1)
    container = next(iter(cluster.live.service.state.applications[1].containers))
    files = cluster.live.container_files(container)
    files.path.mkdir(parents=True)
    files.stdout.write_text("what ann computed")
    logs = f"/node/containerlogs/{cluster.container}/ann"
    async with cluster.client("ann") as ann, cluster.client("bob") as bob:
        assert "what ann computed" in (await ann.get(logs)).text
        for path in (logs, f"{logs}?user.name=ann", f"/proxy/{name}/"):
            assert (await bob.get(path)).status_code == 403, path


async def test_the_pages_of_anothers_master_are_shown_in_a_sandbox(cluster):
    acls = {"entry": [{"key": "VIEW_APP", "value": "bob"}]}
    name = await cluster.submitted("ann", **{"application-acls": acls})
    master = MasterServer()
    async with listening(master), cluster.client("ann") as ann, cluster.client("bob") as bob:
        attempt = cluster.live.projections.attempts.of(1).attempt
        attempt.tracking_url, attempt.node = f"http://{master.address}", "n1"
        for client, sandboxed in ((ann, False), (bob, True)):
            page = await client.get(f"/proxy/{name}/")
            assert page.text == "two executors"
            policy = page.headers.get("content-security-policy", "")
            assert policy.startswith("sandbox ") == sandboxed
        refused = await bob.post(f"/proxy/{name}/kill")
        assert refused.status_code == 403
        assert [method for method, _ in master.asked] == ["GET", "GET"]


async def test_only_an_administrator_acts_for_another(cluster):
    who = f"{BASE}/userinfo"
    async with cluster.client("bob") as bob:
        for query in ("?user.name=ann", "?doAs=ann", "?DOAS=ann", "?user.name=bob&doas=ann"):
            answer = await bob.get(who + query)
            assert answer.status_code == 403, query
            assert "not allowed to impersonate ann" in answer.text
        same = await bob.get(who + "?user.name=bob")
        assert same.json()["requestedUser"] == "bob"
        assert "set-cookie" not in same.headers
    async with cluster.client("root", administrator=True) as root:
        assert (await root.get(who + "?doAs=ann")).json()["requestedUser"] == "ann"
        # Who acts for another has his rights, and no more.
        answer = await root.get(f"{BASE}/scheduler-conf/version?doAs=ann")
        assert answer.status_code == 403


async def test_a_drivers_token_opens_its_own_application_and_nothing_else(cluster):
    mine, others = await cluster.submitted("ann"), await cluster.submitted("ann")
    application = cluster.live.service.state.applications[1]
    token = cluster.live.tokens.issue(application.id, application.attempt.number)
    async with cluster.with_token(token) as driver:
        assert (await driver.get(f"{BASE}/apps/{mine}")).status_code == 200
        assert (await driver.get(f"{BASE}/apps/{mine}/appattempts")).status_code == 200
        open_paths = 0
        for path, methods in yarn_paths():
            for method in methods:
                answer = await driver.request(method, filled(path, cluster, others))
                own_container = path.startswith(f"{BASE}/containers/")
                open_paths += answer.status_code != 403
                assert answer.status_code == 403 or own_container, (method, path)
        assert open_paths <= 1
        swapped = f"{BASE}/apps/{mine}/appattempts/{cluster.attempt.replace('_0001_', '_0002_')}"
        assert (await driver.get(swapped)).status_code == 404
