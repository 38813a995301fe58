"""The queue tree as one screen shows it."""

import pytest

from fairshare.core.model.resources import ResourceTypes
from fairshare.core.schedulers.views import QueueView
from fairshare.server.insight.shares import Shares
from fairshare.server.web.queues import in_sight

pytestmark = pytest.mark.anyio


def queue(name: str, *, leaf: bool = True, used: int = 0, demand: int = 0) -> QueueView:
    none = (0, 0)
    return QueueView(
        name=name, leaf=leaf, dynamic=False, parent=name.rpartition(".")[0], children=(),
        policy="fair", used=(used, 0), reserved=none, demand=(demand, 0), pending=none,
        min_share=none, max_share=(100, 10), fair_share=(50, 5), steady_fair_share=(40, 4),
        weight=1.0, running_applications=0, pending_applications=0,
        max_running_applications=None, containers=0, reserved_containers=0, preempted=0,
        preemptable=True,
    )  # fmt: skip


QUEUES = (
    queue("root", leaf=False),
    queue("root.a", leaf=False),
    queue("root.a.deep", leaf=False),
    queue("root.a.deep.one", used=1, demand=40),
    queue("root.a.deep.two"),
    queue("root.a.late"),
    queue("root.b", leaf=False),
    queue("root.b.one"),
)
FIRST = ["root", "root.a", "root.b"]


def sight(folds=(), search="", selected="", *, below=False) -> list[str]:
    reckoned = Shares(QUEUES, (100, 10), ResourceTypes())
    shares = {one.name: reckoned.of(one) for one in QUEUES}
    found = in_sight(QUEUES, shares, folds=folds, search=search, below=below, selected=selected)
    return [one.name for one in QUEUES if one.name in found]


def test_the_first_level_is_in_sight_and_what_was_opened():
    assert sight() == FIRST
    assert sight(["root.a"]) == ["root", "root.a", "root.a.deep", "root.a.late", "root.b"]
    assert "root.a.deep.one" in sight(["root.a", "root.a.deep"])
    assert sight(["root.a.deep"]) == FIRST


def test_what_is_looked_for_comes_with_all_above_it():
    assert sight(search="one") == [
        "root", "root.a", "root.a.deep", "root.a.deep.one", "root.b", "root.b.one",
    ]  # fmt: skip
    assert sight(search="deep.t") == ["root", "root.a", "root.a.deep", "root.a.deep.two", "root.b"]


def test_those_below_their_share_come_with_all_above_them():
    assert sight(below=True) == ["root", "root.a", "root.a.deep", "root.a.deep.one", "root.b"]
    assert sight(below=True, search="two") == FIRST


def test_the_selected_queue_is_there_whatever_is_closed_and_its_siblings_are_not():
    assert sight(selected="root.a.deep.two") == [
        "root", "root.a", "root.a.deep", "root.a.deep.two", "root.b",
    ]  # fmt: skip
    assert sight(selected="root.gone") == FIRST


async def test_a_small_tree_is_whole_and_its_rows_are_those_of_the_queues(page):
    whole = (await page.get("/queues")).json()["queues"]
    tree = (await page.get("/pages/tree", params={"search": "nothing"})).json()
    assert (tree["queues"], tree["known"], tree["owed"]) == (whole, 3, 0)
    assert (await page.get("/pages/tree", params={"at": 5})).status_code == 404
