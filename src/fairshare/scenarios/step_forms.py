"""Owns the steps of a scenario as its file has them, one row for each: its keys, what each means,
and the step that they make (`steps.py`).

The reader, the reference page and the JSON Schema come from these rows. Runs nothing. A new step is
a row here, its data in `steps.py`, and its handler in a runner.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

import msgspec

from fairshare.config import fields as config_fields
from fairshare.config.located import Node
from fairshare.config.problems import Problems
from fairshare.config.yaml_form import (
    BOOLEAN,
    TEXT,
    TEXTS,
    Form,
    Key,
    Schema,
    Value,
    amounts,
    by_name,
    duration,
    either,
    form_named,
    list_of,
    whole,
)
from fairshare.families.registry import all_families
from fairshare.manager.requests import DEFAULT_RACK
from fairshare.scenarios import steps
from fairshare.scenarios.fields import Fields, Values, refusal_of


class StepForm(msgspec.Struct, frozen=True):
    """A step: what may be beside its name, what happens, and what makes it of its values.

    `short` is what it may hold instead of a mapping; without `keys` that alone. `note` and `more`
    are those of its form. `adapt` judges the values of several keys together, and returns those
    that `make` takes.
    """

    meaning: str
    make: Callable[..., steps.Step]
    keys: tuple[Key, ...] = ()
    note: str = ""
    more: Schema | None = None
    short: Key | None = None
    adapt: Callable[[Fields, dict[str, Any]], dict[str, Any]] | None = None

    def form(self, kind: str) -> Form:
        """The mapping that it may hold."""
        return Form(kind, self.keys, self.note, self.more)

    @property
    def schema(self) -> Schema:
        """What the step's name may hold."""
        found = [self.short.value.schema] if self.short else []
        found += [self.form("").schema] if self.keys else []
        return found[0] if len(found) == 1 else {"anyOf": found}

    def read(self, kind: str, node: Node, line: int, problems: Problems) -> steps.Step | None:
        """The step in a line of a file; None after a mistake, which is reported."""
        values: Values | Fields
        short = self.short
        if short is not None and (not self.keys or node.entries is None):
            assert short.value.read is not None, f"nothing reads {kind}"
            values = Values(problems)
            found = {short.name: short.value.read(values, node, kind)}
        else:
            values = Fields(node, kind, problems)
            found = values.read(self.form(kind))
            if self.adapt is not None:
                found = self.adapt(values, found)
        return None if values.mistakes else self.make(line=line, kind=kind, **found)


def reloaded_files() -> tuple[str, ...]:
    """The files that some scheduler reads again while it runs."""
    names = (name for family in all_families().values() for name in family.reloaded_files)
    return tuple(dict.fromkeys(names))


def read_files(fields: Fields, known: tuple[str, ...]) -> dict[str, str]:
    """The texts of files by their names."""
    return {name: fields.text(name) for name in known if name in fields.entries}


def read_properties(values: config_fields.Values, node: Node, what: str) -> dict[str, str | None]:
    """Values as they are written; None where there is none (`name: null` removes)."""
    fields = Fields(node, what, values.problems)
    found = ((name, fields.get(name)) for name in fields.entries)
    return {
        name: None if value is None else fields.text_of(value, fields.path(name))
        for name, value in found
    }


def _one_or_more_texts(values: config_fields.Values, node: Node, what: str) -> tuple[str, ...]:
    return (values.text_of(node, what),) if node.items is None else values.texts_of(node, what)


def _one_text(values: config_fields.Values, node: Node, what: str) -> tuple[str, ...]:
    return (values.text_of(node, what),)


def _text_or_none(values: config_fields.Values, node: Node, what: str) -> str | None:
    """A text; an empty one is none."""
    return values.text_of(node, what) or None


def _texts_by_name(values: config_fields.Values, node: Node, what: str) -> dict[str, str]:
    fields = Fields(node, what, values.problems)
    return {key: fields.text(key) for key in fields.entries}


def _exclusivities(values: config_fields.Values, node: Node, what: str) -> dict[str, bool]:
    """`{x: exclusive, y: shared}`."""
    found = {}
    for name, word in _texts_by_name(values, node, what).items():
        if word not in ("exclusive", "shared"):
            values.wrong(node.place, f"label {name} is exclusive or shared, not {word!r}")
        found[name] = word == "exclusive"
    return found


