"""Owns whose a file with the top element <allocations> is: YARN's, or MapReduce's with its pools.

Both call it so, and both may call a file fair-scheduler.xml. Where properties choose a scheduler,
they say whose it is; a file by itself can only be judged by what is in it.
"""

from collections import Counter
from collections.abc import Iterator

from fairshare.config.xml import Element
from fairshare.families.family import AnyFamily
from fairshare.families.registry import FILE_DEFAULT, all_families, family_of


def family_of_elements(top: Element) -> AnyFamily:
    """The scheduler most of whose own words a file uses; `FILE_DEFAULT` if it uses none.

    A <pool> with <minMaps> is MapReduce's; one with <minResources> and <maxRunningApps> is YARN's.
    """
    names = Counter(_names(top))
    readers = [family for family in all_families().values() if family.elements]
    best = family_of(FILE_DEFAULT)
    for family in readers:
        if _uses(family, readers, names) > _uses(best, readers, names):
            best = family
    return best


def _uses(family: AnyFamily, readers: list[AnyFamily], names: Counter[str]) -> int:
    """How many elements only this scheduler has."""
    others = frozenset[str]().union(*(one.elements for one in readers if one is not family))
    own = (family.elements - others) | family.distinctive_elements
    return sum(names[name] for name in own)


def _names(element: Element) -> Iterator[str]:
    for child in element.children:
        yield child.name
        yield from _names(child)
