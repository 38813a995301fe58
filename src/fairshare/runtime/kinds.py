"""Owns the definition of a kind of stored object: its tag, class and fields.

A tag never changes: the class behind it may be renamed, moved or rewritten. Fields are identified
by name, never by order. `stored.py` lists the classes, and `runtime/projections/stored.py` those of
projections.
"""

from collections.abc import Callable, Iterable
from enum import Enum
from typing import Any

import msgspec


class Kind(msgspec.Struct, frozen=True):
    """A class whose objects are stored, the fields that are stored, and those that are not.

    `derived` fields follow from the others: `derive`, a method of the class if nothing else is
    said, makes them when all objects have their stored fields. `names` leads from a name to the
    object, for those that are not copied at all. `structure`: made with all its fields at once.
    `unguarded`: an object may have undeclared fields.
    """

    tag: str
    cls: type
    fields: tuple[str, ...]
    derived: frozenset[str]
    defaults: frozenset[str]
    derive: Callable[[Any], None] | None
    names: Callable[[str], Any] | None
    structure: bool
    unguarded: bool

    def new(self) -> Any:
        """An object without its fields."""
        return object.__new__(self.cls)


class Kinds:
    """Kinds by tag and by class.

    If a kind is missing, `add_missing` adds more, step by step, and each step is followed by
    another look; it gets the tag or the name of the module.
    """

    def __init__(self) -> None:
        self.add_missing: Callable[[str], Iterable[None]] = lambda looked_for: ()
        self.by_tag: dict[str, Kind] = {}
        self._by_class: dict[type, Kind] = {}

    def add(
        self,
        tag: str,
        cls: type,
        *fields: str,
        derived: tuple[str, ...] = (),
        derive: Callable[[Any], None] | None = None,
        names: Callable[[str], Any] | None = None,
    ) -> None:
        """A class is stored under a tag. Fields are named here where the class has neither
        `__slots__` nor is a structure. Raises ValueError if the tag or the class is there already.
        """
        if tag in self.by_tag or cls in self._by_class:
            raise ValueError(f"{tag} ({cls.__qualname__}) is stored already")
        structure = issubclass(cls, msgspec.Struct)
        own = () if names is not None or issubclass(cls, Enum) else declared_fields(cls)
        defaults = (
            [f.name for f in msgspec.structs.fields(cls) if not f.required] if structure else []
        )
        self.by_tag[tag] = self._by_class[cls] = Kind(
            tag,
            cls,
            tuple(name for name in fields or own if name not in derived),
            frozenset(derived),
            frozenset(defaults),
            derive or getattr(cls, "derive", None),
            names,
            structure,
            not structure and not issubclass(cls, Enum) and cls.__dictoffset__ != 0,
        )

    def of_tag(self, tag: str) -> Kind | None:
        """The kind of a tag."""
        if tag not in self.by_tag:
            for _ in self.add_missing(tag):
                if tag in self.by_tag:
                    break
        return self.by_tag.get(tag)

    def of_class(self, cls: type) -> Kind | None:
        """The kind of a class; of what is known by name alone, of classes derived from it too."""
        found = self._of_class(cls)
        if found is None:
            for _ in self.add_missing(cls.__module__):
                found = self._of_class(cls)
                if found is not None:
                    break
        return found

    def _of_class(self, cls: type) -> Kind | None:
        found = self._by_class.get(cls)
        if found is None:
            bases = (self._by_class.get(one) for one in cls.__mro__)
            found = next((one for one in bases if one is not None and one.names is not None), None)
        return found


def declared_fields(cls: type) -> tuple[str, ...]:
    """The fields that a class itself declares: of a structure, or its slots."""
    if issubclass(cls, msgspec.Struct):
        return tuple(cls.__struct_fields__)
    return tuple(name for one in reversed(cls.__mro__) for name in vars(one).get("__slots__", ()))
