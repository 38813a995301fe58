"""Lists in parts, sorted and filtered by the server, now and in the past."""

import asyncio
from types import SimpleNamespace

import pytest

from fairshare.core.model.identifiers import application_of
from fairshare.core.model.inputs import NodeJoined
from fairshare.errors import InputError
from fairshare.server.past_views import PastView, PastViews
from fairshare.server.web.queues import queue_called

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def moments(page):
    """Moments of the test alone: a thread of the server takes its own down, maybe later than it
    looked."""
    page.server.past_views = PastViews(page.server.started_ms)


async def submit(page, name: str, queue: str = "a", count: int = 1, **more: object) -> str:
    group = {"command": "x", "count": count, "resources": {"memory-mb": 1024}}
    return await page.submit(name=name, queue=queue, tasks=[group], **more)


async def names(page, **parameters: object) -> list[str]:
    answer = await page.get("/applications", params=parameters)
    assert answer.status_code == 200, answer.text
    return [row["name"] for row in answer.json()["applications"]]


async def remember(page) -> int:
    """Take a moment down as it is now; its instant."""
    server = page.server
    before = server.past_views.instant(2**62) or 0
    at_ms = max(before + 1, server.service.now_ms())
    views = server.service.views
    moment = PastView(at_ms, views.version, views.cluster, views.queues)
    server.past_views.add(moment, server.application_rows.all(), server.node_rows.all())
    while server.service.now_ms() <= at_ms:  # what comes in the same millisecond is of it, too
        await asyncio.sleep(0.001)
    return at_ms


async def test_a_part_has_counts_of_all(page):
    for n in range(7):
        await submit(page, f"app {n}", "a" if n % 2 else "b")
    await page.launched(4)
    answer = (await page.get("/applications", params={"limit": 3, "offset": 2})).json()
    assert [row["name"] for row in answer["applications"]] == ["app 4", "app 3", "app 2"]
    part = answer["page"]
    assert (part["matching"], part["known"], part["containers"]) == (7, 7, 4)
    assert part["counts"] == {
        "all": 7, "waiting": 3, "running": 4, "finished": 0, "failed": 0, "killed": 0,
    }  # fmt: skip
    assert "page" not in (await page.get("/applications", params={"limit": 3})).json()


async def test_filters_are_of_state_user_queue_and_text(page):
    first = await submit(page, "Night", "a", user="ann")
    await submit(page, "day", "b", user="ben")
    await page.launched(2)
    await page.post(f"/applications/{first}/kill", json={})
    assert await names(page, only="killed") == ["Night"]
    assert await names(page, only="alive") == ["day"]
    assert await names(page, user="ben") == ["day"]
    assert await names(page, queue="root.a") == ["Night"]
    assert await names(page, queue="root") == []
    assert await names(page, below="root") == ["day", "Night"]
    assert await names(page, below="root.a", state="KILLED") == ["Night"]
    assert await names(page, search="nigh") == ["Night"]
    assert await names(page, search=first) == ["Night"]
    assert (await page.get("/pages/applications/choices")).json() == {
        "users": ["ann", "ben"], "queues": ["root.a", "root.b"],
    }  # fmt: skip


async def test_what_has_not_ended_can_come_first_each_the_newest_first(page):
    for name in ("old", "gone", "later", "gone too"):
        await submit(page, name)
    await page.launched(4)
    history = page.server.projections.history
    for container in sorted(page.engine.orders, key=application_of)[1::2]:
        page.engine.end(container)
        await page.until(
            lambda container=container: history.container(container).finished_ms is not None
        )
    assert await names(page, sort="alive", offset=0) == ["later", "old", "gone too", "gone"]
    assert await names(page, sort="-alive", offset=0) == ["gone too", "gone", "later", "old"]
    assert await names(page, sort="alive", offset=1, limit=2) == ["old", "gone too"]


