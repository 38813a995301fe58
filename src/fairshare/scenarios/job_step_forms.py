"""Owns the steps of a scenario of MapReduce as its file has them, as `step_forms.py` does for the
steps of all scenarios. Runs nothing.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

import msgspec

from fairshare.config import fields as config_fields
from fairshare.config.located import Node
from fairshare.config.yaml_form import (
    TEXT,
    TEXTS,
    Form,
    Key,
    Value,
    either,
    form_named,
    list_of,
    one_of,
)
from fairshare.scenarios import steps
from fairshare.scenarios.configuration import JOBS
from fairshare.scenarios.fields import Fields, unknown_word
from fairshare.scenarios.step_forms import (
    APP,
    BEATING,
    COMMON,
    ERROR,
    NAME,
    NODES,
    NOT_NEGATIVE,
    ON,
    ONE,
    PASSES,
    PROPERTIES,
    TIMES,
    StepForm,
    needed_key,
    read_nested,
    read_properties,
)


def _word(
    words: tuple[str, ...], values: config_fields.Values, node: Node, what: str
) -> str | None:
    """One of a few words; None for another one, which is reported."""
    word = values.text_of(node, what)
    if word in words:
        return word
    where, _, key = what.rpartition(".")
    values.wrong(node.place, unknown_word(key, word, words, where))
    return None


def _number_of_word(
    words: tuple[str, ...], values: config_fields.Values, node: Node, what: str
) -> int | None:
    """The number of a word, from 0."""
    word = _word(words, values, node, what)
    return None if word is None else words.index(word)


def _tasks(fields: Fields, found: dict[str, Any]) -> steps.JobTasks:
    return steps.JobTasks(found.get("count", 1), found.get("kind", 0), found.get("hosts", ()))


TASKS: Final = Form(
    "Tasks of a job",
    (
        Key(
            "slot",
            msgspec.structs.replace(
                one_of(steps.SLOT_WORDS), read=partial(_number_of_word, steps.SLOT_WORDS)
            ),
            "the type of slot of each task",
            "`map`",
            field="kind",
        ),
        Key("count", NOT_NEGATIVE, "the number of tasks", "1"),
        Key("hosts", TEXTS, "the nodes with their input", "none"),
    ),
)
_TASKS: Final = list_of(
    form_named("tasks", "", partial(read_nested, TASKS, _tasks, name="ask")),
    "list of [tasks](#tasks-of-a-job)",
)


def _priority(values: config_fields.Values, node: Node, what: str) -> int | None:
    number = _number_of_word(JOBS.priorities, values, node, what)
    return None if number is None else number + 1


def _set_properties(values: config_fields.Values, node: Node, what: str) -> dict[str, str]:
    found = read_properties(values, node, what)
    return {name: value for name, value in found.items() if value is not None}


def _tasks_to_finish(values: config_fields.Values, node: Node, what: str) -> str | tuple[str, ...]:
    return "all" if node.text == "all" else values.texts_of(node, what)


def _finish_job(**found: Any) -> steps.Step:
    """Without tasks the job ends."""
    if "tasks" not in found:
        return steps.FinishApplication(**found)
    if found["tasks"] == "all":
        del found["tasks"]
    return steps.FinishTasks(**found)


def _assigned(fields: Fields, found: dict[str, Any]) -> dict[str, Any]:
    """`assigned` without a value: each node must get nothing."""
    if "assigned" in fields.entries:
        found.setdefault("assigned", ())
        if found.get("nodes") == (steps.ALL_NODES,):
            fields.wrong(fields.node.place, "name one node to say what is assigned to it")
    return found


def _killed(values: config_fields.Values, node: Node, what: str) -> int | tuple[str, ...]:
    return values.whole_of(node, what, 0) if node.items is None else values.texts_of(node, what)


_STATE_WORDS: Final = msgspec.structs.replace(
    one_of(steps.STATES), read=partial(_word, steps.STATES)
)
_PRIORITIES: Final = msgspec.structs.replace(one_of(JOBS.priorities), read=_priority)

JOB_STEPS: Final[Mapping[str, StepForm]] = {
    "submit": StepForm(
        "submits a job",
        steps.SubmitJob,
        (
            needed_key("app", TEXT, "its name in this file"),
            Key("user", TEXT, "its user", "`user`"),
            Key("queue", NAME, "its pool", "determined by its properties"),
            Key("priority", _PRIORITIES, "its priority", "`NORMAL`"),
            Key("state", _STATE_WORDS, "its initial state", "`RUNNING`"),
            Key(
                "conf",
                msgspec.structs.replace(PROPERTIES, read=_set_properties),
                "properties of the job",
                "none",
                field="properties",
            ),
            Key("asks", _TASKS, "its tasks", "none", field="tasks"),
            ERROR,
        ),
    ),
    "heartbeat": StepForm(
        "nodes send heartbeats, and get tasks",
        steps.JobHeartbeat,
        (
            BEATING,
            TIMES,
            Key(
                "assigned",
                TEXTS,
                "the tasks that each node must get, in this order: `a/m0`, or `a/m` for any",
                "any",
            ),
        ),
        short=NODES,
        adapt=_assigned,
    ),
    "finish": StepForm(
        "ends a job, or some of its tasks, with success",
        _finish_job,
        (
            APP,
            needed_key(
                "tasks",
                either(
                    Value({"const": "all"}, ""),
                    TEXTS,
                    words="list of texts, or `all`",
                    read=_tasks_to_finish,
                ),
                "its tasks: `m0`, `r3`",
            ),
            ERROR,
        ),
        short=ONE,
    ),
    "set_state": StepForm(
        "changes the state of a job",
        steps.SetState,
        (APP, Key("state", _STATE_WORDS, "the new value", "`RUNNING`"), ERROR),
    ),
    "set_priority": StepForm(
        "changes a job's priority",
        steps.SetJobPriority,
        (APP, needed_key("priority", _PRIORITIES, "the new value"), ERROR),
    ),
    "set_fifo": StepForm(
        "the FIFO switch of the JobTracker's scheduler page", steps.SetFifo, short=ON
    ),
    "preempt": StepForm(
        "runs checks of the preemption thread",
        steps.CheckPreemption,
        (
            needed_key(
                "killed",
                either(NOT_NEGATIVE, TEXTS, words="whole number, or list of texts", read=_killed),
                "the number of tasks that must be killed, or their names: `a/m0`",
            ),
        ),
        short=PASSES,
    ),
    **COMMON,
}
