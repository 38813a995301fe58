"""Each kind of difference that is left between Hadoop's preemption and ours, as one run shows it.

All come from orders that Hadoop leaves to hash maps. The runs are small and made by hand, but for
the ties; `docs/conformance.md` says how often such a thing is met.
"""

from pathlib import Path

from conformance.comparison import Difference, compare
from conformance.recordings import Recording, read
from conformance.side_by_side import record_ours

RUNS = {one.name: one for one in read(Path(__file__).parent / "differing" / "preemption.jsonl.xz")}


def difference(one: Recording) -> Difference | None:
    """Where Hadoop's record and ours part first."""
    return compare(one.record, record_ours(one.document), amounts=True).first


def last_of_hadoop(name: str) -> list[dict[str, object]]:
    """What Hadoop did in the last step of a run, the round of its monitor."""
    events: list[dict[str, object]] = RUNS[name].record["steps"][-1]["events"]
    return events


def test_of_several_reservations_hadoop_gives_up_what_its_map_of_nodes_has_first() -> None:
    """Hadoop gives up the one on n2, whichever was made first; we give up the older one."""
    given_up = [event["node"] for n in ("n1", "n2") for event in last_of_hadoop(reserved_first(n))]
    assert given_up == ["n2", "n2"]
    found = difference(RUNS[reserved_first("n1")])
    assert found is not None
    assert found.signature == "preempt unreserved unreserved"
    assert found.ours["node"] == "n1"
    assert difference(RUNS[reserved_first("n2")]) is None


def reserved_first(node: str) -> str:
    return f"reservations-{node}-first"


def test_of_reserved_nodes_that_cost_as_much_hadoop_serves_what_its_map_of_nodes_has_first() -> (
    None
):
    """The budget is for one container. Hadoop takes it on n2, we on the node that joined first."""
    for name in ("nodes-n1-first", "nodes-n2-first"):
        assert [event["app"] for event in last_of_hadoop(name)] == ["two"]  # whose are on n2
        found = difference(RUNS[name])
        assert found is not None
        assert found.signature == "preempt marked marked"
        assert found.ours["app"] == "one"


def test_of_leaves_that_give_hadoop_spends_the_budget_on_what_its_set_has_first() -> None:
    """Hadoop takes from root.a whatever the order of the file, we from the first leaf there."""
    for name in ("leaves-a-first", "leaves-c-first"):
        assert [event["app"] for event in last_of_hadoop(name)] == ["one"]
    assert difference(RUNS["leaves-a-first"]) is None
    found = difference(RUNS["leaves-c-first"])
    assert found is not None
    assert found.ours["app"] == "two"


def test_of_queues_that_lack_as_much_hadoop_serves_another_one_first_from_time_to_time() -> None:
    """One scenario on Hadoop twice: who gets the last GPU follows from where its objects lie."""
    once, again = RUNS["ties-once"], RUNS["ties-another-time"]
    assert once.document == again.document
    assert difference(again) is None
    found = difference(once)
    assert found is not None
    assert found.step == len(once.document["steps"]) - 1
    assert found.oracle is None  # nothing is taken that time
