"""What stands beside YARN's REST interface on its port."""

import fnmatch
import logging
from xml.etree import ElementTree

import pytest
from tests.unit.yarn.rest.conftest import ALLOCATIONS

pytestmark = pytest.mark.anyio


async def test_the_way_to_a_master_leads_to_what_it_named(yarn):
    name = await yarn.submit()
    answer = await yarn.server.http.get(f"/proxy/{name}/")
    assert (answer.status_code, answer.headers["location"]) == (302, f"/cluster/app/{name}")
    yarn.server.gateway.attempt_history.of(1).attempt.tracking_url = "http://n1:4040/"
    answer = await yarn.server.http.get(f"/proxy/{name}/")
    assert answer.headers["location"] == "http://n1:4040/"
    yarn.server.gateway.attempt_history.of(1).attempt.tracking_url = "javascript:alert(1)"
    answer = await yarn.server.http.get(f"/proxy/{name}/")
    assert answer.headers["location"] == f"/cluster/app/{name}"


@pytest.mark.parametrize("path", ["/cluster", "/cluster/"])
async def test_the_bookmark_of_a_browser_leads_to_the_applications(yarn, path):
    browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
    answer = await yarn.server.http.get(path, headers={"Accept": browser})
    assert (answer.status_code, answer.headers["location"]) == (302, "/cluster/apps")
    java = "text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2"
    for accepted in (java, "*/*"):
        probed = await yarn.server.http.get(path, headers={"Accept": accepted})
        assert probed.status_code == 200
        assert "All Applications" in probed.text


async def beans(yarn, query=""):
    answer = await yarn.server.http.get(f"/jmx{query}")
    assert answer.headers["content-type"] == "application/json; charset=utf8"
    return {bean["name"].removeprefix(MANAGER): bean for bean in answer.json()["beans"]}


MANAGER = "Hadoop:service=ResourceManager,name="


async def test_beans_are_found_by_name(yarn):
    found = await beans(yarn, f"?qry={MANAGER}C*")
    assert [bean["NumActiveNMs"] for bean in found.values()] == [1]
    queues = {f"QueueMetrics,q0=root{more}" for more in ("", ",q1=a", ",q1=b")}
    assert queues < set(await beans(yarn))
    assert set(await beans(yarn, "?qry=Hadoop:name=QueueMetrics,*")) == queues
    assert set(await beans(yarn, "?qry=Hadoop:q1=?,service=*,q0=root,name=Q*")) == (
        queues - {"QueueMetrics,q0=root"}
    )
    assert "java.lang:type=Memory" in await beans(yarn, "?qry=java.lang:type=*")
    assert (await yarn.server.http.get("/jmx?qry=bad")).json() == {}


async def test_one_attribute_of_a_bean_is_asked_for(yarn):
    (found,) = (await beans(yarn, f"?get={MANAGER}JvmMetrics::MemHeapUsedM")).values()
    assert set(found) == {"name", "modelerType", "MemHeapUsedM"}
    assert found["MemHeapUsedM"] > 1
    (found,) = (await beans(yarn, f"?get={MANAGER}JvmMetrics::Nope")).values()
    assert found["message"] == "No attribute with name Nope was found."
    wrong = (await yarn.server.http.get("/jmx?get=nope")).json()
    assert wrong["message"] == "query format is not as expected."


