"""Owns the form of fairshare's own workloads in words: which keys there are and what each means;
and the reference page and JSON Schema that are made from it.

`own.py` reads these keys; a test holds both equal. `python -m fairshare.simulate.readers.reference
docs/reference` writes page and schema; a test compares them.
"""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
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
    schema_text,
    whole,
)
from fairshare.simulate.readers.options import MOST
from fairshare.simulate.readers.own import LARGEST_FACTOR

_DURATION: Final = duration()
_TEXTS: Final = one_or_several(TEXT, "text, or a list of texts")
_AMOUNTS: Final = amounts(0, LARGEST)
_COUNT: Final = whole(1, MOST)
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


_INTRODUCTION: Final = """\
# Workloads

A workload lists applications with their arrival times, for `fairshare simulate --workload FILE` and
`fairshare convert --compare FILE`. This page and [workload.schema.json](workload.schema.json) are
generated from the tables in the code; do not edit them.

Editors with YAML support check and complete a workload that begins with the following line. Replace
`workload.schema.json` by the path or the URL of your copy of the schema:

```yaml
# yaml-language-server: $schema=workload.schema.json
nodes:
  - {name: worker, count: 4, resources: {memory-mb: 8192, vcores: 8}, rack: /rack1}
applications:
  - at: 0s
    user: alice
    queue: root.research
    name: nightly
    repeat: 3
    every: 10m
    groups:
      - {name: map, count: 20, resources: {memory-mb: 1024, vcores: 1}, duration: 30s}
      - name: reduce
        resources: {memory-mb: 2g, vcores: 1}
        duration: [1m, 2m]
        after: map
        slow_start: 0.5
  - at: 0s
    user: bob
    name: question
    repeat: 20
    think: 10s
    groups:
      - {count: 4, resources: {memory-mb: 1g, vcores: 1}, duration: 5s}
```

alice submits every ten minutes, regardless of the state of the cluster. bob is a user in a closed
loop: he submits the next application 10 s after the previous one has ended, and therefore submits
fewer in a busy cluster.

[Values](../values.md) have the usual syntax: durations as `30s` or `1h30m`, memory as `512` (MB) or
`2g`. The resource types are those of the configuration. A key that is not listed here is an error,
which suggests the nearest valid key.

| file | contents |
| --- | --- |
| `.yaml` | the form above |
| `.json` | the same in JSON |
| `.jsonl` | a line for each node and application: `{"node": {...}}`, `{"application": {...}}` |
| `.swf` | a log in the Standard Workload Format |

Workloads of millions of tasks can be written and read as `.jsonl`, line by line. All files may be
compressed (`.gz`)."""


def page() -> str:
    """The text of the page."""
    return "\n\n".join((_INTRODUCTION, *(form.table for form in FORMS))) + "\n"


def _schema() -> str:
    return schema_text(schema())


FILES: Final[Mapping[str, Callable[[], str]]] = {
    "workload-format.md": page,
    "workload.schema.json": _schema,
}


def main(directory: Path) -> None:
    """Write the page and the schema."""
    for name, text in FILES.items():
        (directory / name).write_text(text())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
