"""What Hadoop's preemption decides by the order of a hash map, as one run shows each.

Orders that follow from the hash codes of names and numbers are ours as well. One of queues that
lack as much follows from where Hadoop's objects lie in memory: it differs from itself. The runs are
small and made by hand, but for the ties.
"""

from pathlib import Path

import pytest
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


@pytest.mark.parametrize("first", ["n1", "n2"])
def test_of_several_reservations_the_one_that_the_map_of_nodes_has_first_is_given_up(
    first: str,
) -> None:
    """The one on n2, whichever was made first."""
    name = f"reservations-{first}-first"
    assert [event["node"] for event in last_of_hadoop(name)] == ["n2"]
    assert difference(RUNS[name]) is None


@pytest.mark.parametrize("name", ["nodes-n1-first", "nodes-n2-first"])
def test_of_reserved_nodes_that_cost_as_much_the_one_that_the_map_has_first_is_served(
    name: str,
) -> None:
    """The budget is for one container: it is taken on n2, where those of `two` are."""
    assert [event["app"] for event in last_of_hadoop(name)] == ["two"]
    assert difference(RUNS[name]) is None


@pytest.mark.parametrize("name", ["leaves-a-first", "leaves-c-first"])
def test_of_leaves_that_give_the_one_that_the_set_has_first_gives_first(name: str) -> None:
    """The budget is spent on root.a, whatever the order of the file."""
    assert [event["app"] for event in last_of_hadoop(name)] == ["one"]
    assert difference(RUNS[name]) is None


def test_what_others_chose_is_taken_off_in_the_order_of_the_set_of_containers() -> None:
    """391 MB are left for a later selector: the 8192 MB go off first, the last 1024 not at all."""
    name = "taken-off-in-the-order-of-a-set"
    assert len(last_of_hadoop(name)) == 5
    assert difference(RUNS[name]) is None


def test_an_application_may_use_less_in_hadoop_than_its_containers_do() -> None:
    """An ask became smaller while a node was reserved for it. No map decides here, but a round of
    the monitor that takes from one leaf what its more urgent application seems to lack."""
    assert difference(RUNS["less-than-its-containers"]) is None


def test_of_queues_that_lack_as_much_hadoop_serves_another_one_first_from_time_to_time() -> None:
    """One scenario on Hadoop twice: who gets the last GPU follows from where its objects lie."""
    once, again = RUNS["ties-once"], RUNS["ties-another-time"]
    assert once.document == again.document
    assert difference(again) is None
    found = difference(once)
    assert found is not None
    assert found.step == len(once.document["steps"]) - 1
    assert found.oracle is None  # nothing is taken that time
