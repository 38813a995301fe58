"""Owns the form of each step of a scenario in words: its keys and what each means.

`step_readers.py` and `job_steps.py` read them; a test holds both equal. Reads nothing.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

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
    one_of,
    whole,
)
from fairshare.scenarios.job_steps import SLOT_WORDS, STATES
from fairshare.scenarios.job_words import JOBS
from fairshare.scenarios.step_readers import DEFAULT_RACK, reloaded_files


class Step(msgspec.Struct, frozen=True):
    """A step: what may stand beside its name, and what happens.

    `short` is what it may hold instead of a mapping; without `form` that alone.
    """

    meaning: str
    form: Form | None = None
    short: Value | None = None

    @property
    def schema(self) -> Schema:
        """What the step's name may hold."""
        found = [self.short.schema] if self.short else []
        found += [self.form.schema] if self.form else []
        return found[0] if len(found) == 1 else {"anyOf": found}


REFUSAL: Final = Value({"type": ["string", "number", "boolean"]}, "text, or `true`")
PROPERTIES: Final = by_name(TEXT, "values by name; an empty one removes the property")
_ERROR: Final = Key(
    "error", REFUSAL, "the step must be rejected with this text; `true`: any text", "no error"
)
_DURATION: Final = duration("s")
_AMOUNTS: Final = amounts()
_APP: Final = Key("app", TEXT, "the application", needed=True)
_NOT_NEGATIVE: Final = whole(0)
_PASSES: Final = Value(_NOT_NEGATIVE.schema, "number of passes")
_ONE: Final = Value(TEXT.schema, "the application")


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


def _needed(name: str, value: Value, meaning: str) -> Key:
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
        _needed("name", TEXT, "its name; with `count`, `NAME1`, `NAME2` ..."),
        Key("count", _NOT_NEGATIVE, "the number of equal nodes", "one node `NAME`", filled=True),
        _needed("resources", _AMOUNTS, "the resources of each node"),
        Key("rack", TEXT, "the rack of the node", f"`{DEFAULT_RACK}`"),
        Key("label", TEXT, "the partition that it reports", "none"),
    ),
)

