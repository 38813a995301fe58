"""Resource vectors: integers over named types.

A vector is a plain tuple, `(memory-mb, vcores, further types...)`: immutable, hashable, cheap.
`ResourceTypes` has the names. These functions are the hottest code of the scheduler, so that the
common case of two types is inlined.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache

import msgspec

from fairshare.documents.sizes import MEMORY as MEMORY

Resource = tuple[int, ...]

UNBOUNDED = 2**63 - 1
"""No limit: the largest value that Hadoop can represent (Hadoop: Resources.unbounded)."""

NO_LIMIT = 2**31 - 1
"""No limit on a number of applications: Java's largest `int`."""

VCORES = "vcores"


def add(a: Resource, b: Resource) -> Resource:
    """`add((1024, 1), (2048, 2)) == (3072, 3)`."""
    if len(a) == 2:
        return (a[0] + b[0], a[1] + b[1])
    return tuple([x + y for x, y in zip(a, b, strict=True)])


def subtract(a: Resource, b: Resource) -> Resource:
    """`subtract((3072, 3), (2048, 2)) == (1024, 1)`; may become negative."""
    if len(a) == 2:
        return (a[0] - b[0], a[1] - b[1])
    return tuple([x - y for x, y in zip(a, b, strict=True)])


def count_fitting(need: Resource, room: Resource) -> int:
    """How many containers of a size fit into some room.

    >>> count_fitting((1024, 1), (4096, 3)), count_fitting((1024, 1), (4096, -1))
    (3, 0)
    """
    if len(need) == 2 and need[0] and need[1]:
        count, other = room[0] // need[0], room[1] // need[1]
        if other < count:
            count = other
        return count if count > 0 else 0
    parts = (have // size for size, have in zip(need, room, strict=True) if size)
    return max(0, min(parts, default=0))


@lru_cache(1_024)
def shared(sizes: tuple[Resource, ...]) -> tuple[Resource, ...]:
    """One object for all that are equal: most applications ask for the same sizes."""
    return sizes


def fits(need: Resource, room: Resource) -> bool:
    """Whether `need` is at most `room` in every type."""
    if len(need) == 2:
        return need[0] <= room[0] and need[1] <= room[1]
    for x, y in zip(need, room, strict=True):  # noqa: SIM110 - `all` takes twice as long
        if x > y:
            return False
    return True


def scale(a: Resource, count: int) -> Resource:
    """`scale((1024, 1), 3) == (3072, 3)`."""
    if count == 1:
        return a
    if len(a) == 2:
        return (a[0] * count, a[1] * count)
    return tuple([x * count for x in a])


def smallest(a: Resource, b: Resource) -> Resource:
    """The smaller of both in each type."""
    if len(a) == 2:
        x, y = a
        u, v = b
        return (x if x < u else u, y if y < v else v)
    return tuple([x if x < y else y for x, y in zip(a, b, strict=True)])


def largest(a: Resource, b: Resource) -> Resource:
    """The larger of both in each type."""
    if len(a) == 2:
        x, y = a
        u, v = b
        return (x if x > u else u, y if y > v else v)
    return tuple([x if x > y else y for x, y in zip(a, b, strict=True)])


def positive(a: Resource) -> Resource:
    """`a` with negative amounts replaced by 0."""
    return tuple([x if x > 0 else 0 for x in a])


def total(resources: Iterable[Resource], size: int) -> Resource:
    """The sum of vectors of `size` types."""
    return tuple(map(sum, zip(*resources, strict=True))) or (0,) * size


class ResourceTypes(msgspec.Struct, frozen=True):
    """The names of a cluster's resource types, in order: memory-mb, vcores, then custom types.

    >>> types = ResourceTypes(("memory-mb", "vcores"))
    >>> types.vector({"vcores": 2})
    (0, 2)
    >>> types.mapping((1024, 2))
    {'memory-mb': 1024, 'vcores': 2}
    """

    names: tuple[str, ...] = (MEMORY, VCORES)
    units: tuple[str, ...] = ("Mi", "")

    def vector(self, amounts: Mapping[str, int], missing: int = 0) -> Resource:
        """The vector of named amounts; raises KeyError with the name of an unknown type."""
        unknown = [name for name in amounts if name not in self.names]
        if unknown:
            raise KeyError(unknown[0])
        return tuple(amounts.get(name, missing) for name in self.names)

    def mapping(self, resource: Resource) -> dict[str, int]:
        """The named amounts of a vector, in the order of the types."""
        if len(resource) != len(self.names):
            raise ValueError(f"{resource} has not one amount of each of {', '.join(self.names)}")
        return dict(zip(self.names, resource))  # noqa: B905 - checked, and twice as fast so

    @property
    def none(self) -> Resource:
        """0 of every type."""
        return (0,) * len(self.names)

    @property
    def unbounded(self) -> Resource:
        """No limit in any type."""
        return (UNBOUNDED,) * len(self.names)


_MOST_VCORES = 2**31 - 1


def resource_text(resource: Resource, types: ResourceTypes) -> str:
    """`<memory:4096, vCores:4>`; further types follow unless they are 0, with their unit.

    >>> resource_text((1024, 2, 3), ResourceTypes(("memory-mb", "vcores", "gpu"), ("Mi", "", "")))
    '<memory:1024, vCores:2, gpu: 3>'
    """
    text = f"memory:{resource[0]}, vCores:{min(resource[1], _MOST_VCORES)}"
    for name, unit, amount in zip(types.names[2:], types.units[2:], resource[2:], strict=True):
        if amount:
            text += f", {name}: {amount}{unit}"
    return f"<{text}>"
