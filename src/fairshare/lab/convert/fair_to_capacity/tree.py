"""The queues as they are going to be: those of the file, and those that its rules count on.

Names change only where the Capacity Scheduler could not read them.
"""

from collections.abc import Iterator

from fairshare.core.model.queues import ROOT
from fairshare.core.schedulers.fair.settings import QueueSettings
from fairshare.lab.convert.fair_to_capacity.draft import Draft
from fairshare.lab.convert.fair_to_capacity.source import Source

_UNREADABLE = ",\n\r\t"


class Queue:
    """One queue. `name` is its name in the Fair Scheduler, `path` the one that it will have.

    `makes_queues`: queues are made below it on demand. `added`: no file names it.
    """

    def __init__(self, own: QueueSettings, path: str, parent: "Queue | None") -> None:
        self.own = own
        self.name = own.name
        self.path = path
        self.parent = parent
        self.children: list[Queue] = []
        self.makes_queues = False
        self.added = False

    @property
    def leaf(self) -> bool:
        """Whether applications run in it. A plan queue is one: they ran in a queue that it made."""
        parent = self.own.parent and not self.own.reservable
        return self.parent is not None and not self.children and not parent

    def below(self) -> "Iterator[Queue]":
        """The queue itself, then all below it, parents first."""
        yield self
        for child in self.children:
            yield from child.below()


class Tree:
    """All queues, by their names in the Fair Scheduler."""

    def __init__(self, source: Source, draft: Draft) -> None:
        self._source = source
        self._draft = draft
        self.root = Queue(source.subject.queue(ROOT), ROOT, None)
        self.queues: dict[str, Queue] = {ROOT: self.root}
        self._grow(self.root)

    @property
    def leaves(self) -> list[Queue]:
        """Where applications run."""
        return [queue for queue in self.root.below() if queue.leaf]

    @property
    def parents(self) -> list[Queue]:
        """Root, and what has or makes queues below it."""
        return [queue for queue in self.root.below() if not queue.leaf]

    def add(self, name: str, *, parent: bool = False) -> Queue | None:
        """The queue of this name, made together with what is missing above it; None: a leaf is in
        the way."""
        found = self.queues.get(name)
        if found is not None:
            return found
        above = self.add(name.rpartition(".")[0], parent=True)
        if above is None or above.leaf:
            return None
        queue = self._child(above, QueueSettings(name, parent=parent))
        queue.added = True
        return queue

    def _grow(self, queue: Queue) -> None:
        for own in self._source.subject.children(queue.name):
            self._grow(self._child(queue, own))

    def _child(self, parent: Queue, own: QueueSettings) -> Queue:
        short = own.name.rpartition(".")[2]
        readable = "".join("_" if c in _UNREADABLE else c for c in short)
        taken = {child.path for child in parent.children}
        while f"{parent.path}.{readable}" in taken:
            readable += "_"
        queue = Queue(own, f"{parent.path}.{readable}", parent)
        parent.children.append(queue)
        self.queues[own.name] = queue
        if readable != short:
            self._draft.note(
                own.name,
                "queue-name",
                "name",
                short,
                "changed",
                f"queue {queue.path}",
                "a list of queues is divided by commas, so that no name can hold one:"
                " who names the queue must use the new name",
                self._source.place(own.name),
            )
        return queue
