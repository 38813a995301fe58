"""Applications that wait or were refused have Hadoop's diagnostics, with names and numbers."""

import pytest

from fairshare.core.model.inputs import KillApplication

pytestmark = pytest.mark.anyio

CAPACITY = {
    "scheduler": "capacity",
    "config": {},
    "yarn.scheduler.capacity.root.queues": "a,b",
    "yarn.scheduler.capacity.root.a.capacity": 50,
    "yarn.scheduler.capacity.root.b.capacity": 50,
    "yarn.scheduler.capacity.root.b.state": "STOPPED",
}
SMALL = {"resource": {"memory": 1024, "vCores": 1}}
NOT_YET = "Application is added to the scheduler and is not yet activated."


async def reported(yarn, name):
    return (await yarn.app(name))["diagnostics"]


@pytest.mark.parametrize(
    ("queue", "words"),
    [
        ("root", "Application {name} submitted by user : alice to non-leaf queue : root"),
        ("root.a.b", "Application {name} submitted by user alice to unknown queue: root.a.b"),
        (
            "root.b",
            "org.apache.hadoop.security.AccessControlException: Queue root.b is STOPPED. Cannot"
            " accept submission of application: {name}",
        ),
    ],
)
async def test_the_capacity_scheduler_names_the_refused_application_and_its_queue(
    start, queue, words
):
    yarn = await start(**CAPACITY)
    name = await yarn.submit(queue=queue, **SMALL)
    assert await reported(yarn, name) == words.format(name=name)


async def test_the_capacity_scheduler_reports_the_limits_for_masters(start):
    share = {"yarn.scheduler.capacity.maximum-am-resource-percent": 0.1}
    yarn = await start(**CAPACITY, **share)
    await yarn.submit(queue="root.a", **SMALL)
    name = await yarn.submit(queue="root.a", **SMALL)
    words = await reported(yarn, name)
    assert f"{NOT_YET} Queue's AM resource limit exceeded.  Details : AM Partition =" in words
    assert "AM Resource Request = <memory:1024, vCores:1>; Queue Resource Limit for AM =" in words


@pytest.mark.parametrize(
    ("limit", "holder"),
    [
        ('<queue name="a"><maxRunningApps>1</maxRunningApps></queue>', 'queue "root.a"'),
        ('<queue name="a"/><userMaxAppsDefault>1</userMaxAppsDefault>', 'user "alice"'),
    ],
)
async def test_the_fair_scheduler_names_the_limit_on_running_applications(start, limit, holder):
    yarn = await start(config={"fair-scheduler.xml": f"<allocations>{limit}</allocations>"})
    await yarn.submit(**SMALL)
    name = await yarn.submit(**SMALL)
    reached = f"The {holder} has reached the maximum limit of runnable applications."
    assert (await reported(yarn, name)).partition("] ")[2] == f"{NOT_YET} {reached}"
    await yarn.server.live.service.ask(KillApplication(1))
    assert await reported(yarn, name) == ""
