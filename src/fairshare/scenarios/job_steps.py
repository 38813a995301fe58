"""Owns the steps that only scenarios of MapReduce have, as frozen data, and their form in a file.

The other steps are those of any scenario; `JOB_STEP_READERS` lists them.
"""

from typing import Final

import msgspec

from fairshare.config.located import Node
from fairshare.config.problems import Problems
from fairshare.scenarios import step_readers
from fairshare.scenarios.expectations import JOB_CHECKS, read_checks
from fairshare.scenarios.fields import Fields, Values, unknown_word
from fairshare.scenarios.job_words import JOBS
from fairshare.scenarios.steps import ALL_NODES, Expect, FinishApplication, Step

STATES: Final = ("RUNNING", "PREP", "SUCCEEDED", "FAILED", "KILLED")
SLOT_WORDS: Final = ("map", "reduce")
ALL_TASKS: Final = "all"


class JobTasks(msgspec.Struct, frozen=True):
    """So many tasks of a job; `kind` is 0 for maps, 1 for reduces."""

    count: int
    kind: int
    hosts: tuple[str, ...] = ()


class SubmitJob(Step, frozen=True, kw_only=True):
    """A job arrives; `queue` None: its pool follows from its properties."""

    app: str
    user: str = "user"
    queue: str | None = None
    priority: int | None = None
    state: str = "RUNNING"
    properties: dict[str, str] = msgspec.field(default_factory=dict)
    tasks: tuple[JobTasks, ...] = ()


class JobHeartbeat(Step, frozen=True, kw_only=True):
    """Heartbeats; `assigned` is what each must hand out, None where nothing is said."""

    nodes: tuple[str, ...]
    times: int = 1
    assigned: tuple[str, ...] | None = None


class FinishTasks(Step, frozen=True, kw_only=True):
    """Tasks of a job end with success; None: all that run."""

    app: str
    tasks: tuple[str, ...] | None


class SetState(Step, frozen=True, kw_only=True):
    """A job gets into another state."""

    app: str
    state: str


class SetJobPriority(Step, frozen=True, kw_only=True):
    """A job's priority changes."""

    app: str
    priority: int


class SetFifo(Step, frozen=True, kw_only=True):
    """The switch of the old scheduler page."""

    on: bool


class CheckPreemption(Step, frozen=True, kw_only=True):
    """Checks of the preemption thread. `killed`: how many tasks must die, or which."""

    passes: int = 1
    killed: int | tuple[str, ...] | None = None


def _word(fields: Fields, key: str, known: tuple[str, ...], default: str) -> str:
    word = fields.text(key, default)
    if word not in known:
        message = unknown_word(key, word, known, fields.what)
        fields.wrong(fields.node.keys.get(key, fields.node.place), message)
        return default
    return word


def _priority(fields: Fields) -> int | None:
    if "priority" not in fields.entries:
        return None
    return JOBS.priorities.index(_word(fields, "priority", JOBS.priorities, "NORMAL")) + 1


def _tasks(fields: Fields) -> tuple[JobTasks, ...]:
    node = fields.get("asks")
    if node is None:
        return ()
    found = []
    for item in fields.items_of(node, "asks"):
        inner = Fields(item, "ask", fields.problems)
        kind = SLOT_WORDS.index(_word(inner, "slot", SLOT_WORDS, "map"))
        count = inner.whole("count", 1, minimum=0)
        found.append(JobTasks(count, kind, inner.texts("hosts")))
        inner.finish()
    return tuple(found)


def _submit(node: Node, line: int, problems: Problems) -> Step:
    fields = Fields(node, "submit", problems)
    conf = fields.get("conf")
    properties = {} if conf is None else step_readers.read_properties(conf, problems)
    step = SubmitJob(
        line=line,
        kind="submit",
        app=fields.needed_text("app"),
        user=fields.text("user", "user"),
        queue=fields.text("queue") or None,
        priority=_priority(fields),
        state=_word(fields, "state", STATES, "RUNNING"),
        properties={name: value for name, value in properties.items() if value is not None},
        tasks=_tasks(fields),
        error=fields.error(),
    )
    fields.finish()
    return step


