"""Owns whose a file with the top element <allocations> is: YARN's, or MapReduce's with its pools.

Both call it so, and both may call a file fair-scheduler.xml. Where properties choose a scheduler,
they say whose it is; a file by itself can only be judged by what is in it.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Final

from fairshare.config.xml import Element
from fairshare.families.fair import allocation_file, queue_elements
from fairshare.families.pools import file as pools_file

_YARN: Final = allocation_file.NAMES | queue_elements.NAMES
ONLY_YARN: Final = _YARN - pools_file.NAMES
ONLY_MAPREDUCE: Final = (pools_file.NAMES - _YARN) | {"pool"}
"""YARN takes a pool for a queue, but its manual calls them queues."""


def has_pools(top: Element) -> bool:
    """Whether more is said in MapReduce's words than in YARN's.

    A <pool> with <minMaps> is MapReduce's; one with <minResources> and <maxRunningApps> is YARN's,
    and so is what uses no words of either.
    """
    names = Counter(_names(top))
    mapreduce, yarn = (sum(names[name] for name in own) for own in (ONLY_MAPREDUCE, ONLY_YARN))
    return mapreduce > yarn


def _names(element: Element) -> Iterator[str]:
    for child in element.children:
        yield child.name
        yield from _names(child)
