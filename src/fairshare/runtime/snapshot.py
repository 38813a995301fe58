"""Owns the form of a snapshot: a whole state as bytes, and back, of this release or an older one.

A snapshot holds objects as their fields by name, and of each class a tag, which is the path that
the class had when its tag was first written: a class that has another path since stands in `MOVED`.
Beside the bytes stands which fields each class had (`layout`). Where all classes that a snapshot
has are as they were, it is read as it stands. Where one has changed, it is read with patience: a
field that exists no more is left out, one that is new gets what `ADDED` says or, in a frozen
structure, its default. A field that nothing is known of makes the snapshot unreadable, so that
whoever reads it goes on to an older one, or to the records: never to half a state.

Only classes of the core, books of the server and a few containers of Python are ever made, whatever
the bytes say. Knows no file and no journal.
"""

import dis
import io
import pickle
import sys
import zlib
from collections.abc import Iterator
from copy import deepcopy
from functools import cache, lru_cache
from typing import Any, ClassVar

import msgspec

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
_STORE = dis.opmap["STORE_ATTR"]
_DEPTH = 10_000
"""Objects within objects: a tree of queues with its applications is some hundred deep."""

MOVED: dict[str, str] = {}
"""Where classes are now whose tags are older paths: `{"fairshare.live.spans.Lives":
"fairshare.live.application_timeline.Timelines"}`."""

ADDED: dict[str, dict[str, Any]] = {
    "fairshare.model.operations.Operations": {
        "drains": {},
        "overcommits": {},
        "safe_mode": False,
    },
    "fairshare.model.machines.Machines": {"ending": {}, "_largest_node": None},
    "fairshare.model.nodes.Node": {"ending": {}},
    "fairshare.model.asks.AskKey": {"withdrawn": frozenset()},
    "fairshare.model.tasks.TaskBoard": {
        "_by_name": lambda fields: {group.spec.name: group for group in fields["groups"]}
    },
    "fairshare.schedulers.capacity.queues.CapacityQueue": {"divides_amounts": False},
    "fairshare.schedulers.capacity.state.CapacityState": {
        "departed": {},
        "most_nodes": lambda fields: len(fields["nodes"]),
    },
    "fairshare.schedulers.capacity.applications.CapacityApplication": {
        "asked": lambda fields: dict.fromkeys(key.label for key in fields["asks"].keys.values())
    },
}
"""Fields that a class has gained since the first release with snapshots, and what they are in an
older one: `{"fairshare.model.nodes.Node": {"label": ""}}`, or a function of the fields that it has.
Of the class's present path."""

Layout = dict[str, tuple[str, ...]]
"""The fields of classes, by tag. Those of a frozen structure stand in their order."""


def freeze(sequence: int, now_ms: int, parts: dict[str, Any]) -> Snapshot:
    """A snapshot of some objects by name; what they share is written once.

    The objects must be of the core's classes. They are not changed.
    """
    with _Deep():
        body = pickle.dumps(parts, protocol=5)
    return Snapshot(sequence, now_ms, layout(), zlib.compress(body, 1))


def thaw(snapshot: Snapshot) -> dict[str, Any]:
    """The objects of a snapshot, new ones. Raises JournalError if it cannot be read."""
    try:
        body = zlib.decompress(snapshot.body)
        with _Deep():
            parts = _load(body, _told_layout(snapshot.layout))
    except Exception as error:
        raise JournalError(
            f"the snapshot behind record {snapshot.sequence} cannot be read ({error!r}): it is "
            "damaged, or was written by another version of fairshare"
        ) from error
    if not isinstance(parts, dict):
        raise JournalError(f"the snapshot behind record {snapshot.sequence} holds something else")
    return parts


def _load(body: bytes, written: Layout | None) -> Any:
    if written is not None:
        try:
            return _Reader(io.BytesIO(body), written).load()
        except _ChangedError:
            pass
    parts = _PatientReader(io.BytesIO(body), written or {}).load()
    manager = parts.get("manager") if isinstance(parts, dict) else None
    if isinstance(manager, ResourceManager):
        _teach(manager)
    return parts


def _teach(manager: ResourceManager) -> None:
    """Let a manager that an older release wrote handle inputs and events as this one does.

    Its tables hold bound methods by name: they are made as those of a fresh one.
    """
    state = manager.state
    fresh = ResourceManager(type(manager.scheduler)(state.types))  # type: ignore[call-arg]
    for owner, table, newer in (
        (state, state.handlers, fresh.state.handlers),
        (manager, manager._inputs, fresh._inputs),
    ):
        table.clear()
        for kind, method in newer.items():
            table[kind] = getattr(owner, method.__name__)


def layout() -> str:
    """The fields of all classes that a snapshot may hold, as they are in this process, as JSON."""
    import fairshare.manager.resource_manager
    import fairshare.schedulers.registry  # noqa: F401

    return _layout_of(tuple(name for name in sys.modules if name.startswith(_ROOMS)))


@lru_cache(maxsize=2)
def _layout_of(modules: tuple[str, ...]) -> str:
    """The same for these modules; it takes a tenth of a second, and modules are loaded once."""
    found = {}
    for name in modules:
        for kind in vars(sys.modules[name]).values():
            if isinstance(kind, type) and kind.__module__ == name:
                found[f"{name}.{kind.__qualname__}"] = fields_of(kind)
    return msgspec.json.encode(found, order="sorted").decode()


