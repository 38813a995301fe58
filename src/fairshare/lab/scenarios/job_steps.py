"""The steps of a scenario of MapReduce, as `steps.py` those of all scenarios."""

from collections.abc import Mapping
from typing import Annotated, Final, Literal

import msgspec
from msgspec import field

from fairshare.documents.located import Node
from fairshare.documents.structs import NOT_A_KEY, At, Doc
from fairshare.documents.values import TEXTS, Reader, Value, choice, either
from fairshare.lab.scenarios.steps import (
    ALL_NODES,
    COMMON,
    COUNT,
    NAME,
    ON,
    ONE,
    PASSES,
    PROPERTIES,
    Heartbeat,
    Refusable,
    Step,
)
from fairshare.settings.registry import words_of_jobs

JOBS: Final = words_of_jobs()
"""The words of MapReduce jobs, of the scheduler that has jobs."""

_SLOTS: Final = choice(("map", "reduce"))
_STATES: Final = choice(("RUNNING", "PREP", "SUCCEEDED", "FAILED", "KILLED"))
_PRIORITY_WORDS: Final = choice(JOBS.priorities)


def _read_slot(reader: Reader, node: Node, what: str) -> int | None:
    word = _SLOTS.read(reader, node, what)
    return None if word is None else int(word == "reduce")


def _read_priority(reader: Reader, node: Node, what: str) -> int | None:
    """The number of a priority, from 1."""
    word = _PRIORITY_WORDS.read(reader, node, what)
    return None if word is None else JOBS.priorities.index(word) + 1


def _read_job_properties(reader: Reader, node: Node, what: str) -> dict[str, str]:
    properties: dict[str, str | None] = PROPERTIES.read(reader, node, what)
    return {name: value for name, value in properties.items() if value is not None}


def _read_tasks(reader: Reader, node: Node, what: str) -> str | tuple[str, ...]:
    tasks: str | tuple[str, ...] = "all" if node.text == "all" else TEXTS.read(reader, node, what)
    return tasks


def _read_killed(reader: Reader, node: Node, what: str) -> int | tuple[str, ...] | None:
    killed: int | tuple[str, ...] | None = (COUNT if node.items is None else TEXTS).read(
        reader, node, what
    )
    return killed


_PRIORITY: Final = msgspec.structs.replace(_PRIORITY_WORDS, read=_read_priority)


class Tasks(msgspec.Struct, frozen=True):
    """Tasks of a job."""

    kind: Annotated[
        int,
        msgspec.structs.replace(_SLOTS, read=_read_slot),
        Doc("the type of slot of each task", "`map`"),
    ] = field(name="slot", default=0)
    count: Annotated[int, COUNT, Doc("the number of tasks")] = 1
    hosts: Annotated[tuple[str, ...], Doc("the nodes with their input")] = ()


class SubmitJob(Refusable, frozen=True):
    """Submits a job."""

    app: Annotated[str, Doc("its name in this file")]
    user: Annotated[str, Doc("its user")] = "user"
    queue: Annotated[str | None, NAME, Doc("its pool", "determined by its properties")] = None
    priority: Annotated[int | None, _PRIORITY, Doc("its priority", "`NORMAL`")] = None
    state: Annotated[str, _STATES, Doc("its initial state")] = "RUNNING"
    properties: Annotated[
        dict[str, str],
        msgspec.structs.replace(PROPERTIES, read=_read_job_properties),
        Doc("properties of the job"),
    ] = field(name="conf", default_factory=dict)
    tasks: Annotated[
        tuple[Tasks, ...], Doc("its tasks", words="list of [tasks](#tasks-of-a-job)")
    ] = field(name="asks", default=())


class JobHeartbeat(Heartbeat, frozen=True):
    """Nodes send heartbeats, and get tasks."""

    assigned: Annotated[
        tuple[str, ...] | None,
        Doc(
            "the tasks that each node must get, in this order: `a/m0`, or `a/m` for any",
            "any",
            empty=(),
        ),
    ] = None

    def check(self, at: At) -> None:
        """What is assigned is assigned to one node."""
        if self.assigned is not None and self.nodes == (ALL_NODES,):
            at.wrong("name one node to say what is assigned to it")


class FinishJob(Refusable, frozen=True):
    """Ends a job, or some of its tasks, with success."""

    SHORT = ONE

    app: Annotated[str, Doc("the application")]
    tasks: Annotated[
        Literal["all"] | tuple[str, ...] | None,
        either(
            Value({"const": "all"}, "", _read_tasks),
            TEXTS,
            words="list of texts, or `all`",
            read=_read_tasks,
        ),
        Doc("its tasks: `m0`, `r3`", needed=True),
    ] = None


class SetState(Refusable, frozen=True):
    """Changes the state of a job."""

    app: Annotated[str, Doc("the application")]
    state: Annotated[str, _STATES, Doc("the new value")] = "RUNNING"


class SetJobPriority(Refusable, frozen=True):
    """Changes a job's priority."""

    app: Annotated[str, Doc("the application")]
    priority: Annotated[int, _PRIORITY, Doc("the new value")]


class SetFifo(Step, frozen=True):
    """The FIFO switch of the JobTracker's scheduler page."""

    SHORT = ON

    on: Annotated[bool, NOT_A_KEY]


class CheckPreemption(Step, frozen=True):
    """Runs checks of the preemption thread."""

    SHORT = PASSES

    passes: Annotated[int, NOT_A_KEY] = 1
    killed: Annotated[
        int | tuple[str, ...] | None,
        either(COUNT, TEXTS, words="whole number, or list of texts", read=_read_killed),
        Doc("the number of tasks that must be killed, or their names: `a/m0`", needed=True),
    ] = None


JOB_STEPS: Final[Mapping[str, type[Step]]] = {
    "submit": SubmitJob,
    "heartbeat": JobHeartbeat,
    "finish": FinishJob,
    "set_state": SetState,
    "set_priority": SetJobPriority,
    "set_fifo": SetFifo,
    "preempt": CheckPreemption,
    **COMMON,
}