REFUSAL: Final = Value({"type": ["string", "number", "boolean"]}, "text, or `true`", refusal_of)
PROPERTIES: Final = msgspec.structs.replace(
    by_name(TEXT, "values by name; an empty one removes the property"), read=read_properties
)
ERROR: Final = Key(
    "error", REFUSAL, "the step must be rejected with this text; `true`: any text", "no error"
)
NAME: Final = msgspec.structs.replace(TEXT, read=_text_or_none)
_DURATION: Final = duration("s")
_AMOUNTS: Final = amounts()
APP: Final = Key("app", TEXT, "the application", needed=True)
NOT_NEGATIVE: Final = whole(0)
_NODES: Final = whole(0, 100_000)
PASSES: Final = Key("passes", msgspec.structs.replace(NOT_NEGATIVE, words="number of passes"), "")
ONE: Final = Key("app", msgspec.structs.replace(TEXT, words="the application"), "")
ON: Final = Key("on", BOOLEAN, "")
NODES: Final = Key(
    "nodes",
    either(TEXT, TEXTS, words="a node, a list of nodes, or `all`", read=_one_or_more_texts),
    "",
)
BEATING: Final = Key(
    "node",
    msgspec.structs.replace(TEXT, read=_one_text),
    "the node, or `all`",
    needed=True,
    field="nodes",
)
TIMES: Final = Key("times", NOT_NEGATIVE, "the number of heartbeats", "1")


def files_by_name(names: tuple[str, ...]) -> Value:
    """Texts of files."""
    text = {"anyOf": [TEXT.schema, {"type": "null"}]}
    properties = dict.fromkeys(names, text)
    words = "texts or paths of " + ", ".join(f"`{name}`" for name in names)
    return Value({"type": "object", "additionalProperties": False, "properties": properties}, words)


def config_of(names: tuple[str, ...]) -> Value:
    """Texts of files, or the directory that has them."""
    files = files_by_name(names)
    return Value({"anyOf": [files.schema, TEXT.schema]}, f"{files.words}; or a directory")


def needed_key(name: str, value: Value, meaning: str) -> Key:
    """A key that must be there."""
    return Key(name, value, meaning, needed=True)


def _one_needed(*names: str) -> Schema:
    """A rule: one of these keys, and one alone, has a value."""
    given = [
        {"required": [name], "properties": {name: {"not": {"type": "null"}}}} for name in names
    ]
    return {"oneOf": given}


NODE: Final = Form(
    "A node",
    (
        needed_key("name", TEXT, "its name; with `count`, `NAME1`, `NAME2` ..."),
        Key("count", _NODES, "the number of equal nodes", "one node `NAME`", filled=True),
        needed_key("resources", _AMOUNTS, "the resources of each node"),
        Key("rack", TEXT, "the rack of the node", f"`{DEFAULT_RACK}`"),
        Key("label", TEXT, "the partition that it reports", "none"),
    ),
)

ASK: Final = Form(
    "An ask",
    (
        needed_key("resources", _AMOUNTS, "the size of each container"),
        Key("count", whole(), "the number of containers", "1"),
        Key("priority", whole(), "the priority of the request", "1"),
        Key("id", whole(), "the allocation request id", "0", field="request"),
        Key("hosts", TEXTS, "the preferred nodes", "anywhere"),
        Key("racks", TEXTS, "the preferred racks", "anywhere"),
        Key("relax", BOOLEAN, "whether other nodes are acceptable", "`true`"),
        Key(
            "location", TEXT, "one node or rack, by its name in the protocol", "`hosts` and `racks`"
        ),
        Key(
            "duration",
            _DURATION,
            "how long each container runs in `run`",
            "until `finish`",
            field="duration_ms",
        ),
        Key("label", TEXT, "the partition", "the queue's default"),
    ),
    note="`location` excludes `hosts` and `racks`.",
    more={
        "not": {
            "required": ["location"],
            "properties": {"location": {"type": ["string", "number", "boolean"], "minLength": 1}},
            "anyOf": [
                {"required": [key], "properties": {key: {"type": "array", "minItems": 1}}}
                for key in ("hosts", "racks")
            ],
        }
    },
)


def read_nested(
    form: Form,
    make: Callable[[Fields, dict[str, Any]], Any],
    values: config_fields.Values,
    node: Node,
    what: str,
    name: str = "",
) -> Any:
    """What `make` makes of the values of a mapping in a step; None after a mistake. Messages name
    the mapping by `name`, without one by its path."""
    fields = Fields(node, name or what, values.problems)
    found = fields.read(form)
    made = None if fields.mistakes else make(fields, found)
    values.mistakes += fields.mistakes
    return None if fields.mistakes else made


