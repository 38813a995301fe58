"""Owns the form of a snapshot: a whole state as bytes, and back, of this release or an older one.

A snapshot holds objects by the names of their classes and fields. When it was written by the same
classes it is read as it stands. When a class has changed since (`layout`), it is read with
patience: a field that exists no more is left out, one that is new gets what `ADDED` says. The rule
for who changes a class of the core is thus the one of events: a field may be added with a default.

Only classes of the core and a few containers of Python are ever made, whatever the bytes say.
Knows no file and no journal.
"""

import hashlib
import io
import pickle
import sys
import zlib
from collections.abc import Iterator
from copy import deepcopy
from typing import Any, ClassVar

from fairshare.errors import JournalError
from fairshare.journal.protocol import Snapshot
from fairshare.manager.resource_manager import ResourceManager

_CORE = (
    "fairshare.model.",
    "fairshare.placement.",
    "fairshare.schedulers.",
    "fairshare.manager.",
)
_ROOMS = (*_CORE, "fairshare.live.")
_PYTHON = {
    ("builtins", "getattr"),  # how a bound method is written
    ("builtins", "set"),
    ("builtins", "frozenset"),
    ("collections", "Counter"),
    ("collections", "OrderedDict"),
    ("collections", "defaultdict"),
    ("collections", "deque"),
    ("copyreg", "__newobj__"),
    ("copyreg", "_reconstructor"),
    ("builtins", "object"),
    ("builtins", "dict"),
    ("builtins", "list"),
    ("builtins", "int"),
    ("fractions", "Fraction"),
    ("decimal", "Decimal"),
}
_DEPTH = 10_000
"""Objects within objects: a tree of queues with its applications is some hundred deep."""

ADDED: dict[str, dict[str, Any]] = {
    "fairshare.model.operations.Operations": {"drains": {}, "safe_mode": False},
    "fairshare.schedulers.capacity.applications.CapacityApplication": {"asked": {}},
}
"""Fields that a class has gained since the first release with snapshots, and what they are in an
older one: `{"fairshare.model.nodes.Node": {"label": ""}}`."""


def freeze(sequence: int, now_ms: int, parts: dict[str, Any]) -> Snapshot:
    """A snapshot of some objects by name; what they share is written once.

    The objects must be of the core's classes. They are not changed.
    """
    with _Deep():
        body = pickle.dumps(parts, protocol=5)
    return Snapshot(sequence, now_ms, layout(), zlib.compress(body, 1))


def thaw(snapshot: Snapshot) -> dict[str, Any]:
    """The objects of a snapshot, new ones. Raises JournalError if it cannot be read."""
    kind = _Reader if snapshot.layout == layout() else _PatientReader
    try:
        with _Deep():
            parts = kind(io.BytesIO(zlib.decompress(snapshot.body))).load()
    except Exception as error:
        raise JournalError(
            f"the snapshot behind record {snapshot.sequence} cannot be read ({error!r}): it is "
            "damaged, or was written by another version of fairshare"
        ) from error
    if not isinstance(parts, dict):
        raise JournalError(f"the snapshot behind record {snapshot.sequence} holds something else")
    manager = parts.get("manager")
    if kind is _PatientReader and isinstance(manager, ResourceManager):
        _teach(manager)
    return parts


def _teach(manager: ResourceManager) -> None:
    """Let a manager that an older release wrote know the inputs and events that are new.

    Its tables hold bound methods by name: what a fresh one has besides is looked up by name too.
    """
    state = manager.state
    fresh = ResourceManager(type(manager.scheduler)(state.types))  # type: ignore[call-arg]
    for owner, table, newer in (
        (state, state.handlers, fresh.state.handlers),
        (manager, manager._inputs, fresh._inputs),
    ):
        for kind, method in newer.items():
            if kind not in table:
                table[kind] = getattr(owner, method.__name__)


def layout() -> str:
    """A fingerprint of the core's classes and their fields, as they are in this process.

    All rooms that a state may come from are loaded first, so that it does not depend on what was
    used before.
    """
    import fairshare.manager.resource_manager
    import fairshare.schedulers.registry  # noqa: F401

    digest = hashlib.sha256()
    for line in sorted(_class_lines()):
        digest.update(line.encode() + b"\n")
    return digest.hexdigest()[:32]


def _class_lines() -> Iterator[str]:
    for name, module in list(sys.modules.items()):
        if not name.startswith(_CORE):
            continue
        for kind in vars(module).values():
            if isinstance(kind, type) and kind.__module__ == name:
                fields = (f for c in kind.__mro__ for f in getattr(c, "__slots__", ()))
                structs = getattr(kind, "__struct_fields__", ())
                yield f"{name}.{kind.__qualname__}: {' '.join(sorted({*fields, *structs}))}"


class _Deep:
    """Python's own limit of depth is meant for programs that err."""

    def __enter__(self) -> None:
        self._before = sys.getrecursionlimit()
        sys.setrecursionlimit(max(self._before, _DEPTH))

    def __exit__(self, *_: object) -> None:
        sys.setrecursionlimit(self._before)


def _allowed(module: str, name: str) -> None:
    if (module, name) not in _PYTHON and not f"{module}.".startswith(_ROOMS):
        raise pickle.UnpicklingError(f"{module}.{name} does not belong into a snapshot")


class _Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        _allowed(module, name)
        return super().find_class(module, name)


class _PatientReader(pickle._Unpickler):
    """Slower, and forgiving of fields that have come or gone."""

    stack: list[Any]
    dispatch: ClassVar[dict[int, Any]] = dict(pickle._Unpickler.dispatch)

    def find_class(self, module: str, name: str) -> Any:
        _allowed(module, name)
        return super().find_class(module, name)

    def load_build(self) -> None:
        state = self.stack[-1]
        target = self.stack[-2]
        known = _fields(type(target))
        if known and isinstance(state, tuple) and len(state) == 2 and isinstance(state[1], dict):
            plain, slots = state
            kept = {name: value for name, value in slots.items() if name in known}
            for name, value in _added(type(target)).items():
                kept.setdefault(name, value)
            self.stack[-1] = (plain, kept)
        elif isinstance(state, dict):
            for name, value in _added(type(target)).items():
                state.setdefault(name, value)
        pickle._Unpickler.load_build(self)  # type: ignore[attr-defined]

    dispatch[pickle.BUILD[0]] = load_build


def _fields(kind: type) -> set[str]:
    return {name for one in kind.__mro__ for name in getattr(one, "__slots__", ())}


def _added(kind: type) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for one in kind.__mro__:
        found.update(deepcopy(ADDED.get(f"{one.__module__}.{one.__qualname__}", {})))
    return found
