"""Owns `StoredClass`: a class whose objects snapshots have, as a family lists it."""

from collections.abc import Callable
from typing import Any

import msgspec


class StoredClass(msgspec.Struct, frozen=True):
    """A class with its tag, which is permanent, and the fields to store: those of a structure, the
    slots, or else `fields`.

    `derived` fields follow from the others: the class's method `derive` makes them. `state`: it is
    the scheduler's state, and also has the fields of `ClusterState`. `names` leads from a name to
    the object, for those that are not copied.
    """

    tag: str
    cls: type
    fields: tuple[str, ...] = ()
    derived: tuple[str, ...] = ()
    names: Callable[[str], Any] | None = None
    state: bool = False
