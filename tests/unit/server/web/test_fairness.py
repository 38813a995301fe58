"""Past usage and budgets as readers see them: queues, reasons, reports, metrics, refusals."""

import msgspec
import pytest

from fairshare.core.model.usage import Budget, Fairness
from fairshare.core.schedulers.fair.settings import FairSettings

pytestmark = pytest.mark.anyio

TASKS = [{"count": 2, "command": "true", "resources": {"memory-mb": 1024, "vcores": 1}}]
MEMORY = Budget("memory", "root.b", "", 0, 0, refuses=True)


@pytest.fixture
def server_settings(server_settings):
    fair = msgspec.json.decode(server_settings.scheduler_settings, type=FairSettings)
    fairness = Fairness(half_life_ms=7 * 86_400_000, budgets=(MEMORY,))
    fair = msgspec.structs.replace(fair, fairness=fairness)
    return msgspec.structs.replace(server_settings, scheduler_settings=msgspec.json.encode(fair))


async def test_readers_see_the_past_and_the_budgets(page):
    waiting = await page.submit(queue="root.b", tasks=TASKS)
    await page.submit(queue="root.a", tasks=TASKS)
    await page.launched(2)

    [reason] = (await page.get(f"/applications/{waiting}/reasons")).json()["reasons"]
    assert reason["cause"] == "budget-used-up"
    assert reason["budget"]["name"] == "memory"
    assert "0 MB-hours of the budget of 0 of root.b are used in this month" in reason["sentence"]

    refused = await page.post("/applications", json={"queue": "root.b", "tasks": TASKS})
    assert refused.status_code == 409, refused.text
    assert "the budget 'memory' of root.b is used up" in refused.text
    assert "or when the budget is raised ([fairness] of fairshare.toml)" in refused.text

    queues = {one["name"]: one for one in (await page.get("/queues")).json()["queues"]}
    assert queues["root.a"]["past"]["half_life_s"] == 7 * 86_400
    assert queues["root.a"]["past"]["factor"] == pytest.approx(1, abs=0.01)
    assert queues["root"]["past"]["factor"] is None
    withheld = "A budget that is used up withholds 2 GiB."
    assert queues["root.b"]["share"]["sentence"] == withheld
    assert (await page.get("/queues/root.b/owed")).json()["sentence"] == withheld
    tree = (await page.get("/pages/tree")).json()["queues"]
    assert all(one["past"] for one in tree)

    report = (await page.get("/accounting/report")).json()
    [budget] = report["budgets"]
    assert (budget["name"], budget["queue"], budget["hours"]) == ("memory", "root.b", 0.0)
    assert budget["when_used_up"] == "refuse"

    text = (await page.get("http://127.0.0.1:1/metrics")).text
    assert 'fairshare_queue_past_factor{queue="root.a"}' in text
    assert (
        'fairshare_budget_hours{budget="memory",queue="root.b",resource="memory-mb",user=""}'
        in text
    )