def _told_layout(text: str) -> Layout | None:
    """What was written beside a snapshot; None: by a release that wrote a mere fingerprint."""
    return msgspec.json.decode(text, type=Layout) if text.startswith("{") else None


@cache
def fields_of(kind: type) -> tuple[str, ...]:
    """The fields of a class: those of its structure in their order, by which their values are
    written; or what its methods give to `self`, and its slots."""
    structure = getattr(kind, "__struct_fields__", None)
    if structure is not None:
        return tuple(structure)
    return tuple(sorted(_slots(kind) | _given_by_all(kind)))


def _given_by_all(kind: type) -> set[str]:
    return {name for one in kind.__mro__ for name in _given(one)}


def _given(kind: type) -> Iterator[str]:
    """The names that the methods of one class set on `self`."""
    for method in vars(kind).values():
        code = getattr(method, "__code__", None)
        if code is None or not code.co_varnames or _STORE not in code.co_code[::2]:
            continue
        myself, before = code.co_varnames[0], None
        for step in dis.get_instructions(code):
            if step.opcode == _STORE and before == myself:
                yield step.argval
            before = step.argval if step.opname.startswith("LOAD_FAST") else None
            if isinstance(before, tuple):  # newer versions of Python load two at once
                before = before[-1]


class _Deep:
    """Python's own limit of depth is meant for programs that err."""

    def __enter__(self) -> None:
        self._before = sys.getrecursionlimit()
        sys.setrecursionlimit(max(self._before, _DEPTH))

    def __exit__(self, *_: object) -> None:
        sys.setrecursionlimit(self._before)


class _ChangedError(Exception):
    """A class that a snapshot has is not as it was when it was written."""


def _place(module: str, name: str) -> tuple[str, str, str]:
    """The tag of a class, and where the class is now: its module and name."""
    tag = f"{module}.{name}"
    if (module, name) not in _PYTHON and not f"{module}.".startswith(_ROOMS):
        raise pickle.UnpicklingError(f"{tag} does not belong into a snapshot")
    if tag in MOVED:
        module, _, name = MOVED[tag].rpartition(".")
    return tag, module, name


class _Reader(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, written: Layout) -> None:
        super().__init__(file)
        self._written = written

    def find_class(self, module: str, name: str) -> Any:
        tag, module, name = _place(module, name)
        found = super().find_class(module, name)
        own = isinstance(found, type) and (module, name) not in _PYTHON
        if own and self._written.get(tag) != fields_of(found):
            raise _ChangedError(tag)
        return found


class _PatientReader(pickle._Unpickler):
    """Slower, and forgiving of fields that have come or gone."""

    stack: list[Any]
    dispatch: ClassVar[dict[int, Any]] = dict(pickle._Unpickler.dispatch)

    def __init__(self, file: io.BytesIO, written: Layout) -> None:
        super().__init__(file)
        self._written = written
        self._lacking: dict[type, tuple[str, ...]] = {}  # what an object cannot have had

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("builtins", "getattr"):
            return _getattr_if_there
        tag, module, name = _place(module, name)
        found = super().find_class(module, name)
        written = self._written.get(tag)
        if isinstance(found, type):
            self._lacking[found] = (
                tuple(_given_by_all(found))
                if written is None
                else tuple(name for name in fields_of(found) if name not in written)
            )
        structured = isinstance(found, type) and hasattr(found, "__struct_fields__")
        if not structured or written is None or written == fields_of(found):
            return found
        return _Structure(found, written)

    def load_build(self) -> None:
        state = self.stack[-1]
        target = self.stack[-2]
        kind: type = type(target)
        if isinstance(state, tuple) and len(state) == 2 and isinstance(state[1], dict):
            plain, slots = state
            known = _slots(kind)
            kept = {name: value for name, value in slots.items() if name in known}
            self._complete(kind, kept, plain or {})
            self.stack[-1] = (plain, kept)
        elif isinstance(state, dict) and not hasattr(kind, "__setstate__"):
            self._complete(kind, state, {})
        pickle._Unpickler.load_build(self)  # type: ignore[attr-defined]

    dispatch[pickle.BUILD[0]] = load_build

    def _complete(self, kind: type, fields: dict[str, Any], others: dict[str, Any]) -> None:
        """Give an object of an older release the fields that it lacks."""
        _add(kind, fields)
        lacking = self._lacking.get(kind, fields_of(kind))
        missing = [name for name in lacking if name not in fields and name not in others]
        if missing:
            raise pickle.UnpicklingError(
                f"{kind.__module__}.{kind.__qualname__} has no {', '.join(missing)}"
            )


class _Structure:
    """Makes a frozen structure of what one with other fields held."""

    def __init__(self, kind: type, written: tuple[str, ...]) -> None:
        self._kind = kind
        self._written = written

    def __call__(self, *values: Any) -> Any:
        found = dict(zip(self._written, values, strict=False))
        kept = {name: found[name] for name in fields_of(self._kind) if name in found}
        _add(self._kind, kept)
        return self._kind(**kept)


def _getattr_if_there(target: Any, name: str) -> Any:
    """A bound method; None if it has gone: `_teach` fills the tables that hold them."""
    return getattr(target, name, None)


@cache
def _slots(kind: type) -> set[str]:
    return {name for one in kind.__mro__ for name in vars(one).get("__slots__", ())}


def _add(kind: type, fields: dict[str, Any]) -> None:
    for one in kind.__mro__:
        for name, value in ADDED.get(f"{one.__module__}.{one.__qualname__}", {}).items():
            if name not in fields:
                fields[name] = value(fields) if callable(value) else deepcopy(value)
