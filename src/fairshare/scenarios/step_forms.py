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
_ERROR: Final = Key("error", REFUSAL, "it must be refused with this text; `true`: any", "it works")
_DURATION: Final = duration("s")
_AMOUNTS: Final = amounts()
_APP: Final = Key("app", TEXT, "the application", needed=True)
_NOT_NEGATIVE: Final = whole(0)
_PASSES: Final = Value(_NOT_NEGATIVE.schema, "how many passes")
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
        Key("count", _NOT_NEGATIVE, "how many nodes there are, all alike", "it alone", filled=True),
        _needed("resources", _AMOUNTS, "what each has"),
        Key("rack", TEXT, "the rack that it is in", f"`{DEFAULT_RACK}`"),
        Key("label", TEXT, "the partition that it reports", "none"),
    ),
)

ASK: Final = Form(
    "An ask",
    (
        _needed("resources", _AMOUNTS, "the size of each container"),
        Key("count", whole(), "how many", "1"),
        Key("priority", whole(), "the priority of the request", "1"),
        Key("id", whole(), "the allocation request id", "0"),
        Key("hosts", TEXTS, "the nodes where it is wanted", "anywhere"),
        Key("racks", TEXTS, "the racks where it is wanted", "anywhere"),
        Key("relax", BOOLEAN, "whether other nodes will do, too", "`true`"),
        Key("location", TEXT, "one node or rack as the wire names it", "`hosts` and `racks`"),
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
        Key("slot", one_of(SLOT_WORDS), "the slot that each takes", "`map`"),
        Key("count", _NOT_NEGATIVE, "how many", "1"),
        Key("hosts", TEXTS, "the nodes that have their input", "none"),
    ),
)
_TASKS: Final = list_of(form_named("tasks", ""), "list of [tasks](#tasks-of-a-job)")


def _files(properties: bool) -> tuple[Key, ...]:
    meaning = "the text of this file"
    files = tuple(Key(name, TEXT, meaning, "as it is") for name in reloaded_files())
    changed = Key("properties", PROPERTIES, "properties that change", "none")
    return (*files, changed, _ERROR) if properties else files


_COMMON: Final[Mapping[str, Step]] = {
    "update": Step("passes of the scheduler's update: shares, starvation", short=_PASSES),
    "advance": Step("time passes, and nothing else happens", short=_DURATION),
    "kill": Step("an application is killed", Form("kill", (_APP, _ERROR)), _ONE),
    "move": Step(
        "an application moves to another queue",
        Form("move", (_APP, _needed("queue", TEXT, "the queue"), _ERROR)),
    ),
    "node": Step(
        "nodes come, go, change, take no new containers",
        Form(
            "node",
            (
                Key("add", form_named("node", "a [node](#a-node)"), "nodes join", "none"),
                Key("remove", TEXT, "a node is lost", "none"),
                Key(
                    "resize",
                    Value(
                        Form(
                            "",
                            (
                                _needed("name", TEXT, "the node"),
                                _needed("resources", _AMOUNTS, "what it has now"),
                            ),
                        ).schema,
                        "`{name: n1, resources: {...}}`",
                    ),
                    "a node offers another amount",
                    "none",
                ),
                Key("drain", TEXT, "a node takes no new containers", "none"),
                Key("undrain", TEXT, "it takes them again", "none"),
            ),
            note="One of them, and one alone.",
            more=_one_needed("add", "remove", "resize", "drain", "undrain"),
        ),
    ),
    "safe_mode": Step("nothing is admitted and granted any longer, or again", short=BOOLEAN),
    "reload": Step(
        "files and properties change and are read; `{}` is the periodic check",
        Form("reload", _files(properties=True)),
    ),
    "write": Step("files change, and are not read yet", Form("write", _files(properties=False))),
}