@pytest.mark.parametrize("scheduler", ["fair", "capacity", "fifo"])
async def test_the_bean_of_a_queue_counts_what_is_in_it_and_below(start, scheduler):
    capacity = {"root.queues": "a,b", "root.a.capacity": "50", "root.b.capacity": "50"}
    properties = {f"yarn.scheduler.capacity.{name}": value for name, value in capacity.items()}
    config = {} if scheduler != "fair" else {"fair-scheduler.xml": ALLOCATIONS}
    properties = properties if scheduler == "capacity" else {}
    yarn = await start(scheduler=scheduler, config=config, **properties)
    queue = "root.default" if scheduler == "fifo" else "root.a"
    await yarn.submit(queue=queue)
    await yarn.submit(queue=queue, user="bob")
    await yarn.beat()
    found = await beans(yarn)
    leaf = found[f"QueueMetrics,q0=root,q1={queue.removeprefix('root.')}"]
    assert leaf["tag.Queue"] == queue
    for bean in (leaf, found["QueueMetrics,q0=root"]):
        assert (bean["AppsSubmitted"], bean["AppsCompleted"]) == (2, 0)
        assert bean["AppsRunning"] + bean["AppsPending"] == 2
        assert bean["AllocatedContainers"] == bean["AggregateContainersAllocated"] > 0
        assert bean["AllocatedMB"] > 0
        assert bean["running_0"] == bean["AppsRunning"]
        assert (bean["running_60"], bean["AggregateMemoryMBPreempted"]) == (0, 0)
    if scheduler == "capacity":
        for queue in (",q0=root,q1=a", ",q0=root", ""):
            part = found[f"PartitionQueueMetrics,partition={queue}"]
            assert part["tag.Partition"] == ""
            assert part["AllocatedMB"] == leaf["AllocatedMB"] > 0
        assert (leaf["GuaranteedCapacity"], leaf["GuaranteedMB"]) == (0.5, 4096)
        assert found["QueueMetrics,q0=root,q1=b"]["AllocatedMB"] == 0
    if scheduler == "fair":
        assert (leaf["tag.SchedulingPolicy"], leaf["MaxApps"]) == ("fair", 2**31 - 1)
        assert leaf["FairShareMB"] == 8192
    users = [bean for name, bean in found.items() if ",user=" in name]
    assert bool(users) == (scheduler == "fair")
    for bean in users:
        assert (bean["AppsSubmitted"], bean["ActiveUsers"]) == (1, bean["ActiveApplications"])
        assert bean["AllocatedMB"] > 0 or bean["AppsPending"]


async def test_beans_of_users_have_names_that_can_be_read_and_a_bound(start, monkeypatch):
    rules = '<queuePlacementPolicy><rule name="specified" create="false"/><rule name="reject"/>'
    strict = f"{rules}</queuePlacementPolicy></allocations>"
    config = {"fair-scheduler.xml": ALLOCATIONS.replace("</allocations>", strict)}
    yarn = await start(config=config)
    await yarn.submit(user="a,b=c:*")
    name = "QueueMetrics,q0=root,q1=a,user=a_b_c__"
    found = await beans(yarn, f"?qry={MANAGER}{name}")
    assert found[name]["tag.User"] == "a,b=c:*"
    await yarn.submit(user="bob")
    await yarn.submit(user="bob", queue="root.nowhere")
    assert not [one for one in await beans(yarn) if "q1=nowhere" in one]
    monkeypatch.setattr("fairshare.yarn.rest.beans.MOST_USERS", 3)
    assert len([one for one in await beans(yarn) if ",user=" in one]) == 3


async def test_the_configuration_is_shown_with_its_files_and_defaults(start):
    properties = {"yarn.resourcemanager.cluster-id": "c<1>", "hadoop.http.secret": "unseen"}
    yarn = await start(**properties)
    answer = await yarn.server.http.get("/conf")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/xml;charset=utf-8")
    root = ElementTree.fromstring(answer.content)
    found = {one.find("name").text: one for one in root}
    one = found["yarn.resourcemanager.cluster-id"]
    assert [one.find(key).text for key in ("value", "final", "source")] == [
        *("c<1>", "false", "yarn-site.xml"),
    ]
    assert found["hadoop.http.secret"].find("value").text == "<redacted>"
    name = "yarn.scheduler.minimum-allocation-mb"
    alone = (await yarn.server.http.get("/conf", params={"name": name})).content
    assert len(ElementTree.fromstring(alone)) == 1
    as_json = {"Accept": "application/json"}
    answer = await yarn.server.http.get("/conf", params={"name": name}, headers=as_json)
    assert answer.json()["property"]["value"] == found[name].find("value").text
    assert (await yarn.server.http.get("/conf?name=nope")).status_code == 404
    assert len((await yarn.server.http.get("/conf", headers=as_json)).json()["properties"]) > 20


