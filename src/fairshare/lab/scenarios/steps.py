"""The steps of a scenario and the nodes and asks within them, as frozen data: one struct for each,
from which it is read, and the reference page and the JSON Schema are made.

The first sentence of a step's docstring says on the page what the step does. Resources are amounts
by the name of their type, as the file has them; times are milliseconds. Each step knows the line
that it is in, and what its file says that must go wrong: `error` is the text that the refusal must
contain, True for any refusal, None when nothing may be refused. A new step is a struct here, a row
of `STEPS`, and its handler in a runner. The steps of MapReduce are in `job_steps.py`.
"""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Final, NamedTuple

import msgspec
from msgspec import field

from fairshare.core.manager.requests import DEFAULT_RACK
from fairshare.documents.located import Node as Located
from fairshare.documents.structs import NOT_A_KEY, At, Doc, KeysNamed, keys_of, read, schema_of
from fairshare.documents.values import (
    BOOLEAN,
    TEXT,
    TEXTS,
    Reader,
    Schema,
    Value,
    amounts,
    by_name,
    duration,
    either,
    one_of,
    whole,
)
from fairshare.settings.registry import all_families
from fairshare.settings.shell import FILE as OWN_FILE

Amounts = dict[str, int]

ALL_NODES: Final = "all"


def _read_refusal(reader: Reader, node: Located, what: str) -> str | bool | None:
    """`error: text`, or `error: true` for any text; false is as good as nothing."""
    if node.scalar is False:
        return None
    return True if node.scalar is True else reader.text(node, what)


def _read_nodes(reader: Reader, node: Located, what: str) -> tuple[str, ...] | None:
    """A text, or a list of texts."""
    if node.items is not None:
        nodes: tuple[str, ...] = TEXTS.read(reader, node, what)
        return nodes
    return _read_one_node(reader, node, what)


def _read_one_node(reader: Reader, node: Located, what: str) -> tuple[str, ...] | None:
    name = reader.text(node, what)
    return None if name is None else (name,)


def _read_exclusivities(reader: Reader, node: Located, what: str) -> dict[str, bool]:
    """`{x: exclusive, y: shared}`."""
    words: dict[str, str] = by_name(one_of(("exclusive", "shared")), "").read(reader, node, what)
    return {name: word == "exclusive" for name, word in words.items()}


def _reloaded_files() -> tuple[str, ...]:
    """The files that some scheduler reads again while it runs."""
    names = (name for family in all_families().values() for name in family.reloaded_files)
    return tuple(dict.fromkeys((*names, OWN_FILE)))


REFUSAL: Final = Value(TEXT.schema, "text, or `true`", _read_refusal)
PROPERTIES: Final = by_name(TEXT, "values by name; an empty one removes the property", empty=None)
NAME: Final = Value(
    TEXT.schema, TEXT.words, lambda reader, node, what: reader.text(node, what) or None
)
"""A text; an empty one is none."""
COUNT: Final = whole(0)
AMOUNTS: Final = amounts()
DURATION: Final = duration("s")
_FILES: Final = KeysNamed(_reloaded_files(), TEXT)
_NEW_TEXT: Final = Doc("the new text of this file", "unchanged", empty="")


def words_for(value: Value, words: str) -> Value:
    """A kind of value under another name."""
    return msgspec.structs.replace(value, words=words)


class Node(msgspec.Struct, frozen=True, kw_only=True):
    """A node."""

    name: Annotated[str, Doc("its name; with `count`, `NAME1`, `NAME2` ...")]
    count: Annotated[
        int | None,
        whole(0, 100_000),
        Doc("the number of equal nodes", "one node `NAME`", filled=True),
    ] = None
    resources: Annotated[Amounts, AMOUNTS, Doc("the resources of each node")]
    rack: Annotated[str, Doc("the rack of the node")] = DEFAULT_RACK
    label: Annotated[str, Doc("the partition that it reports")] = ""

    @property
    def names(self) -> tuple[str, ...]:
        """`{name: n, count: 3}` is n1, n2, n3; without `count` it is n alone."""
        if self.count is None:
            return (self.name,)
        return tuple(f"{self.name}{number}" for number in range(1, self.count + 1))


