"""Owns the comparison of two amounts of resources as Hadoop's calculators do it.

A calculator answers -1, 0 or 1 for less, equal, greater (spec/fair.md 3.6). `single` asks for the
largest part of the cluster only.
"""

import math
from collections.abc import Callable

from fairshare.model.resources import Resource, subtract

Calculator = Callable[[Resource, Resource, Resource, bool], int]


def memory_calculator(cluster: Resource, a: Resource, b: Resource, single: bool = False) -> int:
    """By memory alone: `memory_calculator(c, (1024, 9), (2048, 1)) == -1`."""
    return (a[0] > b[0]) - (a[0] < b[0])


def dominant_calculator(cluster: Resource, a: Resource, b: Resource, single: bool = False) -> int:
    """By the largest parts of the cluster, from the largest down; of equal ones the next decide.

    Example: of a cluster (8000, 8), (4000, 1) is half and (2000, 5) is five eighths, so -1.
    """
    if a == b:
        return 0
    if not any(cluster):
        less = any(x < y for x, y in zip(a, b, strict=True))
        greater = any(x > y for x, y in zip(a, b, strict=True))
        return greater - less
    parts_a = sorted(map(_part, a, cluster), reverse=True)
    parts_b = sorted(map(_part, b, cluster), reverse=True)
    if single:
        parts_a, parts_b = parts_a[:1], parts_b[:1]
    for x, y in zip(parts_a, parts_b, strict=True):
        if single:
            x, y = max(x, 0.0), max(y, 0.0)
        if x != y:
            return 1 if x > y else -1
    return 0


def take_from(amount: Resource, part: Resource) -> Resource:
    """What is left of an amount, but memory and vcores are never below 0.

    Hadoop forgets the further types here: they may become negative, and an amount that is not 0
    counts as starvation although nothing is missing.

    >>> take_from((1024, 2, 0), (2048, 1, 1))
    (0, 1, -1)
    """
    left = subtract(amount, part)
    return (max(left[0], 0), max(left[1], 0), *left[2:])


def _part(amount: int, whole: int) -> float:
    if whole == 0:
        return math.inf if amount > 0 else 0.0
    return amount / whole
