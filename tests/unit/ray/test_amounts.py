"""What is reserved and offered of a Ray node."""

import pytest

from fairshare.documents.gpus import GPU
from fairshare.errors import EngineError
from fairshare.ray.amounts import further, offer

TYPES = ("memory-mb", "vcores", GPU, "licence")


def test_only_whole_units_that_are_free_are_offered():
    free = {"CPU": 7.5, "memory": 3.5 * 2**30, "GPU": 2.0, "licence": 3.0, "node:10.0.0.1": 1.0}
    made = offer(free, TYPES)
    assert made.resources == {"memory-mb": 3584, "vcores": 7, GPU: 2, "licence": 3}
    assert (made.cpus, made.gpus, made.memory_bytes) == (7, 2, 3584 * 2**20)
    assert made.custom == {"licence": 3.0}


def test_what_the_configuration_does_not_know_is_left_to_others():
    made = offer({"CPU": 4, "memory": 2**30, "GPU": 1, "licence": 3}, TYPES[:2])
    assert made.resources == {"memory-mb": 1024, "vcores": 4}
    assert (made.gpus, made.custom) == (0, {})


@pytest.mark.parametrize("free", [{}, {"CPU": 0.5, "memory": 2**30}, {"CPU": 1, "memory": 1000}])
def test_a_node_that_others_hold_is_not_offered(free):
    with pytest.raises(EngineError, match="others hold the rest"):
        offer(free, TYPES)


def test_what_others_free_later_is_offered_without_gpus():
    made = further({"CPU": 2.5, "GPU": 1.0, "memory": 2**21, "licence": 1.0}, TYPES)
    assert made.resources == {"memory-mb": 2, "vcores": 2, "licence": 1}
    assert made.gpus == 0
    assert further({"CPU": 0.5, "memory": 2**30}, TYPES) is None