class Ask(msgspec.Struct, frozen=True):
    """An ask.

    `location` excludes `hosts` and `racks`.
    """

    RULES: ClassVar[Schema] = {
        "not": {
            "required": ["location"],
            "properties": {"location": {"type": ["string", "number", "boolean"], "minLength": 1}},
            "anyOf": [
                {"required": [key], "properties": {key: {"type": "array", "minItems": 1}}}
                for key in ("hosts", "racks")
            ],
        }
    }

    resources: Annotated[Amounts, AMOUNTS, Doc("the size of each container")]
    count: Annotated[int, Doc("the number of containers")] = 1
    priority: Annotated[int, Doc("the priority of the request")] = 1
    request: Annotated[int, Doc("the allocation request id")] = field(name="id", default=0)
    hosts: Annotated[tuple[str, ...], Doc("the preferred nodes", "anywhere")] = ()
    racks: Annotated[tuple[str, ...], Doc("the preferred racks", "anywhere")] = ()
    relax: Annotated[bool, Doc("whether other nodes are acceptable")] = True
    location: Annotated[
        str, Doc("one node or rack, by its name in the protocol", "`hosts` and `racks`")
    ] = ""
    duration_ms: Annotated[
        int | None, DURATION, Doc("how long each container runs in `run`", "until `finish`")
    ] = field(name="duration", default=None)
    label: Annotated[str | None, Doc("the partition", "the queue's default")] = None

    def check(self, at: At) -> None:
        """A place is given in one way."""
        if self.location and (self.hosts or self.racks):
            at.wrong("an ask has either a location, or hosts and racks")


class Short(NamedTuple):
    """What a step may hold instead of a mapping, and the field that this is."""

    field: str
    value: Value


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """What every step has.

    One with `SHORT` and no keys has no other form.
    """

    SHORT: ClassVar[Short | None] = None

    line: Annotated[int, NOT_A_KEY] = 0
    kind: Annotated[str, NOT_A_KEY] = ""
    error: Annotated[str | bool | None, NOT_A_KEY] = None


class Refusable(Step, frozen=True, kw_only=True):
    """A step that a scheduler may refuse."""

    error: Annotated[
        str | bool | None,
        REFUSAL,
        Doc("the step must be rejected with this text; `true`: any text", "no error"),
    ] = None


ONE: Final = Short("app", words_for(TEXT, "the application"))
PASSES: Final = Short("passes", words_for(COUNT, "number of passes"))
ON: Final = Short("on", BOOLEAN)
NODES: Final = Short(
    "nodes", either(TEXT, TEXTS, words="a node, a list of nodes, or `all`", read=_read_nodes)
)
_APP: Final = Doc("the application")
_ASKS: Final = "list of [asks](#an-ask)"


class Submit(Refusable, frozen=True):
    """Submits an application."""

    app: Annotated[str, Doc("its name in this file")]
    user: Annotated[str, Doc("its user")] = "user"
    queue: Annotated[str, Doc("the requested queue")] = "default"
    name: Annotated[str, Doc("its name")] = ""
    priority: Annotated[int | None, Doc("its priority", "the queue's default")] = None
    master: Annotated[Amounts | None, AMOUNTS, Doc("the container of its ApplicationMaster")] = (
        field(name="am", default=None)
    )
    tags: Annotated[tuple[str, ...], Doc("its tags")] = ()
    asks: Annotated[tuple[Ask, ...], Doc("its resource requests", words=_ASKS)] = ()
    recovering: Annotated[bool, Doc("whether it is recovered after a restart")] = False
    label: Annotated[str | None, Doc("the partition of its asks", "the queue's default")] = None
    master_label: Annotated[
        str | None, Doc("the partition of its ApplicationMaster", "that of `label`")
    ] = field(name="am_label", default=None)


class AskMore(Refusable, frozen=True):
    """Adds resource requests of a running application."""

    app: Annotated[str, _APP]
    asks: Annotated[tuple[Ask, ...], Doc("its resource requests", words=_ASKS)]


