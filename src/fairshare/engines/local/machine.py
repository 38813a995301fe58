"""The resources of this machine, and how they are offered as one or several nodes."""

import math
import os
import pwd
import resource
from collections.abc import Mapping

from fairshare.core.model.resources import MEMORY, VCORES
from fairshare.documents.sizes import MEBIBYTE
from fairshare.engines.protocol import NodeOffer
from fairshare.errors import EngineError
from fairshare.this_machine import physical_memory_mb
from fairshare.wording import counted

_MOST_FILES = 65536
_OFFERED_PART = 0.8  # the rest is for the system, and for the server itself


def default_memory_mb(limit_bytes: int | None) -> int:
    """Four fifths of the machine's memory, or of the server's memory limit if it is smaller."""
    memory_bytes = physical_memory_mb() * MEBIBYTE
    if limit_bytes is not None:
        memory_bytes = min(memory_bytes, limit_bytes)
    return int(memory_bytes * _OFFERED_PART) // MEBIBYTE


def processors() -> int:
    """The number of processors available to this process."""
    return len(os.sched_getaffinity(0))


def are_processors(vcores: int | None, per_core: float) -> bool:
    """Whether each vcore of a machine with so many (None: as its processors are worth) can be a
    processor of its own."""
    return per_core == 1 if vcores is None else vcores <= processors()


def vcores_of(cores: int, per_core: float) -> int:
    """The vcores for a number of cores, at least 1; halves are rounded up.

    >>> vcores_of(16, 10), vcores_of(2, 0.75), vcores_of(1, 0.1)
    (160, 2, 1)
    """
    return max(1, math.floor(cores * per_core + 0.5))


def raise_file_limit() -> tuple[int, int]:
    """Raise the limit of open files as far as possible; returns the previous RLIMIT_NOFILE."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    hard = before[1] if before[1] != resource.RLIM_INFINITY else _MOST_FILES
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(before[0], min(hard, _MOST_FILES)), before[1]))
    return before


def user_name() -> str:
    """The name of the server's user, which is also the containers'; its number without a name."""
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return str(os.geteuid())


def node_names(count: int) -> tuple[str, ...]:
    """`local`, or `local-1`, `local-2`... for several."""
    return ("local",) if count == 1 else tuple(f"local-{number}" for number in range(1, count + 1))


def split(amount: int, count: int) -> list[int]:
    """Split an amount evenly, the first parts larger by one: `split(7, 3) == [3, 2, 2]`."""
    part, rest = divmod(amount, count)
    return [part + (1 if index < rest else 0) for index in range(count)]


def offers(
    count: int,
    resources: Mapping[str, int],
    rack: str,
    attributes: Mapping[str, str],
) -> tuple[NodeOffer, ...]:
    """This machine as `count` nodes of equal size.

    A vcore is a share of the processors, not necessarily a whole one, so that each node has at
    least one. Raises EngineError for amounts that cannot be offered.
    """
    if count < 1:
        raise EngineError(
            f"this machine cannot be offered as {counted(count, 'node')}: 1 is the least"
        )
    if resources[MEMORY] < count:
        raise EngineError(
            f"{resources[MEMORY]} MB of memory cannot be split into {counted(count, 'node')}"
        )
    if resources[VCORES] < 1 or min(resources.values()) < 0:
        raise EngineError(f"a node needs a vcore at least, and no amount below 0: {resources}")
    names = node_names(count)
    parts = {name: split(amount, count) for name, amount in resources.items()}
    parts[VCORES] = [max(1, vcores) for vcores in parts[VCORES]]
    return tuple(
        NodeOffer(
            node=node,
            rack=rack,
            resources={name: parts[name][index] for name in resources},
            attributes=dict(attributes),
        )
        for index, node in enumerate(names)
    )
