"""The form of objects as data: a table of rows, in which a number leads to another row; and the
kinds of objects, each with its tag, its class and its fields.

What several objects share is one row, and comes back as one object; cycles are allowed. Data is
`[kinds, rows, root]`: of each kind its tag and the names of its fields, for each object `[kind,
value, ...]`, and the value that leads to everything. A value is a number, a text, bytes, None, true
or false, or a list that says by its first item what it is: the number of a row, or one of the
negative numbers below. Which classes have which tag and fields, `snapshot.py` lists.

A tag never changes: the class behind it may be renamed, moved or rewritten. Fields are identified
by name, never by order.
"""

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from operator import attrgetter
from typing import Any

import msgspec

from fairshare.errors import JournalError


class Kind(msgspec.Struct, frozen=True):
    """A class whose objects are stored, the fields that are stored, and those that are not.

    `derived` fields follow from the others: `derive`, a method of the class if nothing else is
    said, makes them when all objects have their stored fields. `defaults` may be missing in a
    snapshot, as an earlier version did not have them: a structure's own, or those that a class
    names in `LATER_FIELDS`. `names` leads from a name to the object, for those that are not copied
    at all. `structure`: made with all its fields at once.
    `unguarded`: an object may have undeclared fields.
    """

    tag: str
    cls: type
    fields: tuple[str, ...]
    derived: frozenset[str]
    defaults: Mapping[str, object]
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
        self.packed: set[type] = set()

    def add_packed(self, packed: type, cls: type) -> None:
        """Objects of a packed class are written as what their method `open` returns, which has a
        tag, and come back as that."""
        self.packed.add(packed)
        self._by_class[packed] = self._by_class[cls]

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
        defaults: Mapping[str, object] = getattr(cls, "LATER_FIELDS", {})
        if structure:  # it fills them in itself
            fields_of = msgspec.structs.fields(cls)
            defaults = {field.name: None for field in fields_of if not field.required}
        self.by_tag[tag] = self._by_class[cls] = Kind(
            tag,
            cls,
            tuple(name for name in fields or own if name not in derived),
            frozenset(derived),
            defaults,
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
        kind = self._of_class(cls)
        if kind is None:
            for _ in self.add_missing(cls.__module__):
                kind = self._of_class(cls)
                if kind is not None:
                    break
        return kind

    def _of_class(self, cls: type) -> Kind | None:
        kind = self._by_class.get(cls)
        if kind is None:
            bases = (self._by_class.get(one) for one in cls.__mro__)
            kind = next((one for one in bases if one is not None and one.names is not None), None)
        return kind


def declared_fields(cls: type) -> tuple[str, ...]:
    """The fields that a class itself declares: of a structure, or its slots."""
    if issubclass(cls, msgspec.Struct):
        return tuple(cls.__struct_fields__)
    return tuple(name for one in reversed(cls.__mro__) for name in vars(one).get("__slots__", ()))


Value = Any
Way = Callable[[Any], Value]

# Values that are not a row.
TUPLE, FROZENSET, ENUM, NAMED, LONG, ABSENT = -1, -2, -3, -4, -5, -6
# Rows without fields.
LIST, DICT, SET, DEQUE = -10, -11, -12, -13

_PLAIN = frozenset({str, bool, float, bytes, type(None)})
_LEAST, _MOST = -(2**63), 2**63  # of whole numbers that MessagePack has


_EMPTY: dict[int, type] = {LIST: list, DICT: dict, SET: set}


class Absent:
    """A field that an object has not been given yet."""


ABSENT_FIELD = Absent()


class Writer(dict[type, Way]):
    """How values of each class are written; the ways are made when they are first needed.

    Objects are written one after the other and not within each other, so that no depth is too much.
    Only structures and tuples are written with what they hold: they cannot be made without it.
    """

    def __init__(self, kinds: Kinds) -> None:
        super().__init__()
        self.rows: list[Value] = []
        self.headers: list[Value] = []
        self._kinds = kinds
        self._numbers: dict[int, int] = {}
        self._todo: list[Any] = []
        self._row_of: dict[type, Way] = {}
        self._places: dict[tuple[str, tuple[str, ...]], int] = {}
        self[int] = lambda number: [LONG, str(number)]
        self[tuple] = self._sequence(TUPLE)
        self[frozenset] = self._sequence(FROZENSET)
        self[Absent] = lambda _: [ABSENT]
        self[list] = self.later(list, self._sequence(LIST))
        self[set] = self.later(set, self._sequence(SET))
        self[dict] = self.later(dict, self._mapping)
        self[deque] = self.later(deque, self._deque)

    def as_table(self, kind: type) -> None:
        """Write objects of a class derived from `dict` as dictionaries."""
        self[kind] = self.later(kind, self._mapping)

    def write(self, root: dict[str, Any]) -> list[Value]:
        """Some objects by name, as data; once. Raises JournalError for what does not belong
        there."""
        parts = [[name, self[type(part)](part)] for name, part in root.items()]
        rows, numbers, row_of = self.rows, self._numbers, self._row_of
        for one in self._todo:  # which becomes longer meanwhile
            rows[numbers[id(one)]] = row_of[type(one)](one)
        self.clear()  # the ways lead back here: else all that was written waits for the collector
        row_of.clear()
        return [self.headers, rows, parts]

    def __missing__(self, kind: type) -> Way:
        way = self._way(kind)
        self[kind] = way
        return way

    def _way(self, kind: type) -> Way:
        stored = self._kinds.of_class(kind)
        if stored is None:
            raise JournalError(
                f"{kind.__module__}.{kind.__qualname__} does not belong into a snapshot: it has no"
                " tag in `snapshot.py`"
            )
        if kind in self._kinds.packed:
            return self._opened
        place = self.place(stored.tag, stored.fields)
        if stored.names is not None:
            return lambda one: [NAMED, place, one.name]
        if issubclass(kind, Enum):
            return lambda one: [ENUM, place, one.value]
        row = self._row(place, stored)
        return self.at_once(row) if stored.structure else self.later(kind, row)

    def place(self, tag: str, fields: tuple[str, ...]) -> int:
        """The number of a kind with these fields."""
        place = self._places.setdefault((tag, fields), len(self.headers))
        if place == len(self.headers):
            self.headers.append([tag, list(fields)])
        return place

    def each(self, values: Any) -> list[Value]:
        """Each of them as a value."""
        return [
            v if (t := type(v)) in _PLAIN or (t is int and _LEAST <= v < _MOST) else self[t](v)
            for v in values
        ]

    def at_once(self, row: Way) -> Way:
        """The way of what is written together with what it holds."""
        rows, numbers = self.rows, self._numbers

        def way(value: Any) -> Value:
            number = numbers.get(id(value))
            if number is None:
                written = row(value)
                number = numbers[id(value)] = len(rows)
                rows.append(written)
            return [number]

        return way

    def _opened(self, ended: Any) -> Value:
        """What is packed, as what it opens to; `later` keeps that until all is written."""
        number = self._numbers.get(id(ended))
        if number is None:
            whole = ended.open()
            [number] = self[type(whole)](whole)
            self._numbers[id(ended)] = number
        return [number]

    def later(self, kind: type, row: Way) -> Way:
        rows, numbers, todo = self.rows, self._numbers, self._todo
        self._row_of[kind] = row

        def way(value: Any) -> Value:
            number = numbers.get(id(value))
            if number is None:
                number = numbers[id(value)] = len(rows)
                rows.append(None)
                todo.append(value)
            return [number]

        return way

    def _row(self, place: int, kind: Kind) -> Way:
        fields = kind.fields
        get = attrgetter(*fields) if len(fields) > 1 else None
        names = {*fields, *kind.derived}
        ways = self

        def row(instance: Any) -> Value:
            if kind.unguarded and not vars(instance).keys() <= names:
                raise JournalError(
                    f"{type(instance).__module__}.{type(instance).__qualname__} has fields that"
                    " `snapshot.py` does not name:"
                    f" {', '.join(sorted(vars(instance).keys() - names))}"
                )
            try:
                values = get(instance) if get else [getattr(instance, name) for name in fields]
            except AttributeError:
                values = [getattr(instance, name, ABSENT_FIELD) for name in fields]
            return [
                place,
                *[
                    v
                    if (t := type(v)) in _PLAIN or (t is int and _LEAST <= v < _MOST)
                    else ways[t](v)
                    for v in values
                ],
            ]

        return row

    def _sequence(self, head: int) -> Way:
        ways = self

        def way(found: Any) -> Value:
            return [
                head,
                *[
                    v
                    if (t := type(v)) in _PLAIN or (t is int and _LEAST <= v < _MOST)
                    else ways[t](v)
                    for v in found
                ],
            ]

        return way

    def _mapping(self, found: dict[Any, Any]) -> Value:
        return [DICT, *self.each(found), *self.each(found.values())]

    def _deque(self, found: deque[Any]) -> Value:
        return [DEQUE, found.maxlen, *self.each(found)]


class Reader:
    """Makes new objects of data. Whatever is wrong with the data is an exception of some kind."""

    def __init__(self, kinds: Kinds, data: list[Value]) -> None:
        headers, self._rows, self._parts = data
        self._made: list[Any] = [None] * len(self._rows)
        self._forms = [_Form(kinds, tag, fields) for tag, fields in headers]

    def read(self) -> dict[str, Any]:
        made, forms, rows = self._made, self._forms, self._rows
        structures, others = [], []
        for number, row in enumerate(rows):
            head = row[0]
            if head < 0:
                made[number] = deque(maxlen=row[1]) if head == DEQUE else _EMPTY[head]()
            elif forms[head].kind.structure:
                structures.append(number)
                continue
            else:
                made[number] = forms[head].kind.new()
            others.append(number)
        for number in structures:
            row = rows[number]
            made[number] = forms[row[0]].structure(self._values(row[1:]))
        for number in others:
            self._fill(made[number], rows[number])
        for number in others:
            head = rows[number][0]
            derive = forms[head].kind.derive if head >= 0 else None
            if derive is not None:
                derive(made[number])
        return {name: self._values([part])[0] for name, part in self._parts}

    def _values(self, found: Any) -> list[Any]:
        return [self._value(one) if type(one) is list else one for one in found]

    def _value(self, value: list[Value]) -> Any:
        head = value[0]
        if head >= 0:
            return self._made[head]
        if head == TUPLE:
            return tuple([self._value(one) if type(one) is list else one for one in value[1:]])
        if head == FROZENSET:
            return frozenset(self._values(value[1:]))
        if head in (ENUM, NAMED):
            return self._forms[value[1]].named(value[2])
        if head == LONG:
            return int(value[1])
        if head == ABSENT:
            return ABSENT_FIELD
        raise ValueError(f"no value is written as {head}")

    def _fill(self, value: Any, row: list[Value]) -> None:
        head = row[0]
        if head >= 0:
            self._forms[head].fill(value, self._values(row[1:]))
        elif head == DICT:
            half = (len(row) + 1) // 2
            keys, values = self._values(row[1:half]), self._values(row[half:])
            value.update(zip(keys, values, strict=True))
        elif head == SET:
            value.update(self._values(row[1:]))
        else:
            value.extend(self._values(row[2:] if head == DEQUE else row[1:]))


class _Form:
    """A kind, with the names of its fields in the order in which a snapshot has them."""

    def __init__(self, kinds: Kinds, tag: str, names: list[str]) -> None:
        kind = kinds.of_tag(tag)
        if kind is None:
            raise ValueError(f"{tag} is nothing that this version knows")
        unknown = [name for name in names if name not in kind.fields]
        if unknown:
            raise ValueError(f"{tag} has {', '.join(unknown)}, which this version does not know")
        missing = [n for n in kind.fields if n not in names and n not in kind.defaults]
        if missing:
            raise ValueError(f"{tag} has no {', '.join(missing)}")
        self.kind = kind
        self._names = names
        self._later = [name for name in kind.defaults if name not in names]
        # Faster than by name; a structure may have fields that are given by name only.
        self._by_position = tuple(names) == getattr(kind.cls, "__match_args__", None)

    def structure(self, values: list[Any]) -> Any:
        """A structure of its values."""
        if self._by_position:
            return self.kind.cls(*values)
        return self.kind.cls(**dict(zip(self._names, values, strict=True)))

    def fill(self, instance: Any, values: list[Any]) -> None:
        """Give an object what was written of it."""
        for name, value in zip(self._names, values, strict=True):
            if value is not ABSENT_FIELD:
                setattr(instance, name, value)
        for name in self._later:
            setattr(instance, name, self.kind.defaults[name])

    def named(self, value: Any) -> Any:
        """A member of an enumeration, or the object of a name."""
        if self.kind.names is not None:
            return self.kind.names(value)
        return self.kind.cls(value)