class Heartbeat(Step, frozen=True):
    """Nodes send heartbeats, and get containers."""

    SHORT = NODES

    nodes: Annotated[
        tuple[str, ...],
        Value(TEXT.schema, TEXT.words, _read_one_node),
        Doc("the node, or `all`", needed=True),
    ] = field(name="node", default=())
    times: Annotated[int, COUNT, Doc("the number of heartbeats")] = 1


class Update(Step, frozen=True):
    """Runs passes of the scheduler's update: shares, starvation."""

    SHORT = PASSES

    passes: Annotated[int, NOT_A_KEY]


class Preempt(Step, frozen=True):
    """Runs passes of the preemption monitor."""

    SHORT = PASSES

    passes: Annotated[int, NOT_A_KEY]


class Advance(Step, frozen=True):
    """Lets time pass without other events."""

    SHORT = Short("duration_ms", DURATION)

    duration_ms: Annotated[int, NOT_A_KEY]


class Finish(Refusable, frozen=True):
    """Ends an application, or a number of its containers, oldest first, with success."""

    SHORT = ONE
    RULES: ClassVar[Schema] = {"dependencies": {"on": ["containers"]}}

    app: Annotated[str, _APP]
    containers: Annotated[
        int | None,
        COUNT,
        Doc("the number of its containers", "the whole application", filled=True),
    ] = None
    on: Annotated[str | None, NAME, Doc("only containers on this node", "any node")] = None

    def check(self, at: At) -> None:
        """A node is that of containers."""
        entries = at.node.entries or {}
        if "on" in entries and "containers" not in entries:
            at.wrong(f"{at.what} needs a value for 'containers'")


class Kill(Refusable, frozen=True):
    """Kills an application."""

    SHORT = ONE

    app: Annotated[str, _APP]


class Move(Refusable, frozen=True):
    """Moves an application to another queue."""

    app: Annotated[str, _APP]
    queue: Annotated[str, Doc("the queue")]


class SetPriority(Refusable, frozen=True):
    """Changes an application's priority."""

    app: Annotated[str, _APP]
    priority: Annotated[int, Doc("the new value")]


class ChangeLabels(Refusable, frozen=True):
    """Adds partitions, removes partitions, and assigns nodes to them, in this order."""

    add: Annotated[
        dict[str, bool],
        Value(
            {"type": "object", "additionalProperties": {"enum": ["exclusive", "shared"]}},
            "`{x: exclusive, y: shared}`",
            _read_exclusivities,
        ),
        Doc("partitions"),
    ] = {}
    remove: Annotated[tuple[str, ...], Doc("partitions to remove")] = ()
    nodes: Annotated[
        dict[str, str],
        by_name(TEXT, "`{n1: x}`", empty=""),
        Doc("the partition of nodes", "unchanged"),
    ] = {}


class Resized(msgspec.Struct, frozen=True):
    """A node that offers another amount."""

    name: Annotated[str, Doc("the node")]
    resources: Annotated[Amounts, AMOUNTS, Doc("its new resources")]


class ChangeNode(Step, frozen=True):
    """Adds, removes, resizes or drains a node, or ends its draining.

    The step must have exactly one of these keys.
    """

    CHANGES: ClassVar = ("add", "remove", "resize", "drain", "undrain")
    RULES: ClassVar[Schema] = {
        "oneOf": [
            {"required": [name], "properties": {name: {"not": {"type": "null"}}}}
            for name in CHANGES
        ]
    }

    add: Annotated[Node | None, Doc("the nodes to add", words="a [node](#a-node)")] = None
    remove: Annotated[str | None, Doc("the node that is lost")] = None
    resize: Annotated[
        Resized | None, Doc("the node to resize", words="`{name: n1, resources: {...}}`")
    ] = None
    drain: Annotated[str | None, Doc("the node to drain")] = None
    undrain: Annotated[str | None, Doc("the node to accept containers again")] = None

    def check(self, at: At) -> None:
        """There is one change."""
        if sum(at.has(key) for key in self.CHANGES) != 1:
            listed = ", ".join(self.CHANGES[:-1])
            at.wrong(f"node needs one of {listed} and {self.CHANGES[-1]}")


class SafeMode(Step, frozen=True):
    """Turns safe mode on or off: no admission, no allocation."""

    SHORT = ON

    on: Annotated[bool, NOT_A_KEY]


