"""What stands before a refusal in Hadoop's words."""

from fairshare.cli.refusals import explained
from fairshare.model.resources import ResourceTypes
from fairshare.model.work import ResourceRequest
from fairshare.schedulers.fair.wording import zero_amount


def test_a_queue_that_may_have_nothing_is_told_plainly_and_then_in_hadoops_words():
    request = ResourceRequest(1, 0, "*", 1, (1024, 1))
    types = ResourceTypes()
    text = zero_amount(types, 7, 1, "root.a", [(request, ("memory-mb", "vcores"))])
    told = explained(text)
    assert told.startswith("queue root.a may have no memory-mb and no vcores (its maximum is 0): ")
    assert told.endswith(text)


def test_a_container_beyond_all_measure_is_told_plainly_and_then_in_hadoops_words():
    text = (
        "Invalid resource request! Cannot allocate containers as requested resource is greater than"
        " maximum allowed allocation. Requested resource type=[memory-mb], Requested"
        " resource=<memory:102400, vCores:1>, maximum allowed allocation=<memory:1024, vCores:4>,"
        " please note that ..."
    )
    told = explained(text)
    assert told.startswith(
        "a container of memory:102400, vCores:1 is larger than any may be, in memory-mb: the"
        " largest is memory:1024, vCores:4. Ask for smaller ones;"
    )
    assert told.endswith(text)


def test_any_other_refusal_is_left_alone():
    assert explained("queue root.a is not there") == "queue root.a is not there"