STEPS: Final[Mapping[str, Step]] = {
    "submit": Step(
        "an application arrives",
        Form(
            "submit",
            (
                _needed("app", TEXT, "what this file calls it"),
                Key("user", TEXT, "who submits it", "`user`"),
                Key("queue", TEXT, "the queue that it names", "`default`"),
                Key("name", TEXT, "its name", "none"),
                Key("priority", whole(), "its priority", "the queue's default"),
                Key("am", _AMOUNTS, "its master's container", "it has none"),
                Key("tags", TEXTS, "its tags", "none"),
                Key("asks", _ASKS, "what it asks for", "nothing"),
                Key("recovering", BOOLEAN, "whether a restart brings it back", "`false`"),
                Key("label", TEXT, "the partition of its asks", "the queue's default"),
                Key("am_label", TEXT, "the partition of its master", "that of `label`"),
                _ERROR,
            ),
        ),
    ),
    "ask": Step(
        "a running application asks for more",
        Form("ask", (_APP, _needed("asks", _ASKS, "what it asks for"), _ERROR)),
    ),
    "heartbeat": Step(
        "nodes report, and take containers",
        Form(
            "heartbeat",
            (
                _needed("node", TEXT, "the node, or `all`"),
                Key("times", _NOT_NEGATIVE, "how often, one after another", "1"),
            ),
        ),
        either(TEXT, TEXTS, words="a node, a list of nodes, or `all`"),
    ),
    "finish": Step(
        "an application ends with success, or so many of its containers, the oldest first",
        Form(
            "finish",
            (
                _APP,
                Key(
                    "containers",
                    _NOT_NEGATIVE,
                    "how many of its containers",
                    "all of it",
                    filled=True,
                ),
                Key("on", TEXT, "only those on this node", "on any node"),
                _ERROR,
            ),
            more={"dependencies": {"on": ["containers"]}},
        ),
        _ONE,
    ),
    "set_priority": Step(
        "an application's priority changes",
        Form("set_priority", (_APP, _needed("priority", whole(), "the new one"), _ERROR)),
    ),
    "labels": Step(
        "partitions are made, removed, given to nodes; in this order",
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
                Key("remove", TEXTS, "partitions that end", "none"),
                Key("nodes", by_name(TEXT, "`{n1: x}`"), "the partition of nodes", "as it is"),
                _ERROR,
            ),
        ),
    ),
    "preempt": Step("passes of the preemption monitor", short=_PASSES),
    "blacklist": Step(
        "an application refuses nodes or racks, or takes that back",
        Form(
            "blacklist",
            (
                _APP,
                Key("add", TEXTS, "nodes and racks that it refuses", "none"),
                Key("remove", TEXTS, "those that it takes again", "none"),
                _ERROR,
            ),
        ),
    ),
    "release": Step(
        "an application's master gives its oldest containers back",
        Form("release", (_APP, Key("containers", _NOT_NEGATIVE, "how many", "1"), _ERROR)),
    ),
    "run": Step(
        "time passes as on a cluster: heartbeats, updates, ends of containers",
        Form(
            "run",
            (
                _needed("for", _DURATION, "how long"),
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
        "a job arrives",
        Form(
            "submit",
            (
                _needed("app", TEXT, "what this file calls it"),
                Key("user", TEXT, "who submits it", "`user`"),
                Key("queue", TEXT, "its pool", "what its properties say"),
                Key("priority", _PRIORITIES, "its priority", "`NORMAL`"),
                Key("state", _STATES, "the state that it arrives in", "`RUNNING`"),
                Key("conf", PROPERTIES, "properties of the job", "none"),
                Key("asks", _TASKS, "its tasks", "none"),
                _ERROR,
            ),
        ),
    ),
    "heartbeat": Step(
        "nodes report, and take tasks",
        Form(
            "heartbeat",
            (
                _needed("node", TEXT, "the node, or `all`"),
                Key("times", _NOT_NEGATIVE, "how often, one after another", "1"),
                Key(
                    "assigned",
                    TEXTS,
                    "the tasks that each must get, in this order: `a/m0`, or `a/m` for any",
                    "any",
                ),
            ),
        ),
        either(TEXT, TEXTS, words="a node, a list of nodes, or `all`"),
    ),
    "finish": Step(
        "a job ends with success, or some of its tasks",
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
        "a job gets into another state",
        Form("set_state", (_APP, Key("state", _STATES, "the new one", "`RUNNING`"), _ERROR)),
    ),
    "set_priority": Step(
        "a job's priority changes",
        Form("set_priority", (_APP, _needed("priority", _PRIORITIES, "the new one"), _ERROR)),
    ),
    "set_fifo": Step("the switch of the old scheduler page", short=BOOLEAN),
    "preempt": Step(
        "checks of the preemption thread",
        Form(
            "preempt",
            (
                _needed(
                    "killed",
                    either(_NOT_NEGATIVE, TEXTS, words="whole number, or list of texts"),
                    "how many tasks must die, or which: `a/m0`",
                ),
            ),
        ),
        _PASSES,
    ),
    **_COMMON,
}
