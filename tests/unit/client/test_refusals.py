"""Refusals in Hadoop's words, in plain ones."""

from fairshare.client.errors import Refused, in_plain_words
from fairshare.model.resources import ResourceTypes
from fairshare.model.work import ResourceRequest
from fairshare.schedulers.fair.wording import zero_amount


def test_a_refusal_by_a_queue_without_resources_is_in_plain_words():
    request = ResourceRequest(1, 0, "*", 1, (1024, 1))
    types = ResourceTypes()
    text = zero_amount(types, 7, 1, "root.a", [(request, ("memory-mb", "vcores"))])
    reported = in_plain_words(text)
    assert reported.startswith(
        "queue root.a may have no memory-mb and no vcores (its maximum is 0): "
    )
    assert "raised" in reported


def test_a_refusal_of_a_container_that_is_too_large_is_in_plain_words():
    text = (
        "Invalid resource request! Cannot allocate containers as requested resource is greater than"
        " maximum allowed allocation. Requested resource type=[memory-mb], Requested"
        " resource=<memory:102400, vCores:1>, maximum allowed allocation=<memory:1024, vCores:4>,"
        " please note that ..."
    )
    assert str(Refused(409, "too-large", text)) == (
        "a container with 100 GB of memory is larger than any may be: the most is 1024 MB of"
        " memory. Request smaller containers, or have yarn.scheduler.maximum-allocation-mb and the"
        " nodes enlarged"
    )


def test_any_other_refusal_is_left_alone():
    assert in_plain_words("queue root.a is not there") == "queue root.a is not there"
