import httpx
import pytest

from fairshare.client import ContainerRequest, Driver, ServerUnreachable, TaskGroup

APPLICATION = "application_1700000000000_0007"
ENVIRONMENT = {
    "FAIRSHARE_URL": "http://127.0.0.1:8188",
    "FAIRSHARE_TOKEN": "secret",
    "FAIRSHARE_APPLICATION_ID": APPLICATION,
}


@pytest.fixture
def driver(script, transport):
    for call in ("register", "requests", "tasks", "release", "finish"):
        script.answers[f"/applications/{APPLICATION}/{call}"] = {}
    script.answers["/containers/c2/launch"] = {}
    with Driver(ENVIRONMENT, transport=transport) as driver:
        yield driver


def test_each_call_of_a_driver_carries_its_token(driver, script):
    size = {"memory-mb": 256, "vcores": 1}
    driver.register()
    driver.request(
        ContainerRequest(count=2, resources=size, hosts=("n1",), relax=False),
        ContainerRequest(count=-1, resources=size),
    )
    driver.add_tasks(TaskGroup(name="t", count=3, resources=size, command="x"))
    driver.launch("c2", "echo", "hi", environment={"A": "1"}, time_limit_ms=5)
    driver.release(["c3"])
    driver.finish(succeeded=False, diagnostics="no luck")
    here = f"/applications/{APPLICATION}"
    assert script.calls == [
        ("POST", f"{here}/register", {}),
        (
            "POST",
            f"{here}/requests",
            {
                "requests": [
                    {"count": 2, "resources": size, "hosts": ["n1"], "relax": False},
                    {"count": -1, "resources": size},
                ]
            },
        ),
        (
            "POST",
            f"{here}/tasks",
            {"tasks": [{"name": "t", "count": 3, "resources": size, "command": "x"}]},
        ),
        (
            "POST",
            "/containers/c2/launch",
            {"arguments": ["echo", "hi"], "environment": {"A": "1"}, "time_limit_ms": 5},
        ),
        ("POST", f"{here}/release", {"containers": ["c3"]}),
        ("POST", f"{here}/finish", {"succeeded": False, "diagnostics": "no luck"}),
    ]
    assert {headers["Authorization"] for headers in script.headers} == {"Bearer secret"}


def test_a_driver_sees_its_containers_and_groups(driver, script):
    here = f"/applications/{APPLICATION}"
    script.answers |= {
        f"{here}/containers": {"containers": [{"id": "c1", "state": "COMPLETE", "exit_code": 0}]},
        here: {
            "id": APPLICATION,
            "state": "RUNNING",
            "groups": [{"name": "t", "count": 3, "succeeded": 1}],
        },
    }
    (container,) = driver.containers()
    assert (container.id, container.over, container.failed) == ("c1", True, False)
    assert driver.application().groups[0].succeeded == 1


def test_a_driver_goes_over_to_the_other_server_that_it_knows(tmp_path):
    urls = "http://host1:8188,http://host2:8188"
    environment = {**ENVIRONMENT, "FAIRSHARE_URL": urls, "FAIRSHARE_STATE": str(tmp_path)}
    asked = []

    def answer(request):
        asked.append(request.url.host)
        if request.url.host == "host1":
            raise httpx.ConnectError("refused")
        return httpx.Response(200, json={})

    with Driver(environment, transport=httpx.MockTransport(answer)) as driver:
        driver.register()
        driver.finish()
    assert asked == ["host1", "host2", "host2"]


@pytest.mark.parametrize("missing", ENVIRONMENT)
def test_a_driver_outside_of_a_container_says_how_to_start_one(missing):
    environment = {name: value for name, value in ENVIRONMENT.items() if name != missing}
    with pytest.raises(ServerUnreachable, match=f"{missing} not set.*fairshare submit --driver"):
        Driver(environment)
