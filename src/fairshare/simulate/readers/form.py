"""Owns the form of fairshare's own workloads in words: which keys there are and what each means.

`own.py` reads them; a test holds both equal. Reads nothing.
"""

from typing import Final

from fairshare.config.fields import LARGEST
from fairshare.config.yaml_form import (
    BOOLEAN,
    FRACTION,
    NOT_EMPTY,
    TEXT,
    Form,
    Key,
    Schema,
    Value,
    amounts,
    document,
    duration,
    either,
    form_named,
    list_of,
    one_or_several,
    whole,
)

_DURATION: Final = duration()
_TEXTS: Final = one_or_several(TEXT, "text, or a list of texts")
_AMOUNTS: Final = amounts(0, LARGEST)
_COUNT: Final = whole(1, LARGEST)
LARGEST_FACTOR: Final = 1_000
_FACTOR: Final = Value(
    {"type": "number", "minimum": 1, "maximum": LARGEST_FACTOR},
    f"number from 1 to {LARGEST_FACTOR}",
)

WORKLOAD: Final = Form(
    "The file",
    (
        Key(
            "nodes",
            list_of(form_named("node", ""), "list of [nodes](#a-node)"),
            "the cluster",
            "the nodes are given to `fairshare simulate`",
        ),
        Key(
            "applications",
            list_of(form_named("application", ""), "list of [applications](#an-application)"),
            "what arrives, and when",
            needed=True,
        ),
    ),
)

NODE: Final = Form(
    "A node",
    (
        Key("name", NOT_EMPTY, "its name; several are called `NAME-1`, `NAME-2` ...", needed=True),
        Key("count", _COUNT, "how many nodes there are, all alike", "1"),
        Key("resources", _AMOUNTS, "what each has", needed=True),
        Key("rack", TEXT, "the rack that it is in", "`/default-rack`"),
    ),
)

APPLICATION: Final = Form(
    "An application",
    (
        Key("at", _DURATION, "when it is submitted, from the start", needed=True),
        Key("user", NOT_EMPTY, "who submits it", needed=True),
        Key("user_groups", _TEXTS, "the groups of that user", "none"),
        Key("queue", TEXT, "the queue that it names", "the placement rules decide"),
        Key("name", TEXT, "its name", "none"),
        Key("priority", whole(), "its priority", "the queue's default"),
        Key("tags", _TEXTS, "its tags", "none"),
        Key("repeat", _COUNT, "how many arrive, all alike", "1"),
        Key(
            "every",
            _DURATION,
            "the time from one of them to the next",
            "needed with `repeat`, unless there is `think`",
        ),
        Key(
            "think",
            either(
                _DURATION,
                form_named("think", ""),
                words="duration, or a [drawn time](#a-drawn-time)",
            ),
            "in place of `every`: how long the user waits before the next one after the last one"
            " has ended or was rejected",
            "no user waits",
        ),
        Key(
            "groups",
            list_of(form_named("group", ""), "list of [groups of tasks](#a-group-of-tasks)"),
            "its work; no two groups have the same name",
            needed=True,
        ),
    ),
)

THINK: Final = Form(
    "A drawn time",
    (Key("mean", _DURATION, "the mean of an exponential distribution", needed=True),),
    "It follows from the seed (`--seed`) and is the same under every configuration.",
)

LOCALITY: Final = Form(
    "Run times by locality",
    (
        Key("rack", _FACTOR, "how many times as long on other nodes of the rack of a host", "1"),
        Key("off-switch", _FACTOR, "how many times as long on other racks", "1"),
    ),
)

GROUP: Final = Form(
    "A group of tasks",
    (
        Key("name", TEXT, "what `after` calls it", "`tasks`"),
        Key(
            "duration",
            one_or_several(_DURATION, "duration, or a list with one for each task"),
            "how long a task runs",
            needed=True,
        ),
        Key("count", _COUNT, "how many tasks it has", "as many as `duration` lists; else 1"),
        Key("resources", _AMOUNTS, "the size of each task's container", needed=True),
        Key(
            "fail_attempts",
            one_or_several(whole(0, LARGEST), "whole number, or a list with one for each task"),
            "how often a task fails before it succeeds",
            "0",
        ),
        Key("max_attempts", _COUNT, "how often a task is started at most", "4"),
        Key("priority", whole(0, LARGEST), "the priority of its requests", "1"),
        Key("hosts", _TEXTS, "the nodes where it is wanted", "anywhere"),
        Key("racks", _TEXTS, "the racks where it is wanted", "anywhere"),
        Key(
            "run_by_locality",
            form_named("locality", "[run times by locality](#run-times-by-locality)"),
            "how much longer a task runs elsewhere than on one of its `hosts`; needs these",
            "`duration` everywhere",
        ),
        Key("relax", BOOLEAN, "whether other nodes will do, too", "`true`"),
        Key("time_limit", _DURATION, "how long a task may run", "no limit"),
        Key("after", _TEXTS, "the groups that must end before, by name", "none"),
        Key("slow_start", FRACTION, "the part of those tasks that must have ended", "1.0"),
        Key("gang", BOOLEAN, "whether all tasks start together", "`false`"),
        Key("gang_timeout", _DURATION, "how long containers are held for the others", "`1m`"),
        Key("at_once", _COUNT, "how many tasks run at the same time at most", "all"),
        Key("keep_going", BOOLEAN, "whether the others go on when a task has failed", "`false`"),
    ),
)

FORMS: Final = (WORKLOAD, NODE, APPLICATION, THINK, GROUP, LOCALITY)


def schema() -> Schema:
    """The JSON Schema of a workload in YAML or JSON."""
    several = {"required": ["repeat"], "properties": {"repeat": {"type": "integer", "minimum": 2}}}
    every = {"required": ["every"], "properties": {"every": {"not": {"enum": [None, 0]}}}}
    think = {"required": ["think"], "properties": {"think": {"not": {"type": "null"}}}}
    apart = {
        "allOf": [
            {"if": several, "then": {"anyOf": [every, think]}},
            {"if": think, "then": several | {"not": every}},
        ]
    }
    application = APPLICATION.schema | apart
    application["properties"]["groups"]["minItems"] = 1
    depends = {
        "required": ["run_by_locality"],
        "properties": {"run_by_locality": {"not": {"type": "null"}}},
    }
    hosts = {"required": ["hosts"], "properties": {"hosts": {"not": {"enum": [None, []]}}}}
    group = GROUP.schema | {"if": depends, "then": hosts}
    return document(
        "A workload of fairshare",
        WORKLOAD.schema,
        {
            "node": NODE.schema,
            "application": application,
            "think": THINK.schema,
            "group": group,
            "locality": LOCALITY.schema,
        },
    )