async def test_rows_keep_the_place_of_an_order_that_has_a_name(page):
    for name, count in (("small", 1), ("large", 2)):
        await submit(page, name, count=count)
    await page.launched(3)
    wish = {"sort": "-containers", "order": "mine"}
    assert await names(page, **wish) == ["large", "small"]
    large = max(page.engine.orders, key=application_of)
    page.engine.end(large)
    await page.until(
        lambda: page.server.projections.history.container(large).finished_ms is not None
    )
    await submit(page, "new", count=2)
    await page.launched(5)
    assert await names(page, **wish) == ["large", "small", "new"]
    assert (await names(page, sort="-containers", order="another"))[0] == "new"
    assert (await names(page, sort="-containers"))[0] == "new"


async def test_a_row_is_that_of_the_application_itself(page):
    name = await submit(page, "one", count=6, user="ann")
    await page.launched(4)
    (row,) = (await page.get("/applications", params={"offset": 0})).json()["applications"]
    whole = (await page.get(f"/applications/{name}")).json()
    whole["containers"] = len(whole["containers"])
    assert row == {field: whole[field] for field in row}


async def test_a_past_moment_has_what_was_there_then(page):
    name = await submit(page, "old", count=2, user="ann")
    await page.launched(2)
    then = await remember(page)
    await page.post(f"/applications/{name}/kill", json={})
    await submit(page, "new")
    await page.launched(3)
    await remember(page)
    past = (await page.get("/applications", params={"at": then, "offset": 0})).json()
    (row,) = past["applications"]
    assert (row["name"], row["state"], row["containers"]) == ("old", "RUNNING", 2)
    assert past["page"]["at_ms"] == then
    assert row["used"] == {"memory-mb": 2048, "vcores": 2}
    one = (await page.get(f"/applications/{name}", params={"at": then})).json()
    assert one["at_ms"] == then
    assert (one["state"], one["containers"], one["progress"]["running"]) == ("RUNNING", 2, 2)
    node = (await page.get("/nodes/n1", params={"at": then})).json()
    assert (node["containers"], node["used"]["memory-mb"], node["forgotten"]) == (2, 2048, 0)
    assert [(row["name"], row["user"]) for row in node["running"]] == [("old", "ann")] * 2
    nodes = (await page.get("/nodes", params={"at": then, "offset": 0})).json()
    assert (nodes["page"]["containers"], nodes["nodes"][0]["used"]["vcores"]) == (2, 2)
    marks = (await page.get("/pages/node-map", params={"at": then, "by": "vcores"})).json()
    assert (marks["names"], marks["used"], marks["totals"]) == (["n1"], [2], [4])


async def test_what_was_not_there_yet_or_is_not_remembered_is_said(page):
    then = await remember(page)
    name = await submit(page, "later")
    later = await page.get(f"/applications/{name}", params={"at": then})
    assert (later.status_code, later.json()["code"]) == (404, "unknown-application")
    paths = ("/applications", "/nodes", "/pages/node-map", "/nodes/n1", f"/applications/{name}")
    for path in paths:
        answer = await page.get(path, params={"at": 5})
        assert (answer.status_code, answer.json()["code"]) == (404, "unknown-moment"), path
    gone = await page.get("/nodes/n9", params={"at": then})
    assert (gone.status_code, gone.json()["code"]) == (404, "unknown-node")


async def test_nodes_are_sorted_filtered_and_counted(page):
    for n in range(3):
        await page.server.service.ask(
            NodeJoined(f"x{n}", (1024 * (n + 1), 1 + n), "/r2", {"gpu": f"kind-{n}"})
        )
    await page.post("/admin/nodes/drain", json={"nodes": ["x1"]})

    async def look(**parameters: object) -> list[str]:
        answer = (await page.get("/nodes", params=parameters)).json()
        return [row["name"] for row in answer["nodes"]]

    assert await look(sort="-name") == ["x2", "x1", "x0", "n1"]
    assert await look(search="KIND-2") == ["x2"]
    assert await look(only="draining") == ["x1"]
    assert await look(offset=1, limit=2) == ["x0", "x1"]
    answer = (await page.get("/nodes", params={"search": "/r2", "offset": 0})).json()["page"]
    assert (answer["known"], answer["matching"], answer["counts"]["draining"]) == (4, 3, 1)


