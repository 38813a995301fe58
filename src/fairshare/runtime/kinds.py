"""Owns the definition of a kind of stored object: its tag, class, fields, and changes by releases.

A tag never changes: the class behind it may be renamed, moved or rewritten. Fields are identified
by name, never by order. `stored.py` lists the classes, and `projections/stored.py` those of
projections.
"""

from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from typing import Any, Final

import msgspec


class Part(msgspec.Struct, frozen=True):
    """What once was a part of an object, and is an object of its own now.

    The fields `own` of snapshots that do not have `field` yet become an object of the class `cls`,
    which `field` leads to. `added` is as in `Changes`, for that object. Fields that the kind itself
    also has are given to both.
    """

    field: str
    cls: type
    own: frozenset[str]
    added: Mapping[str, Callable[[Any], Any]] = {}


class Changes(msgspec.Struct, frozen=True):
    """The changes to the fields of a kind since its tag was first written.

    `renamed`: the present name of each earlier one. `added`: what a field is in snapshots that are
    older than it: a value, or a function of the object (of a structure: of its fields by name).
    `removed`: fields that older snapshots have and that mean nothing any more. `part`: fields that
    are in another object now.
    """

    renamed: Mapping[str, str] = {}
    added: Mapping[str, Any] = {}
    removed: frozenset[str] = frozenset()
    part: Part | None = None


RENAMED_TAGS: Final[dict[str, str]] = {}
"""Tags of earlier releases whose kind has become a part of another one: `{"mark": "span"}`."""


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
    changes: Changes

    def new(self) -> Any:
        """An object without its fields."""
        return object.__new__(self.cls)

    def forgets(self, field: str) -> bool:
        """Whether older snapshots may have this field, and it is not read."""
        return field in self.derived or field in self.changes.removed


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
        changes: Changes | None = None,
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
            changes or Changes(),
        )

    def of_tag(self, tag: str) -> Kind | None:
        """The kind of a tag, an earlier one too."""
        name = RENAMED_TAGS.get(tag, tag)
        found = self.by_tag.get(name)
        if found is None:
            for _ in self.add_missing(name):
                if name in self.by_tag:
                    return self.by_tag[name]
        return found

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
