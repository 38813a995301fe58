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
            "nodes given to `fairshare simulate`",
        ),
        Key(
            "applications",
            list_of(form_named("application", ""), "list of [applications](#an-application)"),
            "the applications, with arrival times",
            needed=True,
        ),
    ),
)

NODE: Final = Form(
    "A node",
    (
        Key("name", NOT_EMPTY, "its name; several are called `NAME-1`, `NAME-2` ...", needed=True),
        Key("count", _COUNT, "the number of equal nodes", "1"),
        Key("resources", _AMOUNTS, "the resources of each node", needed=True),
        Key("rack", TEXT, "the rack of the node", "`/default-rack`"),
    ),
)

APPLICATION: Final = Form(
    "An application",
    (
        Key("at", _DURATION, "the time of submission, from the start", needed=True),
        Key("user", NOT_EMPTY, "its user", needed=True),
        Key("user_groups", _TEXTS, "the groups of that user", "none"),
        Key("queue", TEXT, "the requested queue", "selected by the placement rules"),
        Key("name", TEXT, "its name", "none"),
        Key("priority", whole(), "its priority", "the queue's default"),
        Key("tags", _TEXTS, "its tags", "none"),
        Key("repeat", _COUNT, "the number of equal applications", "1"),
        Key(
            "every",
            _DURATION,
            "the time from one of them to the next",
            "required with `repeat`, unless `think` is given",
        ),
        Key(
            "think",
            either(
                _DURATION,
                form_named("think", ""),
                words="duration, or a [drawn time](#a-drawn-time)",
            ),
            "instead of `every`: how long the user waits before the next submission, after the"
            " previous application has ended or was rejected",
            "users do not wait",
        ),
        Key(
            "groups",
            list_of(form_named("group", ""), "list of [groups of tasks](#a-group-of-tasks)"),
            "its groups of tasks, with different names",
            needed=True,
        ),
    ),
)

THINK: Final = Form(
    "A drawn time",
    (Key("mean", _DURATION, "the mean of an exponential distribution", needed=True),),
    "Times depend on the seed (`--seed`) and are the same under every configuration.",
)

LOCALITY: Final = Form(
    "Run times by locality",
    (
        Key("rack", _FACTOR, "the factor on other nodes in the rack of a host", "1"),
        Key("off-switch", _FACTOR, "the factor in other racks", "1"),
    ),
)

GROUP: Final = Form(
    "A group of tasks",
    (
        Key("name", TEXT, "its name, for `after`", "`tasks`"),
        Key(
            "duration",
            one_or_several(_DURATION, "duration, or a list with one for each task"),
            "the run time of a task",
            needed=True,
        ),
        Key("count", _COUNT, "the number of tasks", "the length of the list `duration`, else 1"),
        Key("resources", _AMOUNTS, "the size of each task's container", needed=True),
        Key(
            "fail_attempts",
            one_or_several(whole(0, LARGEST), "whole number, or a list with one for each task"),
            "the number of failures of a task before it succeeds",
            "0",
        ),
        Key("max_attempts", _COUNT, "the maximum number of attempts of a task", "4"),
        Key("priority", whole(0, LARGEST), "the priority of its requests", "1"),
        Key("hosts", _TEXTS, "the preferred nodes", "anywhere"),
        Key("racks", _TEXTS, "the preferred racks", "anywhere"),
        Key(
            "run_by_locality",
            form_named("locality", "[run times by locality](#run-times-by-locality)"),
            "how much longer a task runs elsewhere than on one of its `hosts`, which are required",
            "`duration` everywhere",
        ),
        Key("relax", BOOLEAN, "whether other nodes are acceptable", "`true`"),
        Key("time_limit", _DURATION, "the maximum run time of a task", "no limit"),
        Key("after", _TEXTS, "the names of groups that must end before", "none"),
        Key("slow_start", FRACTION, "the fraction of their tasks that must have ended", "1.0"),
        Key("gang", BOOLEAN, "whether all tasks start together", "`false`"),
        Key(
            "gang_timeout",
            _DURATION,
            "how long containers are held while others are missing",
            "`1m`",
        ),
        Key("at_once", _COUNT, "the maximum number of concurrent tasks", "all"),
        Key(
            "keep_going", BOOLEAN, "whether other tasks continue after a task has failed", "`false`"
        ),
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