@pytest.mark.parametrize(
    ("path", "wrong"),
    [
        ("/applications", {"only": "sleeping"}),
        ("/applications", {"sort": "colour"}),
        ("/applications", {"limit": "0"}),
        ("/applications", {"search": "x" * 1_001}),
        ("/nodes", {"only": "broken"}),
        ("/pages/node-map", {"by": "colour"}),
        ("/nodes/n1", {"at": "yesterday"}),
    ],
)
async def test_the_refusal_of_a_wrong_parameter_names_it(page, path, wrong):
    answer = await page.get(path, params=wrong)
    assert answer.status_code == 400
    assert next(iter(wrong)) in answer.json()["message"]


async def test_a_line_is_the_same_object_as_long_as_nothing_changed(page):
    await submit(page, "one", "a")
    await submit(page, "two", "b")
    history = page.server.projections.history
    started = await page.launched(2)
    await page.until(lambda: all(history.container(one).state == "RUNNING" for one in started))
    applications, nodes = page.server.application_rows, page.server.node_rows
    one, two = applications.all().values()
    (node,) = nodes.all().values()
    await page.post("/applications/1/kill", json={})
    after = list(applications.all().values())
    assert after[0] is not one
    assert after[0].state == "KILLED"
    assert after[1] is two
    await page.until(lambda: next(iter(nodes.all().values())).containers == 1)
    assert next(iter(nodes.all().values())) is not node


async def test_the_answer_explains_what_a_queue_is_owed(page):
    await submit(page, "greedy", "a", count=4)
    await page.launched(4)
    waiting = await submit(page, "late", "b", count=9)
    answer = (await page.get("/queues/root.b/owed")).json()
    assert (answer["type"], answer["owed"]) == ("memory-mb", 2048)
    (part,) = answer["parts"]
    assert (part["kind"], part["amount"], part["first"]) == ("lender", 2048, waiting)
    assert part["sentence"].startswith("No node has 1,024 MB, 1 vcore free")
    assert part["remedy"].startswith("It starts when ")
    assert answer["sentence"].startswith("Receives 0 GiB of the 2 GiB it is entitled to")
    assert answer["holders"] == [{"queue": "root.a", "amount": 2048}]
    assert 0 < answer["since_ms"] <= page.server.service.now_ms()
    assert (await page.get("/queues/b/owed")).json()["queue"] == "root.b"
    whole = (await page.get("/queues/root/owed")).json()
    assert (whole["owed"], whole["parts"], whole["since_ms"]) == (0, [], None)
    assert (await page.get("/queues/root.c/owed")).status_code == 404


def test_a_queue_is_found_by_the_last_part_of_its_name_if_no_other_has_it():
    names = ("root", "root.dev", "root.dev.a", "root.dev.web", "root.ops.a", "root.a.web")
    queues = [SimpleNamespace(name=name) for name in names]
    assert queue_called("dev", queues).name == "root.dev"
    assert queue_called("dev.a", queues).name == queue_called("root.dev.a", queues).name
    assert queue_called("a.web", queues).name == "root.a.web"
    with pytest.raises(InputError, match=r"'web' is the end of root\.dev\.web, root\.a\.web: name"):
        queue_called("web", queues)
    with pytest.raises(InputError, match="there is no queue 'eb' here"):
        queue_called("eb", queues)
    assert queue_called("web", queues[:-1]).name == "root.dev.web"


async def test_the_names_of_the_queues_are_listed_without_their_shares(page):
    assert (await page.get("/pages/queues")).json()["queues"] == [
        {"name": "root", "parent": "", "leaf": False},
        {"name": "root.a", "parent": "root", "leaf": True},
        {"name": "root.b", "parent": "root", "leaf": True},
    ]