@pytest.mark.parametrize("path", ["/jmx", "/conf", "/stacks", "/logs/", "/logLevel"])
async def test_hadoops_own_client_can_log_in_at_every_page(yarn, path):
    answer = await yarn.server.http.request("OPTIONS", path)
    assert (answer.status_code, answer.headers["allow"]) == (200, "OPTIONS,HEAD,GET")
    assert (await yarn.server.http.request("DELETE", path)).status_code == 405


async def test_threads_logs_and_levels_are_shown(yarn):
    stacks = await yarn.server.http.get("/stacks")
    assert stacks.text.startswith("Process Thread Dump: ")
    assert "MainThread" in stacks.text
    assert (await yarn.server.http.get("/logs")).headers["location"] == "/logs/"
    assert "href='server.log'" in (await yarn.server.http.get("/logs/")).text
    assert (await yarn.server.http.get("/logs/server.log")).status_code == 200
    for name in ("audit.log", "..%2Fsecret", "secret"):
        assert (await yarn.server.http.get(f"/logs/{name}")).status_code == 404
    level = "Effective Level: <b>{}</b>"
    logging.getLogger("fairshare.test-of-levels")
    shown = await yarn.server.http.get("/logLevel?log=fairshare.test-of-levels&level=ERROR")
    assert level.format("ERROR") in shown.text
    again = await yarn.server.http.get("/logLevel?log=fairshare.test-of-levels")
    assert level.format("ERROR") in again.text
    foreign = await yarn.server.http.get("/logLevel?log=root&level=DEBUG")
    assert "not that of a logger of fairshare" in foreign.text


async def test_names_that_callers_choose_stay_nowhere(yarn):
    kept = fnmatch._compile_pattern.cache_info().currsize
    for number in range(3):
        await beans(yarn, f"?qry=Hadoop:name=*{number}*a*b,*")
    assert fnmatch._compile_pattern.cache_info().currsize == kept
    for more in ("", "&level=DEBUG"):
        answer = await yarn.server.http.get(f"/logLevel?log=fairshare.no-such-logger{more}")
        assert answer.status_code == 200
    assert "not that of a logger" in answer.text
    assert "fairshare.no-such-logger" not in logging.root.manager.loggerDict


async def test_a_bookmark_of_a_state_leads_to_its_applications(yarn):
    browser = {"Accept": "text/html,application/xhtml+xml"}
    answer = await yarn.server.http.get("/cluster/apps/RUNNING", headers=browser)
    assert (answer.status_code, answer.headers["location"]) == (302, "/cluster/apps?state=RUNNING")
    assert (await yarn.server.http.get("/cluster/apps/RUNNING")).status_code == 200
    assert (await yarn.server.http.get("/cluster/apps/running")).status_code == 404


async def test_the_nodes_of_the_machine_answer_at_the_address_that_they_advertise(yarn):
    name = await yarn.submit()
    await yarn.beat()
    info = (await yarn.server.http.get("/ws/v1/node/info")).json()["nodeInfo"]
    assert (info["totalPmemAllocatedContainersMB"], info["nodeHealthy"]) == (8192, True)
    assert info == (await yarn.server.http.get("/ws/v1/node")).json()["nodeInfo"] | {
        "lastNodeUpdateTime": info["lastNodeUpdateTime"]
    }
    (application,) = (await yarn.server.http.get("/ws/v1/node/apps")).json()["apps"]["app"]
    assert (application["id"], application["user"]) == (name, "alice")
    containers = (await yarn.server.http.get("/ws/v1/node/containers")).json()["containers"]
    assert [one["id"] for one in containers["container"]] == application["containerids"]
