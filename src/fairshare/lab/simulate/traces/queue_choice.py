"""Owns which queue a job of a trace is submitted to, whatever the configuration.

In this order: a mapping file; the trace's own queue or the user's, if the configuration's placement
accepts them; else the leaf queues in turn, one for each queue or user of the trace, which is said.
Placement is asked on a scheduler of its own, which nothing else uses.
"""

from pathlib import Path

import msgspec

from fairshare.core.manager.resource_manager import ResourceManager
from fairshare.core.model.events import ApplicationSubmitted
from fairshare.core.model.inputs import (
    KillApplication,
    LoadConfiguration,
    NodeJoined,
    SubmitApplication,
)
from fairshare.core.model.resources import MEMORY, VCORES
from fairshare.core.model.work import TaskGroup
from fairshare.documents.problems import Place, Problems
from fairshare.documents.structs import read
from fairshare.documents.values import Reader
from fairshare.documents.yaml_tree import read_yaml
from fairshare.lab.simulate.traces.records import TraceJob
from fairshare.wording import cause

RULE = "mapping"
MOST_BYTES = 10_000_000
MOST_SHOWN = 8
DEFAULT = "default"
"""What a submission names that leaves the choice to the placement."""


class QueueMapping(msgspec.Struct, frozen=True):
    """A mapping file: queues of the trace, users of the trace, and what holds for all others."""

    queues: dict[str, str] = {}
    users: dict[str, str] = {}
    default: str | None = None

    def of(self, job: TraceJob) -> str | None:
        """The queue of a job; its user counts before its queue."""
        named = self.users.get(job.user) or self.queues.get(job.queue or "")
        return named or self.default or None


def read_mapping(path: Path) -> QueueMapping:
    """Read a mapping file; raises ConfigurationError with every mistake.

    `{users: {ann: root.a}, queues: {vc3: root.b}, default: root.c}`
    """
    problems = Problems()
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
        text = data.decode()
        reason = f"it has more than {MOST_BYTES:,} bytes" if len(data) > MOST_BYTES else ""
    except (OSError, UnicodeDecodeError) as error:
        text, reason = "", cause(error)
    root = None if reason else read_yaml(text, str(path), problems)
    if reason:
        problems.error(Place(str(path)), RULE, f"cannot be read: {reason}")
    if root is None:
        problems.raise_errors()
        return QueueMapping()
    mapping = read(root, QueueMapping, Reader(problems, RULE))
    problems.raise_errors()
    assert mapping is not None
    return mapping


class QueueChoice:
    """Chooses the queue of each job. `manager` is of no use for anything else afterwards."""

    def __init__(
        self, manager: ResourceManager, settings: bytes, mapping: QueueMapping | None = None
    ) -> None:
        self._manager = manager
        self._mapping = mapping or QueueMapping()
        manager.handle(0, LoadConfiguration(settings, 1))
        types = manager.state.types
        self._least = types.vector({MEMORY: 1, VCORES: 1})
        manager.handle(0, NodeJoined("node", types.vector({MEMORY: 2**30, VCORES: 2**20})))
        views = manager.scheduler.queue_views(0)
        self._leaves = [view.name for view in views if view.leaf] or [DEFAULT]
        self._accepted: dict[tuple[str, str], bool] = {}
        self._spread: dict[str, str] = {}

    def queue_of(self, job: TraceJob) -> str:
        """The queue that a job's submission names."""
        mapped = self._mapping.of(job)
        if mapped is not None:
            return mapped
        for named in (job.queue, DEFAULT):
            if named is not None and self._accepts(job.user, named):
                return named
        key = job.queue or job.user
        leaf = self._spread.get(key)
        if leaf is None:
            leaf = self._spread[key] = self._leaves[len(self._spread) % len(self._leaves)]
        return leaf

    @property
    def note(self) -> str:
        """Which queues were chosen because the configuration accepts neither the trace's queues nor
        its users; empty if there are none."""
        if not self._spread:
            return ""
        pairs = [f"{name} -> {leaf}" for name, leaf in sorted(self._spread.items())]
        more = len(pairs) - MOST_SHOWN
        shown = ", ".join(pairs[:MOST_SHOWN]) + (f", and {more} more" if more > 0 else "")
        return (
            "The configuration has no place for these queues and users of the trace, so that they"
            f" share its leaf queues in turn: {shown}. Choose others with --map."
        )

    def _accepts(self, user: str, queue: str) -> bool:
        known = self._accepted.get((user, queue))
        if known is None:
            known = self._accepted[user, queue] = self._try(user, queue)
        return known

    def _try(self, user: str, queue: str) -> bool:
        tasks = (TaskGroup("try", 1, self._least),)
        events = self._manager.handle(0, SubmitApplication(user, queue, tasks=tasks))
        for event in events:
            if type(event) is ApplicationSubmitted:
                self._manager.handle(0, KillApplication(event.application))
                return True
        return False
