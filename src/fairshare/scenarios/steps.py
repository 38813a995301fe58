"""Owns the steps of a scenario, and those that only jobs of MapReduce have, as frozen data. Knows
neither YAML nor the scheduler.

Resources are amounts by the name of their type, as the file has them; times are milliseconds. Each
step knows the line that it is in, and what its file says that must go wrong: `error` is the
text that the refusal must contain, True for any refusal, None when nothing may be refused.
"""

from typing import Any, Final

import msgspec

Amounts = dict[str, int]

ALL_NODES = "all"
STATES: Final = ("RUNNING", "PREP", "SUCCEEDED", "FAILED", "KILLED")
SLOT_WORDS: Final = ("map", "reduce")


class Ask(msgspec.Struct, frozen=True):
    """So many containers of one size, and where. `duration_ms`: how long each one runs in `run`."""

    resources: Amounts
    count: int = 1
    priority: int = 1
    request: int = 0
    hosts: tuple[str, ...] = ()
    racks: tuple[str, ...] = ()
    relax: bool = True
    location: str = ""
    duration_ms: int | None = None
    label: str | None = None


class NodeGroup(msgspec.Struct, frozen=True):
    """Nodes that join, all alike."""

    names: tuple[str, ...]
    rack: str
    resources: Amounts
    label: str = ""  # the partition that they report


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """What every step has."""

    line: int
    kind: str
    error: str | bool | None = None


class Submit(Step, frozen=True, kw_only=True):
    """An application arrives. `master` None: it has no master's container."""

    app: str
    user: str = "user"
    queue: str = "default"
    name: str = ""
    priority: int | None = None
    master: Amounts | None = None
    tags: tuple[str, ...] = ()
    asks: tuple[Ask, ...] = ()
    recovering: bool = False
    label: str | None = None
    master_label: str | None = None


class AskMore(Step, frozen=True, kw_only=True):
    """More asks from a running application."""

    app: str
    asks: tuple[Ask, ...]


class Heartbeat(Step, frozen=True, kw_only=True):
    """Node updates, one after another; `all` means every node."""

    nodes: tuple[str, ...]
    times: int = 1


class Update(Step, frozen=True, kw_only=True):
    """Passes of the update thread."""

    passes: int


class Preempt(Step, frozen=True, kw_only=True):
    """Passes of the preemption monitor."""

    passes: int


class Advance(Step, frozen=True, kw_only=True):
    """The clock moves."""

    duration_ms: int


class FinishContainers(Step, frozen=True, kw_only=True):
    """The oldest containers of an application end with success; `on` limits it to one node."""

    app: str
    containers: int
    on: str | None = None


class FinishApplication(Step, frozen=True, kw_only=True):
    """An application ends with success."""

    app: str


class Kill(Step, frozen=True, kw_only=True):
    """An application is killed."""

    app: str


class Move(Step, frozen=True, kw_only=True):
    """An application moves to another queue."""

    app: str
    queue: str


class SetPriority(Step, frozen=True, kw_only=True):
    """An application's priority changes."""

    app: str
    priority: int


class ChangeLabels(Step, frozen=True, kw_only=True):
    """Partitions are made (exclusive or not), removed, or given to nodes; in this order."""

    add: dict[str, bool] = {}
    remove: tuple[str, ...] = ()
    nodes: dict[str, str] = {}


class AddNodes(Step, frozen=True, kw_only=True):
    """Nodes join."""

    nodes: NodeGroup


class RemoveNode(Step, frozen=True, kw_only=True):
    """A node is lost."""

    name: str


class ResizeNode(Step, frozen=True, kw_only=True):
    """A node offers another amount."""

    name: str
    resources: Amounts


class DrainNode(Step, frozen=True, kw_only=True):
    """A node takes no new containers (`on`), or takes them again."""

    name: str
    on: bool


class SafeMode(Step, frozen=True, kw_only=True):
    """Nothing is admitted and granted any longer (`on`), or again."""

    on: bool


class Reload(Step, frozen=True, kw_only=True):
    """Files are replaced and read; without files and properties: the periodic check."""

    files: dict[str, str] = {}
    properties: dict[str, str | None] = {}


class Write(Step, frozen=True, kw_only=True):
    """Files are replaced, and not read."""

    files: dict[str, str]


class Blacklist(Step, frozen=True, kw_only=True):
    """An application refuses nodes, or takes that back."""

    app: str
    add: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()


class Release(Step, frozen=True, kw_only=True):
    """An application gives its oldest containers back."""

    app: str
    containers: int = 1


class Run(Step, frozen=True, kw_only=True):
    """Time passes; `heartbeat_ms` 0: no node beats."""

    duration_ms: int
    heartbeat_ms: int = 1000


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
    tasks: tuple[str, ...] | None = None


class SetState(Step, frozen=True, kw_only=True):
    """A job gets into another state."""

    app: str
    state: str = "RUNNING"


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


class Check(msgspec.Struct, frozen=True):
    """One expected value. `where` is its path (`apps.a1.containers`)."""

    where: tuple[str, ...]
    expected: Any
    line: int


class Expect(Step, frozen=True, kw_only=True):
    """How things must stand."""

    checks: tuple[Check, ...]


class Scenario(msgspec.Struct, frozen=True, kw_only=True):
    """One file. `error` as in a step: this configuration must be refused at the start.

    `job_switches` are those of scenarios of MapReduce (`Jobs.files`).
    """

    file: str
    name: str
    scheduler: str
    config: dict[str, str]
    properties: dict[str, str | None]
    groups: dict[str, tuple[str, ...]]
    nodes: tuple[NodeGroup, ...]
    steps: tuple[Step, ...]
    error: str | bool | None = None
    unlike_hadoop: str = ""
    job_switches: dict[str, Any] = {}