def read_node_group(values: config_fields.Values, node: Node, what: str) -> steps.NodeGroup | None:
    """`{name: n, count: 3, ...}` is n1, n2, n3; without `count` it is n alone."""
    group: steps.NodeGroup | None = read_nested(NODE, _node_group, values, node, what)
    return group


def _node_group(fields: Fields, found: dict[str, Any]) -> steps.NodeGroup:
    name, count = found["name"], found.get("count")
    names = (name,) if count is None else tuple(f"{name}{n}" for n in range(1, count + 1))
    rack, label = found.get("rack", DEFAULT_RACK), found.get("label", "")
    return steps.NodeGroup(names, rack, found["resources"], label)


def _ask(fields: Fields, found: dict[str, Any]) -> steps.Ask:
    if found.get("location") and (found.get("hosts") or found.get("racks")):
        fields.wrong(fields.node.place, "an ask has either a location, or hosts and racks")
    return steps.Ask(**found)


_ASKS: Final = list_of(
    form_named("ask", "", partial(read_nested, ASK, _ask, name="ask")), "list of [asks](#an-ask)"
)

_RESIZED: Final = Form(
    "",
    (needed_key("name", TEXT, "the node"), needed_key("resources", _AMOUNTS, "its new resources")),
)


def _files(properties: bool) -> tuple[Key, ...]:
    meaning = "the new text of this file"
    files = tuple(Key(name, TEXT, meaning, "unchanged") for name in reloaded_files())
    changed = Key("properties", PROPERTIES, "properties to change", "none")
    return (*files, changed, ERROR) if properties else files


def _one_change(fields: Fields, found: dict[str, Any]) -> dict[str, Any]:
    if sum(fields.get(key) is not None for key in _CHANGES_OF_NODES) != 1:
        place, listed = fields.node.place, ", ".join(_CHANGES_OF_NODES[:-1])
        fields.wrong(place, f"node needs one of {listed} and {_CHANGES_OF_NODES[-1]}")
    return found


def _change_of_node(line: int, kind: str, **change: Any) -> steps.Step:
    ((name, value),) = change.items()
    match name:
        case "add":
            return steps.AddNodes(line=line, kind=kind, nodes=value)
        case "resize":
            return steps.ResizeNode(line=line, kind=kind, **value)
        case "remove":
            return steps.RemoveNode(line=line, kind=kind, name=value)
        case _:
            return steps.DrainNode(line=line, kind=kind, name=value, on=name == "drain")


def _with_files(fields: Fields, found: dict[str, Any]) -> dict[str, Any]:
    """The files of a step under one name; an empty one is an empty text."""
    others = {name: value for name, value in found.items() if name in ("properties", "error")}
    return {"files": read_files(fields, reloaded_files())} | others


def _counted_containers(fields: Fields, found: dict[str, Any]) -> dict[str, Any]:
    if "on" in fields.entries:
        fields.need("containers")
    return found


def _finish(**found: Any) -> steps.Step:
    make = steps.FinishContainers if "containers" in found else steps.FinishApplication
    return make(**found)


_CHANGES_OF_NODES: Final = ("add", "remove", "resize", "drain", "undrain")

COMMON: Final[Mapping[str, StepForm]] = {
    "update": StepForm(
        "runs passes of the scheduler's update: shares, starvation", steps.Update, short=PASSES
    ),
    "advance": StepForm(
        "lets time pass without other events",
        steps.Advance,
        short=Key("duration_ms", _DURATION, ""),
    ),
    "kill": StepForm("kills an application", steps.Kill, (APP, ERROR), short=ONE),
    "move": StepForm(
        "moves an application to another queue",
        steps.Move,
        (APP, needed_key("queue", TEXT, "the queue"), ERROR),
    ),
    "node": StepForm(
        "adds, removes, resizes or drains a node, or ends its draining",
        _change_of_node,
        (
            Key(
                "add",
                form_named("node", "a [node](#a-node)", read_node_group),
                "the nodes to add",
                "none",
            ),
            Key("remove", TEXT, "the node that is lost", "none"),
            Key(
                "resize",
                Value(
                    _RESIZED.schema,
                    "`{name: n1, resources: {...}}`",
                    partial(read_nested, _RESIZED, lambda fields, found: found),
                ),
                "the node to resize",
                "none",
            ),
            Key("drain", TEXT, "the node to drain", "none"),
            Key("undrain", TEXT, "the node to accept containers again", "none"),
        ),
        note="The step must have exactly one of these keys.",
        more=_one_needed(*_CHANGES_OF_NODES),
        adapt=_one_change,
    ),
    "safe_mode": StepForm(
        "turns safe mode on or off: no admission, no allocation", steps.SafeMode, short=ON
    ),
    "reload": StepForm(
        "changes files and properties and reloads them; `{}` is the periodic check",
        steps.Reload,
        _files(properties=True),
        adapt=_with_files,
    ),
    "write": StepForm(
        "changes files without reloading them",
        steps.Write,
        _files(properties=False),
        adapt=_with_files,
    ),
}

