"""Owns the reading of snapshots of 0.1.0 and of the releases before tags: nothing writes them.

They are pickles, whose classes are paths. No class of theirs is ever made and no function called:
each object becomes a `_Substitute` with its fields, and these become the data that `graph.Reader`
reads, by the tables of `stored.py` as any other. What was a path then, and in which order
structures had their fields, `pickled_classes.py` knows.
"""

import io
import pickle
from collections import deque
from collections.abc import Callable
from enum import Enum
from typing import Any, ClassVar

import msgspec

from fairshare.runtime.graph import ABSENT_FIELD, NAMED, Value, Way, Writer
from fairshare.runtime.kinds import Kind, Kinds
from fairshare.runtime.pickled_classes import STRUCTURES, TAGS

_CONTAINERS: dict[tuple[str, str], Any] = {
    ("builtins", "set"): set,
    ("builtins", "frozenset"): frozenset,
    ("collections", "deque"): deque,
}
_POLICY = ("fairshare.schedulers.fair.policies", "policy_named")

Layout = dict[str, tuple[str, ...]]
"""The fields of classes by their paths, as stored beside a snapshot."""


def data_of_pickle(body: bytes, layout: str, kinds: Kinds) -> list[Value]:
    """A pickled snapshot as data. Raises an exception of some kind if it is anything else."""
    # The first releases wrote a mere fingerprint.
    known = msgspec.json.decode(layout, type=Layout) if layout.startswith("{") else {}
    return _Translator(kinds).write(_Unpickler(io.BytesIO(body), kinds, known).load())


class _Substitute:
    """An object of an earlier release: what it was made of, and what it was given."""

    kind: ClassVar[Kind]
    written: ClassVar[tuple[str, ...]]
    seen: ClassVar[dict[str, None]]

    args: tuple[Any, ...]
    state: dict[str, Any]

    def __new__(cls, *args: Any) -> "_Substitute":
        one = super().__new__(cls)
        one.args = args
        one.state = {}
        return one

    def __init__(self, *args: Any) -> None:
        pass

    def __setstate__(self, state: Any) -> None:
        plain, slots = state if isinstance(state, tuple) else (state, None)
        self.state = {**(plain or {}), **(slots or {})}
        self.seen.update(dict.fromkeys(self.state))


class _Nothing:
    """An object without a tag: it may occur only in fields that are derived now."""

    def __new__(cls, *args: Any) -> "_Nothing":
        return super().__new__(cls)

    def __init__(self, *args: Any) -> None:
        pass

    def __setstate__(self, state: Any) -> None:
        pass


class _PolicyName:
    """A policy of the Fair Scheduler, which is never copied."""

    def __init__(self, name: str) -> None:
        self.name = name


def _no_method(*_: Any) -> None:
    """The stand-in for a bound method."""


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, kinds: Kinds, layout: Layout) -> None:
        super().__init__(file)
        self._kinds = kinds
        self._layout = layout
        self._found: dict[str, Any] = {}

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in _CONTAINERS:
            return _CONTAINERS[module, name]
        if (module, name) == ("builtins", "getattr"):
            return _no_method
        if (module, name) == _POLICY:
            return _PolicyName
        path = f"{module}.{name}"
        if not path.startswith("fairshare."):
            raise pickle.UnpicklingError(f"{path} does not belong into a snapshot")
        if path not in self._found:
            self._found[path] = self._substitute(path)
        return self._found[path]

    def _substitute(self, path: str) -> Any:
        kind = self._kinds.of_tag(TAGS.get(path, ""))
        if kind is None:
            return type(path, (_Nothing,), {})
        if issubclass(kind.cls, Enum):
            return kind.cls
        layout = self._layout.get(path, ())
        if kind.structure:
            return type(path, (_Substitute,), {"kind": kind, "written": layout or STRUCTURES[path]})
        seen = dict.fromkeys(name for name in layout if name in kind.fields)
        return type(path, (_Substitute,), {"kind": kind, "seen": seen})


class _Translator(Writer):
    """Writes stand-ins as the objects that they represent."""

    def _way(self, kind: type) -> Way:
        if issubclass(kind, _PolicyName):
            place = self.place("fair-policy", ())
            return lambda one: [NAMED, place, one.name]
        if not issubclass(kind, _Substitute):
            return super()._way(kind)
        if kind.kind.structure:
            return self.at_once(self._structure(kind))
        return self.later(kind, self._object(kind))

    def _structure(self, substitute: type[_Substitute]) -> Callable[[_Substitute], Value]:
        tag, written = substitute.kind.tag, substitute.written

        def row(one: _Substitute) -> Value:
            names = written[: len(one.args)]  # what came later came behind
            if len(names) != len(one.args):
                raise ValueError(f"{tag} has more fields than are known")
            return [self.place(tag, names), *self.each(one.args)]

        return row

    def _object(self, substitute: type[_Substitute]) -> Callable[[_Substitute], Value]:
        kind = substitute.kind
        names = tuple(name for name in substitute.seen if not kind.forgets(name))
        place = self.place(kind.tag, names)

        def row(one: _Substitute) -> Value:
            return [place, *self.each([one.state.get(name, ABSENT_FIELD) for name in names])]

        return row