def _heartbeat(node: Node, line: int, problems: Problems) -> Step:
    times, assigned = 1, None
    if node.items is not None:
        names = Values(problems).texts_of(node, "heartbeat")
    elif node.entries is None:
        names = (Values(problems).text_of(node, "heartbeat"),)
    else:
        fields = Fields(node, "heartbeat", problems)
        names = (fields.needed_text("node"),)
        times = fields.whole("times", 1, minimum=0)
        if "assigned" in fields.entries:
            assigned = fields.texts("assigned")
        fields.finish()
    if assigned is not None and names == (ALL_NODES,):
        problems.error(node.place, "scenario", "name one node to say what is assigned to it")
    return JobHeartbeat(line=line, kind="heartbeat", nodes=names, times=times, assigned=assigned)


def _finish(node: Node, line: int, problems: Problems) -> Step:
    if node.entries is None:
        app = Values(problems).text_of(node, "finish")
        return FinishApplication(line=line, kind="finish", app=app)
    fields = Fields(node, "finish", problems)
    app, tasks = fields.needed_text("app"), fields.need("tasks")
    names = None
    if tasks is not None and (tasks.items is not None or tasks.text != ALL_TASKS):
        names = fields.texts_of(tasks, "finish.tasks")
    step = FinishTasks(line=line, kind="finish", app=app, tasks=names, error=fields.error())
    fields.finish()
    return step


def _set_state(node: Node, line: int, problems: Problems) -> Step:
    fields = Fields(node, "set_state", problems)
    app, state = fields.needed_text("app"), _word(fields, "state", STATES, "RUNNING")
    step = SetState(line=line, kind="set_state", app=app, state=state, error=fields.error())
    fields.finish()
    return step


def _set_priority(node: Node, line: int, problems: Problems) -> Step:
    fields = Fields(node, "set_priority", problems)
    app = fields.needed_text("app")
    fields.need("priority")
    step = SetJobPriority(
        line=line,
        kind="set_priority",
        app=app,
        priority=_priority(fields) or 0,
        error=fields.error(),
    )
    fields.finish()
    return step


def _set_fifo(node: Node, line: int, problems: Problems) -> Step:
    on = Values(problems).boolean_of(node, "set_fifo")
    return SetFifo(line=line, kind="set_fifo", on=on is True)


def _preempt(node: Node, line: int, problems: Problems) -> Step:
    values = Values(problems)
    if node.entries is None:
        passes = values.whole_of(node, "preempt", minimum=0)
        return CheckPreemption(line=line, kind="preempt", passes=passes)
    fields = Fields(node, "preempt", problems)
    killed = fields.need("killed")
    found: int | tuple[str, ...] | None = None
    if killed is not None and killed.items is not None:
        found = fields.texts_of(killed, "preempt.killed")
    elif killed is not None:
        found = fields.whole_of(killed, "preempt.killed", minimum=0)
    fields.finish()
    return CheckPreemption(line=line, kind="preempt", killed=found)


def _expect(node: Node, line: int, problems: Problems) -> Step:
    return Expect(line=line, kind="expect", checks=read_checks(node, problems, JOB_CHECKS))


JOB_STEP_READERS: Final[dict[str, step_readers.StepReader]] = {
    **{
        kind: step_readers.STEP_READERS[kind]
        for kind in ("update", "advance", "kill", "move", "node", "safe_mode", "reload", "write")
    },
    "submit": _submit,
    "heartbeat": _heartbeat,
    "finish": _finish,
    "set_state": _set_state,
    "set_priority": _set_priority,
    "set_fifo": _set_fifo,
    "preempt": _preempt,
    "expect": _expect,
}
