"""What the driver of an application may do, with its token only."""

import msgspec
import pytest

from fairshare.core.model.identifiers import container_name
from fairshare.core.model.resources import MEMORY, VCORES

pytestmark = pytest.mark.anyio


class Driver:
    """The driver of one application: its calls carry its token."""

    def __init__(self, page, name: str, master: int) -> None:
        self.page = page
        self.name = name
        self.master = master
        token = page.engine.orders[master].environment["FAIRSHARE_TOKEN"]
        self.headers = {"Authorization": f"Bearer {token}"}

    async def call(self, verb: str, **body: object):
        path = f"/applications/{self.name}/{verb}"
        return await self.page.post(path, json=body, headers=self.headers)

    async def containers(self, state: str) -> list[str]:
        answer = await self.page.get(f"/applications/{self.name}/containers")
        return [
            container["id"]
            for container in answer.json()["containers"]
            if container["state"] == state and not container["master"]
        ]


async def a_driver(page) -> Driver:
    count = len(page.engine.orders)
    name = await page.submit(
        queue="a", driver={"command": "drive"}, master={"resources": {MEMORY: 256}}
    )
    return Driver(page, name, (await page.launched(count + 1))[-1])


async def test_a_driver_asks_launches_releases_and_finishes(page):
    driver = await a_driver(page)
    order = page.engine.orders[driver.master]
    assert (order.command.arguments, order.memory_mb) == (("/bin/sh", "-c", "drive"), 256)
    assert order.environment["FAIRSHARE_APPLICATION_ID"] == driver.name
    answer = await driver.call("register")
    assert (answer.status_code, answer.json()["state"]) == (200, "RUNNING")
    assert answer.json()["kind"] == "driver"

    wish = {"count": 2, "resources": {MEMORY: 512, VCORES: 1}}
    assert (await driver.call("requests", requests=[wish])).status_code == 200
    application = page.server.service.state.applications[1]
    await page.until(lambda: len(application.containers) == 3)
    first, second = await driver.containers("ALLOCATED")

    answer = await page.post(
        f"/containers/{first}/launch",
        json={"arguments": ["work"], "environment": {"A": "1"}, "time_limit_ms": 5_000},
        headers=driver.headers,
    )
    assert answer.status_code == 200, answer.text
    launched = (await page.launched(2))[1]
    order = page.engine.orders[launched]
    assert (order.command.arguments, order.command.environment) == (("work",), {"A": "1"})
    assert order.time_limit_ms == 5_000

    answer = await driver.call("release", containers=[second])
    assert (answer.status_code, answer.json()["used"][MEMORY]) == (200, 768)
    answer = await driver.call("finish", succeeded=True, diagnostics="all done")
    assert (answer.json()["state"], answer.json()["diagnostics"]) == ("FINISHED", "all done")
    assert launched in page.engine.stopped


async def test_a_driver_submits_tasks_to_the_manager(page):
    driver = await a_driver(page)
    await driver.call("register")
    answer = await driver.call("tasks", tasks=[{"name": "map", "count": 2, "command": "map"}])
    assert (answer.status_code, answer.json()["progress"]["total"]) == (200, 2)
    answer = await driver.call("tasks", tasks=[{"name": "map", "command": "again"}])
    assert (answer.status_code, answer.json()["code"]) == (400, "bad-request")
    answer = await driver.call(
        "tasks", tasks=[{"name": "reduce", "command": "reduce", "after": ["map"]}]
    )
    assert answer.status_code == 200


DRIVERS_CALLS = [
    ("register", {}),
    ("requests", {"requests": [{"count": 1}]}),
    ("tasks", {"tasks": [{"command": "x"}]}),
    ("release", {"containers": ["x"]}),
    ("finish", {}),
]


