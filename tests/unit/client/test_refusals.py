"""Refusals in Hadoop's words, in plain ones."""

import pytest

from fairshare.client.errors import CallFailed, Refused, in_plain_words
from fairshare.core.model.resources import ResourceTypes
from fairshare.core.model.work import ResourceRequest
from fairshare.core.schedulers.fair.limits import zero_amount


def test_a_refusal_by_a_queue_without_resources_is_in_plain_words():
    request = ResourceRequest(1, 0, "*", 1, (1024, 1))
    types = ResourceTypes()
    text = zero_amount(types, 7, 1, "root.a", [(request, ("memory-mb", "vcores"))])
    reported = in_plain_words(text)
    assert reported.startswith(
        "queue root.a may have no memory-mb and no vcores (its maximum is 0): "
    )
    assert "raised" in reported


def too_large(name: str, wanted: str, most: str) -> str:
    return str(
        Refused(
            409,
            "too-large",
            "Invalid resource request! Cannot allocate containers as requested resource is greater"
            f" than maximum allowed allocation. Requested resource type=[{name}], Requested"
            f" resource=<{wanted}>, maximum allowed allocation=<{most}>, please note that ...",
        )
    )


def test_a_refusal_of_a_container_that_is_too_large_is_in_plain_words():
    assert too_large("memory-mb", "memory:102400, vCores:1", "memory:1024, vCores:4") == (
        "a container with 100 GB of memory is larger than any may be: the most is 1 GB of memory."
        " Request smaller containers, or have an administrator raise"
        " yarn.scheduler.maximum-allocation-mb or enlarge the nodes"
    )


@pytest.mark.parametrize(
    ("name", "wanted", "most", "words"),
    [
        ("memory-mb", "memory:1048576, vCores:1", "memory:8192, vCores:4", ("1,024 GB", "8 GB")),
        ("memory-mb", "memory:20480, vCores:1", "memory:19284, vCores:4", ("20,480 MB", "19,284")),
        ("memory-mb", "memory:4096, vCores:1", "memory:2048, vCores:4", ("4,096 MB", "2,048 MB")),
        ("vcores", "memory:1, vCores:8", "memory:1024, vCores:1", ("8 vcores", "is 1 vcore.")),
        ("disks", "memory:1, disks: 8", "memory:1, disks: 2", ("8 disks", "is 2 disks.")),
    ],
)
def test_both_amounts_of_it_are_in_one_unit(name, wanted, most, words):
    told = too_large(name, wanted, most)
    assert [word for word in words if word not in told] == []
    assert ("GB" in told) != ("MB" in told) or name != "memory-mb"


def test_a_resource_of_which_no_node_has_any_is_named():
    """Hadoop's list of the maximum leaves it out."""
    told = too_large("yarn.io/gpu", "memory:1, vCores:1, yarn.io/gpu: 1", "memory:1, vCores:1")
    assert told.startswith("no container can have yarn.io/gpu: no node offers any")
    assert "set gpus in [engine]" in told
    told = too_large("disks", "memory:1, vCores:1, disks: 1", "memory:1, vCores:1")
    assert told.endswith("or yarn.resource-types.disks.maximum-allocation is 0")


def test_any_other_refusal_is_left_alone():
    assert in_plain_words("queue root.a is not there") == "queue root.a is not there"


def test_a_call_that_ran_out_of_memory_names_the_parameter_of_executors():
    reason = (
        "task/0 failed 4 times, the last time: killed: used 1024 MB, limit 1024 MB; out of memory:"
        " ask for more (--memory 2048m, or memory-mb of its resources)\nMemoryError"
    )
    assert str(CallFailed.of_process(reason, "last\n")) == (
        "the call's process failed: task/0 failed 4 times, the last time: killed: used 1024 MB,"
        ' limit 1024 MB; out of memory: give calls more, resources={"memory-mb": 2048}\nMemoryError'
        "\nThe last lines that were written:\nlast\n"
    )
    assert str(CallFailed.of_process("exit code 3")) == "the call's process failed: exit code 3"