class Book(Refusable, frozen=True, kw_only=True):
    """Promises resources to a queue, or to a user there (`fairshare reserve`)."""

    name: Annotated[str, Doc("its name")]
    queue: Annotated[str, Doc("the queue that gets the resources")]
    user: Annotated[str, Doc("only this user, in that queue")] = ""
    resources: Annotated[Amounts, AMOUNTS, Doc("how much of the cluster")]
    from_ms: Annotated[int, DURATION, Doc("when it begins, counted from now", "now")] = field(
        name="from", default=0
    )
    length_ms: Annotated[int, DURATION, Doc("how long it lasts")] = field(name="for")
    replace: Annotated[bool, Doc("whether it takes the place of the one that has this name")] = (
        False
    )


class CancelBooking(Refusable, frozen=True):
    """Cancels a booking."""

    SHORT = Short("booking", words_for(TEXT, "the booking"))

    booking: Annotated[str, Doc("the booking")]


class Write(Step, frozen=True):
    """Changes files without reloading them."""

    files: Annotated[dict[str, str], _FILES, _NEW_TEXT] = {}


class Reload(Refusable, frozen=True):
    """Changes files and properties and reloads them; `{}` is the periodic check."""

    files: Annotated[dict[str, str], _FILES, _NEW_TEXT] = {}
    properties: Annotated[dict[str, str | None], PROPERTIES, Doc("properties to change")] = {}


class Blacklist(Refusable, frozen=True):
    """Changes the blacklist of an application."""

    app: Annotated[str, _APP]
    add: Annotated[tuple[str, ...], Doc("nodes and racks to add to the blacklist")] = ()
    remove: Annotated[tuple[str, ...], Doc("nodes and racks to remove from it")] = ()


class Release(Refusable, frozen=True):
    """Releases the oldest containers of an application."""

    app: Annotated[str, _APP]
    containers: Annotated[int, COUNT, Doc("the number of containers")] = 1


class Run(Step, frozen=True):
    """Lets time pass as on a cluster: with heartbeats, updates, and ends of containers."""

    duration_ms: Annotated[int, DURATION, Doc("the duration")] = field(name="for")
    heartbeat_ms: Annotated[int, DURATION, Doc("the time between heartbeats; 0: none", "`1s`")] = (
        field(name="heartbeat", default=1000)
    )


class Check(msgspec.Struct, frozen=True):
    """One expected value. `where` is its path (`apps.a1.containers`)."""

    where: tuple[str, ...]
    expected: Any
    line: int


class Expect(Step, frozen=True, kw_only=True):
    """States what must hold now."""

    checks: tuple[Check, ...]


COMMON: Final[Mapping[str, type[Step]]] = {
    "update": Update,
    "advance": Advance,
    "kill": Kill,
    "move": Move,
    "node": ChangeNode,
    "safe_mode": SafeMode,
    "reload": Reload,
    "write": Write,
    "book": Book,
    "cancel_booking": CancelBooking,
}
"""The steps of all schedulers."""

STEPS: Final[Mapping[str, type[Step]]] = {
    "submit": Submit,
    "ask": AskMore,
    "heartbeat": Heartbeat,
    "finish": Finish,
    "set_priority": SetPriority,
    "labels": ChangeLabels,
    "preempt": Preempt,
    "blacklist": Blacklist,
    "release": Release,
    "run": Run,
    **COMMON,
}


def step_schema(step: type[Step]) -> Schema:
    """What the step's name may hold."""
    forms = [step.SHORT.value.schema] if step.SHORT else []
    forms += [schema_of(step)] if keys_of(step) else []
    return forms[0] if len(forms) == 1 else {"anyOf": forms}


def read_step(step: type[Step], kind: str, node: Located, line: int, reader: Reader) -> Step | None:
    """The step in a line of a file; None after a mistake, which is reported."""
    before, short = reader.mistakes, step.SHORT
    if short is not None and (node.entries is None or not keys_of(step)):
        value = short.value.read(reader, node, kind)
        made = None if value is None else step(**{short.field: value})
    else:
        made = read(node, step, reader, kind)
    if made is None or reader.mistakes > before:
        return None
    return msgspec.structs.replace(made, line=line, kind=kind)
