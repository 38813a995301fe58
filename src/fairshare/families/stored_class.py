"""Owns `StoredClass`: a class whose objects snapshots have, as a family lists it."""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec


class StoredClass(msgspec.Struct, frozen=True):
    """A class with its tag, which is permanent, and the fields to store: those of a structure, the
    slots, or else `fields`.

    `derived` fields follow from the others: the class's method `derive` makes them. `state`: it is
    the scheduler's state, and also has the fields of `ClusterState`. `attempt`: it is the class of
    the scheduler's attempts; in snapshots of releases in which applications were not divided into
    both, its tag is that of the scheduler's applications. `names` leads from a name to
    the object, for those that are not copied. `renamed`, `added` and `removed` are the changes of
    fields since the tag was first written (`runtime.kinds.Changes`).
    """

    tag: str
    cls: type
    fields: tuple[str, ...] = ()
    derived: tuple[str, ...] = ()
    names: Callable[[str], Any] | None = None
    renamed: Mapping[str, str] = {}
    added: Mapping[str, Any] = {}
    removed: frozenset[str] = frozenset()
    state: bool = False
    attempt: bool = False