ASK: Final = Form(
    "An ask",
    (
        _needed("resources", _AMOUNTS, "the size of each container"),
        Key("count", whole(), "the number of containers", "1"),
        Key("priority", whole(), "the priority of the request", "1"),
        Key("id", whole(), "the allocation request id", "0"),
        Key("hosts", TEXTS, "the preferred nodes", "anywhere"),
        Key("racks", TEXTS, "the preferred racks", "anywhere"),
        Key("relax", BOOLEAN, "whether other nodes are acceptable", "`true`"),
        Key(
            "location", TEXT, "one node or rack, by its name in the protocol", "`hosts` and `racks`"
        ),
        Key("duration", _DURATION, "how long each container runs in `run`", "until `finish`"),
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
_ASKS: Final = list_of(form_named("ask", ""), "list of [asks](#an-ask)")

TASKS: Final = Form(
    "Tasks of a job",
    (
        Key("slot", one_of(SLOT_WORDS), "the type of slot of each task", "`map`"),
        Key("count", _NOT_NEGATIVE, "the number of tasks", "1"),
        Key("hosts", TEXTS, "the nodes with their input", "none"),
    ),
)
_TASKS: Final = list_of(form_named("tasks", ""), "list of [tasks](#tasks-of-a-job)")


def _files(properties: bool) -> tuple[Key, ...]:
    meaning = "the new text of this file"
    files = tuple(Key(name, TEXT, meaning, "unchanged") for name in reloaded_files())
    changed = Key("properties", PROPERTIES, "properties to change", "none")
    return (*files, changed, _ERROR) if properties else files


_COMMON: Final[Mapping[str, Step]] = {
    "update": Step("runs passes of the scheduler's update: shares, starvation", short=_PASSES),
    "advance": Step("lets time pass without other events", short=_DURATION),
    "kill": Step("kills an application", Form("kill", (_APP, _ERROR)), _ONE),
    "move": Step(
        "moves an application to another queue",
        Form("move", (_APP, _needed("queue", TEXT, "the queue"), _ERROR)),
    ),
    "node": Step(
        "adds, removes, resizes or drains a node, or ends its draining",
        Form(
            "node",
            (
                Key("add", form_named("node", "a [node](#a-node)"), "the nodes to add", "none"),
                Key("remove", TEXT, "the node that is lost", "none"),
                Key(
                    "resize",
                    Value(
                        Form(
                            "",
                            (
                                _needed("name", TEXT, "the node"),
                                _needed("resources", _AMOUNTS, "its new resources"),
                            ),
                        ).schema,
                        "`{name: n1, resources: {...}}`",
                    ),
                    "the node to resize",
                    "none",
                ),
                Key("drain", TEXT, "the node to drain", "none"),
                Key("undrain", TEXT, "the node to accept containers again", "none"),
            ),
            note="The step must have exactly one of these keys.",
            more=_one_needed("add", "remove", "resize", "drain", "undrain"),
        ),
    ),
    "safe_mode": Step("turns safe mode on or off: no admission, no allocation", short=BOOLEAN),
    "reload": Step(
        "changes files and properties and reloads them; `{}` is the periodic check",
        Form("reload", _files(properties=True)),
    ),
    "write": Step("changes files without reloading them", Form("write", _files(properties=False))),
}

STEPS: Final[Mapping[str, Step]] = {
    "submit": Step(
        "submits an application",
        Form(
            "submit",
            (
                _needed("app", TEXT, "its name in this file"),
                Key("user", TEXT, "its user", "`user`"),
                Key("queue", TEXT, "the requested queue", "`default`"),
                Key("name", TEXT, "its name", "none"),
                Key("priority", whole(), "its priority", "the queue's default"),
                Key("am", _AMOUNTS, "the container of its ApplicationMaster", "none"),
                Key("tags", TEXTS, "its tags", "none"),
                Key("asks", _ASKS, "its resource requests", "none"),
                Key("recovering", BOOLEAN, "whether it is recovered after a restart", "`false`"),
                Key("label", TEXT, "the partition of its asks", "the queue's default"),
                Key("am_label", TEXT, "the partition of its ApplicationMaster", "that of `label`"),
                _ERROR,
            ),
        ),
    ),
    "ask": Step(
        "adds resource requests of a running application",
        Form("ask", (_APP, _needed("asks", _ASKS, "its resource requests"), _ERROR)),
    ),
    "heartbeat": Step(
        "nodes send heartbeats, and get containers",
        Form(
            "heartbeat",
            (
                _needed("node", TEXT, "the node, or `all`"),
                Key("times", _NOT_NEGATIVE, "the number of heartbeats", "1"),
            ),
        ),
        either(TEXT, TEXTS, words="a node, a list of nodes, or `all`"),
    ),
    "finish": Step(
        "ends an application, or a number of its containers, oldest first, with success",
        Form(
            "finish",
            (
                _APP,
                Key(
                    "containers",
                    _NOT_NEGATIVE,
                    "the number of its containers",
                    "the whole application",
                    filled=True,
                ),
                Key("on", TEXT, "only containers on this node", "any node"),
                _ERROR,
            ),
            more={"dependencies": {"on": ["containers"]}},
        ),
        _ONE,
    ),
    "set_priority": Step(
        "changes an application's priority",
        Form("set_priority", (_APP, _needed("priority", whole(), "the new value"), _ERROR)),
    ),
    "labels": Step(
        "adds partitions, removes partitions, and assigns nodes to them, in this order",
        Form(
            "labels",
            (
                Key(
                    "add",
                    Value(
                        {
                            "type": "object",
                            "additionalProperties": {"enum": ["exclusive", "shared"]},
                        },
                        "`{x: exclusive, y: shared}`",
                    ),
                    "partitions",
                    "none",
                ),
                Key("remove", TEXTS, "partitions to remove", "none"),
                Key("nodes", by_name(TEXT, "`{n1: x}`"), "the partition of nodes", "unchanged"),
                _ERROR,
            ),
        ),
    ),
    "preempt": Step("runs passes of the preemption monitor", short=_PASSES),
    "blacklist": Step(
        "changes the blacklist of an application",
        Form(
            "blacklist",
            (
                _APP,
                Key("add", TEXTS, "nodes and racks to add to the blacklist", "none"),
                Key("remove", TEXTS, "nodes and racks to remove from it", "none"),
                _ERROR,
            ),
        ),
    ),
    "release": Step(
        "releases the oldest containers of an application",
        Form(
            "release",
            (_APP, Key("containers", _NOT_NEGATIVE, "the number of containers", "1"), _ERROR),
        ),
    ),
    "run": Step(
        "lets time pass as on a cluster: with heartbeats, updates, and ends of containers",
        Form(
            "run",
            (
                _needed("for", _DURATION, "the duration"),
                Key("heartbeat", _DURATION, "the time between heartbeats; 0: none", "`1s`"),
            ),
        ),
    ),
    **_COMMON,
}

_STATES: Final = one_of(STATES)
_PRIORITIES: Final = one_of(JOBS.priorities)

JOB_STEPS: Final[Mapping[str, Step]] = {
    "submit": Step(
        "submits a job",
        Form(
            "submit",
            (
                _needed("app", TEXT, "its name in this file"),
                Key("user", TEXT, "its user", "`user`"),
                Key("queue", TEXT, "its pool", "determined by its properties"),
                Key("priority", _PRIORITIES, "its priority", "`NORMAL`"),
                Key("state", _STATES, "its initial state", "`RUNNING`"),
                Key("conf", PROPERTIES, "properties of the job", "none"),
                Key("asks", _TASKS, "its tasks", "none"),
                _ERROR,
            ),
        ),
    ),
    "heartbeat": Step(
        "nodes send heartbeats, and get tasks",
        Form(
            "heartbeat",
            (
                _needed("node", TEXT, "the node, or `all`"),
                Key("times", _NOT_NEGATIVE, "the number of heartbeats", "1"),
                Key(
                    "assigned",
                    TEXTS,
                    "the tasks that each node must get, in this order: `a/m0`, or `a/m` for any",
                    "any",
                ),
            ),
        ),
        either(TEXT, TEXTS, words="a node, a list of nodes, or `all`"),
    ),
    "finish": Step(
        "ends a job, or some of its tasks, with success",
        Form(
            "finish",
            (
                _APP,
                _needed(
                    "tasks",
                    either(Value({"const": "all"}, ""), TEXTS, words="list of texts, or `all`"),
                    "its tasks: `m0`, `r3`",
                ),
                _ERROR,
            ),
        ),
        _ONE,
    ),
    "set_state": Step(
        "changes the state of a job",
        Form("set_state", (_APP, Key("state", _STATES, "the new value", "`RUNNING`"), _ERROR)),
    ),
    "set_priority": Step(
        "changes a job's priority",
        Form("set_priority", (_APP, _needed("priority", _PRIORITIES, "the new value"), _ERROR)),
    ),
    "set_fifo": Step("the FIFO switch of the JobTracker's scheduler page", short=BOOLEAN),
    "preempt": Step(
        "runs checks of the preemption thread",
        Form(
            "preempt",
            (
                _needed(
                    "killed",
                    either(_NOT_NEGATIVE, TEXTS, words="whole number, or list of texts"),
                    "the number of tasks that must be killed, or their names: `a/m0`",
                ),
            ),
        ),
        _PASSES,
    ),
    **_COMMON,
}
