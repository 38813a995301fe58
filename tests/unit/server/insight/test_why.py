"""Each cause has its words, with the numbers that it came with."""

import msgspec
import pytest

from fairshare.core.model.resources import ResourceTypes
from fairshare.core.schedulers.entitlement import Entitlement, Excess, Obstacle, Preemption
from fairshare.core.schedulers.reasons import Cause, Reason
from fairshare.server.insight.why import Words

WORDS = Words(
    ResourceTypes(("memory-mb", "vcores", "yarn.io/gpu"), ("Mi", "", "")), 1_700_000_000_000
)
EVERYTHING = {
    "containers": 3,
    "wanted": (4096, 1, 0),
    "used": (10240, 5, 1),
    "limit": (12288, 8, 2),
    "available": (2048, 2, 0),
    "queue": "root.ml",
    "user": "ann",
    "node": "n7",
    "count": 11,
    "ahead": (4,),
}
NUMBERS = {
    Cause.QUEUE_APPLICATIONS: ("root.ml", "11 applications"),
    Cause.USER_APPLICATIONS: ("ann", "11 applications"),
    Cause.PASSED_OVER: ("root.ml", "ann"),
    Cause.QUEUE_MASTERS: ("root.ml", "10,240 MB", "12,288 MB", "4,096 MB, 1 vcore"),
    Cause.USER_MASTERS: ("ann", "root.ml", "12,288 MB"),
    Cause.TOO_LARGE: ("4,096 MB, 1 vcore", "2,048 MB, 2 vcores"),
    Cause.BLACKLISTED: ("11 nodes",),
    Cause.QUEUE_MAXIMUM: ("root.ml", "10,240 MB, 5 vcores, 1 yarn.io/gpu", "12,288 MB"),
    Cause.USER_LIMIT: ("ann", "root.ml", "12,288 MB"),
    Cause.RESERVED_HERE: ("n7", "2,048 MB", "4,096 MB"),
    Cause.KEPT_FOR_IT: ("n7", "root.ml", "2,048 MB", "4,096 MB"),
    Cause.BOOKED: ("root.ml", "12,288 MB", "10,240 MB", "2,048 MB"),
    Cause.KEPT_FOR_ANOTHER: ("n7", "application_1700000000000_0004"),
    Cause.RESERVED_FOR_OTHERS: ("11 nodes",),
    Cause.NO_ROOM: ("n7", "4,096 MB", "2,048 MB", "11 others", "application_1700000000000_0004"),
    Cause.OTHERS_FIRST: ("11 others", "application_1700000000000_0004"),
    Cause.NEARER_NODE: ("11 offers",),
}


@pytest.mark.parametrize("cause", Cause)
def test_a_cause_has_a_sentence_with_its_numbers_and_a_remedy(cause):
    found = WORDS.explain(Reason(cause=cause, **EVERYTHING))
    for number in NUMBERS.get(cause, ()):
        assert number in found.sentence
    assert found.sentence.endswith(".")
    assert found.remedy.endswith(".")


def test_one_is_not_several():
    reason = Reason(cause=Cause.USER_APPLICATIONS, user="ann", count=1)
    assert "1 application running" in WORDS.explain(reason).sentence


def test_the_only_node_that_is_kept_free_names_the_setting():
    reason = Reason(cause=Cause.RESERVED_FOR_OTHERS, count=1, node="n1")
    assert 'reservations = "off"' in WORDS.explain(reason).remedy
    assert "yarn.scheduler.fair.reservable-nodes" in WORDS.explain(reason).remedy


def of_preemption(obstacle, entitlement=Entitlement.FAIR_SHARE, **more):
    """The sentence of an application that waits for room and is owed a part of its fair share."""
    preemption = Preemption(
        obstacle=obstacle,
        entitlement=entitlement,
        queue="root.ml",
        used=(1024, 1, 0),
        share=(4096, 4, 0),
        above=(Excess("root.etl", (2048, 2, 0)), Excess("root.adhoc", (1024, 1, 0))),
        above_count=5,
        percent=49.7,
        threshold_percent=80.0,
        **more,
    )
    words = Words(ResourceTypes(("memory-mb", "vcores", "yarn.io/gpu"), ("Mi", "", "")), 0, 5_000)
    reason = Reason(cause=Cause.NO_ROOM, **EVERYTHING, preemption=preemption)
    return words.explain(reason).sentence


OF_FAIR = {Obstacle.OBSERVE_ONLY, Obstacle.SMALL_EXCESS}
OF_CAPACITY = {
    Obstacle.UTILIZATION,
    Obstacle.NO_TIMEOUT,
    Obstacle.ABOVE_THRESHOLD,
    Obstacle.SMALL_DEFICIT,
    Obstacle.NOT_YET,
}
OF_POOLS = {
    Obstacle.UTILIZATION,
    Obstacle.PROTECTED,
    Obstacle.SMALL_DEFICIT,
    Obstacle.SMALL_EXCESS,
}
NEVER = {
    Entitlement.FAIR_SHARE: OF_FAIR,
    Entitlement.GUARANTEED_CAPACITY: OF_CAPACITY,
    Entitlement.POOL_SHARE: OF_POOLS,
}
"""The obstacles that a scheduler does not have."""


@pytest.mark.parametrize(
    ("entitlement", "obstacle"),
    [(kind, one) for kind in Entitlement for one in Obstacle if one not in NEVER[kind]],
)
def test_queues_above_and_what_keeps_preemption_away_are_said(obstacle, entitlement):
    sentence = of_preemption(obstacle, entitlement, due_ms=65_000)
    guaranteed = entitlement is Entitlement.GUARANTEED_CAPACITY
    share = "guaranteed capacity" if guaranteed else "fair share"
    assert f"has 1,024 MB, 1 vcore of its {share} of 4,096 MB, 4 vcores" in sentence
    above = "root.etl by 2,048 MB, 2 vcores, root.adhoc by 1,024 MB, 1 vcore and 3 other queues"
    assert above in sentence
    works = obstacle in (Obstacle.NONE, Obstacle.NOT_YET)
    assert ("Nothing is preempted for it" in sentence) is not works


def test_the_utilization_is_said_with_its_threshold_and_setting():
    sentence = of_preemption(Obstacle.UTILIZATION)
    assert "50 % of the cluster is used, and preemption begins above 80 %" in sentence
    assert "yarn.scheduler.fair.preemption.cluster-utilization-threshold" in sentence


def test_a_timeout_that_is_not_over_says_how_long_it_takes():
    assert "Preemption for it begins in 60 s." in of_preemption(Obstacle.NOT_YET, due_ms=65_000)
    assert "Preemption is on" in of_preemption(Obstacle.NOT_YET, due_ms=4_000)


def test_a_node_without_what_is_asked_for_is_said_to_have_none():
    reason = Reason(cause=Cause.TOO_LARGE, **{**EVERYTHING, "wanted": (1024, 1, 1), "count": 1})
    words = WORDS.explain(reason)
    assert "asks for 1,024 MB, 1 vcore, 1 yarn.io/gpu, and " in words.sentence
    assert words.sentence.endswith(", has no GPUs.")
    assert "gpus in [engine]" in words.remedy
    reason = msgspec.structs.replace(reason, wanted=(1024, 1, 2), available=(2048, 2, 1))
    assert "comes nearest with 2,048 MB, 2 vcores, 1 yarn.io/gpu." in WORDS.explain(reason).sentence