@pytest.mark.parametrize(("verb", "body"), DRIVERS_CALLS, ids=[verb for verb, _ in DRIVERS_CALLS])
async def test_without_the_right_token_a_driver_can_do_nothing(page, verb, body):
    driver, other = await a_driver(page), await a_driver(page)
    version = page.server.service.version
    path = f"/applications/{driver.name}/{verb}"
    answer = await page.post(path, json=body)
    assert (answer.status_code, answer.json()["code"]) == (401, "no-token")
    assert answer.headers["www-authenticate"] == "Bearer"
    for header in ("Basic abc", "Bearer", "Bearer "):
        answer = await page.post(path, json=body, headers={"Authorization": header})
        assert answer.status_code == 401
    for headers in (other.headers, {"Authorization": "Bearer nonsense"}):
        answer = await page.post(path, json=body, headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (403, "wrong-token")
    assert page.server.service.version == version


async def test_the_container_of_another_application_cannot_be_launched(page):
    driver, other = await a_driver(page), await a_driver(page)
    await driver.call("register")
    await driver.call("requests", requests=[{"count": 1}])
    application = page.server.service.state.applications[1]
    await page.until(lambda: len(application.containers) == 2)
    (granted,) = await driver.containers("ALLOCATED")
    path = f"/containers/{granted}/launch"
    assert (await page.post(path, json={"command": "x"})).status_code == 401
    answer = await page.post(path, json={"command": "x"}, headers=other.headers)
    assert answer.status_code == 403
    answer = await page.post(path, json={"command": "x"}, headers=driver.headers)
    assert answer.status_code == 200
    answer = await page.post(path, json={"command": "x"}, headers=driver.headers)
    assert (answer.status_code, answer.json()["code"]) == (409, "already-launched")


async def test_the_token_of_a_driver_that_failed_opens_nothing_any_more(page):
    first = await a_driver(page)
    page.engine.end(first.master, 1)
    second = Driver(page, first.name, (await page.launched(2))[1])
    assert (await first.call("register")).status_code == 403
    assert (await second.call("register")).status_code == 200


async def test_asking_before_registering_and_after_the_end_is_refused(page):
    driver = await a_driver(page)
    wish = {"requests": [{"count": 1}]}
    answer = await driver.call("requests", **wish)
    assert (answer.status_code, answer.json()["code"]) == (409, "not-running")
    await driver.call("register")
    await driver.call("finish")
    assert (await driver.call("requests", **wish)).status_code == 409


async def test_containers_to_release_must_be_ones_own_and_of_this_cluster(page):
    driver, other = await a_driver(page), await a_driver(page)
    await driver.call("register")
    foreign = container_name(page.server.service.state.epoch_ms, other.master)
    answer = await driver.call("release", containers=[foreign])
    assert answer.status_code in (404, 409)
    answer = await driver.call("release", containers=["container_1_0001_01_000001"])
    assert (answer.status_code, answer.json()["code"]) == (404, "unknown-container")


async def test_what_a_driver_launches_counts_for_its_user_while_it_runs(page):
    driver = await a_driver(page)
    await driver.call("register")
    handed_in = page.server.active_counts.submitted_bytes
    before = handed_in.size(page.server.service.state.applications[1].user)
    await driver.call("requests", requests=[{"count": 2, "resources": {MEMORY: 128}}])
    application = page.server.service.state.applications[1]
    await page.until(lambda: len(application.containers) == 3)
    first, second = await driver.containers("ALLOCATED")

    async def launch(container):
        environment = {f"V{number}": "x" * 100_000 for number in range(10)}
        body = {"arguments": ["work"], "environment": environment}
        path = f"/containers/{container}/launch"
        return await page.post(path, json=body, headers=driver.headers)

    limits = msgspec.structs.replace(
        page.server.settings.limits, user_mb=1, environment_kb=2_000, body_mb=8
    )
    page.server.settings = msgspec.structs.replace(page.server.settings, limits=limits)
    assert (await launch(first)).status_code == 200
    assert handed_in.size(application.user) - before > 1_000_000
    answer = await launch(second)
    assert (answer.status_code, answer.json()["code"]) == (429, "too-much-handed-in")
    (running,) = (await page.launched(2))[1:]
    page.engine.end(running)
    await page.until(lambda: running not in application.containers)
    assert handed_in.size(application.user) == before
    assert (await launch(second)).status_code == 200
