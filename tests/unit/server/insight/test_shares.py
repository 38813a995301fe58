"""What a queue is entitled to, owed and lent, and the sentence that says so."""

import msgspec
import pytest
from tests.unit.core.schedulers.waiting import Cluster, ask, fair
from tests.unit.server.insight.test_situations import gang_of

from fairshare.core.model.inputs import GangDue
from fairshare.core.model.resources import ResourceTypes
from fairshare.core.schedulers.views import QueueView
from fairshare.server.insight.shares import Beside, Shares, beside_demand

TYPES = ResourceTypes()
TOTAL = (102_400, 100)
GIB = 1024


def queue(name: str, used, demand, fair, **more) -> QueueView:
    none = (0, 0)
    view = QueueView(
        name=name, leaf=name != "root", dynamic=False, parent="" if name == "root" else "root",
        children=(), policy="drf", used=used, reserved=none, demand=demand, pending=none,
        min_share=none, max_share=TOTAL, fair_share=fair, steady_fair_share=fair, weight=1.0,
        running_applications=0, pending_applications=0, max_running_applications=None,
        containers=0, reserved_containers=0, preempted=0, preemptable=True,
    )  # fmt: skip
    return msgspec.structs.replace(view, **more)


def share_of(view: QueueView, *others: QueueView, withheld=None):
    used = tuple(sum(amounts) for amounts in zip(*(q.used for q in (view, *others)), strict=True))
    root = queue("root", used, TOTAL, TOTAL)
    beside = () if withheld is None else (Beside("A budget withholds", {view.name: withheld}),)
    return Shares((root, view, *others), TOTAL, TYPES, beside).of(view)


def test_a_queue_without_demand_is_idle():
    share = share_of(queue("root.a", (0, 0), (0, 0), (0, 0)))
    assert (share.state, share.sentence) == ("idle", "Nothing runs or waits here.")
    assert share.used_of_fair is None


def test_a_queue_with_all_it_asks_for_is_served():
    share = share_of(queue("root.a", (4 * GIB, 4), (4 * GIB, 4), (50 * GIB, 50)))
    assert share.state == "served"
    assert share.owed == (0, 0)
    assert share.sentence == "Has all it asks for: 4 GiB."


@pytest.mark.parametrize(
    ("used", "demand", "fair", "state", "sentence"),
    [
        (0, 0, 0, "full", "A budget withholds 6 GiB."),
        (4, 4, 4, "full", "Uses 4 GiB. A budget withholds 6 GiB."),
        (
            4,
            4,
            8,
            "owed",
            "Receives 4 GiB of the 8 GiB it is entitled to; 4 GiB are owed."
            " A budget withholds 6 GiB.",
        ),
    ],
)
def test_what_a_budget_withholds_is_demand_too(used, demand, fair, state, sentence):
    view = queue("root.a", (used * GIB, 0), (demand * GIB, 0), (fair * GIB, 0))
    filler = queue("root.b", (TOTAL[0] - used * GIB, 0), TOTAL, TOTAL)
    share = share_of(view, filler, withheld=(6 * GIB, 0))
    assert (share.state, share.sentence) == (state, sentence)


def test_a_queue_with_its_share_and_more_demand_is_full():
    share = share_of(queue("root.a", (50 * GIB, 10), (60 * GIB, 12), (50 * GIB, 50)))
    assert share.state == "full"
    assert share.sentence == "Has its whole fair share of 50 GiB, and asks for 10 GiB more."


def test_the_missing_part_of_a_share_is_owed_and_the_largest_borrower_is_named():
    lacking = queue("root.a", (10 * GIB, 10), (90 * GIB, 90), (50 * GIB, 50))
    little = queue("root.b", (51 * GIB, 1), (99 * GIB, 9), (50 * GIB, 50))
    much = queue("root.c", (30 * GIB, 1), (99 * GIB, 9), (1 * GIB, 1))
    share = share_of(lacking, little, much)
    assert share.state == "owed"
    assert share.entitled == (50 * GIB, 50)
    assert share.owed == (40 * GIB, 40)
    assert share.borrower == "root.c"
    assert share.sentence == (
        "Receives 10 GiB of the 50 GiB it is entitled to; 40 GiB are owed."
        " root.c has 29 GiB beyond its own share."
    )


def test_an_owed_share_without_a_borrower_is_free_on_some_nodes():
    share = share_of(queue("root.a", (10 * GIB, 10), (90 * GIB, 90), (50 * GIB, 50)))
    assert share.borrower is None
    assert "90 GiB of the cluster are free, but not" in share.sentence


def test_no_more_is_owed_than_is_asked_for():
    share = share_of(queue("root.a", (10 * GIB, 10), (12 * GIB, 12), (50 * GIB, 50)))
    assert share.owed == (2 * GIB, 2)


def test_what_lies_beyond_the_share_is_borrowed():
    share = share_of(queue("root.a", (60 * GIB, 10), (60 * GIB, 10), (50 * GIB, 50)))
    assert (share.state, share.borrowed) == ("borrows", (10 * GIB, 0))
    assert "10 GiB beyond its fair share of 50 GiB" in share.sentence


def test_the_used_share_is_the_larger_of_memory_and_cpu():
    view = queue("root.a", (10 * GIB, 70), (10 * GIB, 70), (50 * GIB, 90))
    share = share_of(view)
    assert share.used_share == pytest.approx(0.7)
    assert share.dominant == "vcores"


def test_of_what_a_policy_does_not_divide_nothing_is_owed_and_nothing_borrowed():
    share = share_of(queue("root.a", (10 * GIB, 70), (20 * GIB, 90), (50 * GIB, 0)))
    assert share.dominant == "memory-mb"
    assert (share.owed, share.borrowed) == ((10 * GIB, 0), (0, 0))


def test_applications_that_a_limit_holds_back_are_counted_in_the_sentence():
    view = queue("root.a", (GIB, 1), (GIB, 1), (50 * GIB, 50), pending_applications=1)
    assert share_of(view).sentence.endswith(" One application is held back by a limit.")
    view = queue("root.a", (GIB, 1), (GIB, 1), (50 * GIB, 50), pending_applications=1_200)
    assert share_of(view).sentence.endswith(" 1,200 applications are held back by limits.")


def test_what_a_paused_gang_lacks_is_asked_for():
    cluster = Cluster("fair", fair())
    cluster.submit(ask(4), queue="root.b")
    cluster.run()
    gang = cluster.submit(**gang_of(6))
    cluster.run()
    cluster.manager.handle(30_000, GangDue(gang, 0))
    scheduler = cluster.manager.scheduler
    views = {one.name: one for one in scheduler.queue_views(30_000)}
    beside = beside_demand(scheduler.state)
    shares = Shares(tuple(views.values()), scheduler.state.total, TYPES, beside)
    share = shares.of(views["root.a"])
    assert (share.state, share.owed[0]) == ("owed", 4 * GIB)
    assert share.sentence.endswith("Gangs that wait until all of them fit lack 6 GiB.")
    assert shares.of(views["root.b"]).sentence == "Has all it asks for: 4 GiB."