STEPS: Final[Mapping[str, StepForm]] = {
    "submit": StepForm(
        "submits an application",
        steps.Submit,
        (
            needed_key("app", TEXT, "its name in this file"),
            Key("user", TEXT, "its user", "`user`"),
            Key("queue", TEXT, "the requested queue", "`default`"),
            Key("name", TEXT, "its name", "none"),
            Key("priority", whole(), "its priority", "the queue's default"),
            Key("am", _AMOUNTS, "the container of its ApplicationMaster", "none", field="master"),
            Key("tags", TEXTS, "its tags", "none"),
            Key("asks", _ASKS, "its resource requests", "none"),
            Key("recovering", BOOLEAN, "whether it is recovered after a restart", "`false`"),
            Key("label", TEXT, "the partition of its asks", "the queue's default"),
            Key(
                "am_label",
                TEXT,
                "the partition of its ApplicationMaster",
                "that of `label`",
                field="master_label",
            ),
            ERROR,
        ),
    ),
    "ask": StepForm(
        "adds resource requests of a running application",
        steps.AskMore,
        (APP, needed_key("asks", _ASKS, "its resource requests"), ERROR),
    ),
    "heartbeat": StepForm(
        "nodes send heartbeats, and get containers", steps.Heartbeat, (BEATING, TIMES), short=NODES
    ),
    "finish": StepForm(
        "ends an application, or a number of its containers, oldest first, with success",
        _finish,
        (
            APP,
            Key(
                "containers",
                NOT_NEGATIVE,
                "the number of its containers",
                "the whole application",
                filled=True,
            ),
            Key("on", NAME, "only containers on this node", "any node"),
            ERROR,
        ),
        more={"dependencies": {"on": ["containers"]}},
        short=ONE,
        adapt=_counted_containers,
    ),
    "set_priority": StepForm(
        "changes an application's priority",
        steps.SetPriority,
        (APP, needed_key("priority", whole(), "the new value"), ERROR),
    ),
    "labels": StepForm(
        "adds partitions, removes partitions, and assigns nodes to them, in this order",
        steps.ChangeLabels,
        (
            Key(
                "add",
                Value(
                    {"type": "object", "additionalProperties": {"enum": ["exclusive", "shared"]}},
                    "`{x: exclusive, y: shared}`",
                    _exclusivities,
                ),
                "partitions",
                "none",
            ),
            Key("remove", TEXTS, "partitions to remove", "none"),
            Key(
                "nodes",
                msgspec.structs.replace(by_name(TEXT, "`{n1: x}`"), read=_texts_by_name),
                "the partition of nodes",
                "unchanged",
            ),
            ERROR,
        ),
    ),
    "preempt": StepForm("runs passes of the preemption monitor", steps.Preempt, short=PASSES),
    "blacklist": StepForm(
        "changes the blacklist of an application",
        steps.Blacklist,
        (
            APP,
            Key("add", TEXTS, "nodes and racks to add to the blacklist", "none"),
            Key("remove", TEXTS, "nodes and racks to remove from it", "none"),
            ERROR,
        ),
    ),
    "release": StepForm(
        "releases the oldest containers of an application",
        steps.Release,
        (APP, Key("containers", NOT_NEGATIVE, "the number of containers", "1"), ERROR),
    ),
    "run": StepForm(
        "lets time pass as on a cluster: with heartbeats, updates, and ends of containers",
        steps.Run,
        (
            Key("for", _DURATION, "the duration", needed=True, field="duration_ms"),
            Key(
                "heartbeat",
                _DURATION,
                "the time between heartbeats; 0: none",
                "`1s`",
                field="heartbeat_ms",
            ),
        ),
    ),
    **COMMON,
}
