"""How two amounts compare when the cluster has 0 of a type."""

import pytest

from fairshare.core.schedulers.calculators import dominant_calculator

CLUSTER = (4096, 2, 0)
"""A third type is declared that no node offers."""


@pytest.mark.parametrize(
    ("a", "b", "whole", "dominant"),
    [
        ((1024, 2, 2), (2048, 2, 0), -1, 0),
        ((2048, 1, 0), (1024, 1, 9), 1, 0),
        ((4096, 1, 0), (1024, 1, 9), 1, 1),
        ((1024, 1, 5), (1024, 1, 0), 0, 0),
    ],
)
def test_a_type_that_no_node_has_does_not_decide(a, b, whole, dominant):
    assert dominant_calculator(CLUSTER, a, b) == whole
    assert dominant_calculator(CLUSTER, b, a) == -whole
    assert dominant_calculator(CLUSTER, a, b, True) == dominant
    assert dominant_calculator(CLUSTER, b, a, True) == -dominant


def test_the_dominant_parts_alone_are_compared_where_only_one_counts():
    assert dominant_calculator((8000, 8, 4), (4000, 4, 0), (4000, 1, 0), True) == 0
    assert dominant_calculator((8000, 8, 4), (4000, 4, 0), (4000, 1, 0)) == 1


def test_negative_amounts_count_as_zero_where_only_one_counts():
    assert dominant_calculator((8000, 8, 4), (-4000, -4, 0), (-8000, -8, 0), True) == 0


def test_a_cluster_without_anything_compares_the_amounts():
    assert dominant_calculator((0, 0, 0), (1, 0, 0), (0, 0, 0)) == 1
    assert dominant_calculator((0, 0, 0), (1, 0, 0), (0, 1, 0)) == 0
