"""What a lint rule looks at: settings, the places they come from, and the cluster if known."""

from collections.abc import Iterator

import msgspec

from fairshare.core.model.queues import ROOT, parent_name
from fairshare.core.model.resources import UNBOUNDED, Resource, ResourceTypes, largest, smallest
from fairshare.core.schedulers.fair.settings import Amount, FairSettings, QueueSettings
from fairshare.documents.problems import Place, Problems
from fairshare.documents.xml import Element, parse
from fairshare.settings.fair.element_values import ElementValues
from fairshare.settings.fair.queue_elements import read_queues
from fairshare.settings.site import Site


class AllocationElements(msgspec.Struct, frozen=True):
    """The allocation file as elements: its top, and its queues by full name."""

    top: Element
    queues: dict[str, Element]


def find_elements(document: bytes, file: str, types: ResourceTypes) -> AllocationElements | None:
    """The elements of an allocation file; None when it is none. Problems are not reported again."""
    top = parse(document, file, Problems())
    if top is None or top.name != "allocations":
        return None
    queues = [child for child in top.children if child.name in ("queue", "pool")]
    _, elements = read_queues(queues, ElementValues(types, Problems()))
    return AllocationElements(top, elements)


class Subject:
    """A configuration of the Fair Scheduler.

    `cluster` is what all nodes have together; None: unknown. `has_site` says whether the properties
    were there to be read; a lone allocation file leaves them open.
    """

    def __init__(
        self,
        settings: FairSettings,
        site: Site,
        elements: AllocationElements | None,
        cluster: Resource | None = None,
        has_site: bool = True,
    ) -> None:
        self.settings = settings
        self.allocations = settings.allocations
        self.site = site
        self.elements = elements
        self.cluster = cluster
        self.has_site = has_site
        self._children: dict[str, list[QueueSettings]] = {}
        for queue in self.allocations.queues.values():
            self._children.setdefault(parent_name(queue.name), []).append(queue)

    @property
    def leaves(self) -> Iterator[QueueSettings]:
        """The queues of the file that applications run in."""
        queues = self.allocations.queues.values()
        return (queue for queue in queues if not queue.parent and queue.name != ROOT)

    @property
    def parents(self) -> list[QueueSettings]:
        """Root, and the queues of the file that have or may have queues in them."""
        queues = self.allocations.queues.values()
        return [self.queue(ROOT), *(q for q in queues if q.parent and q.name != ROOT)]

    def queue(self, name: str) -> QueueSettings:
        """What the file says of a queue, or nothing."""
        return self.allocations.queues.get(name) or QueueSettings(name, parent=name == ROOT)

    def children(self, name: str) -> list[QueueSettings]:
        """The queues of the file right below a queue."""
        return self._children.get(name, [])

    def path(self, name: str) -> Iterator[QueueSettings]:
        """The queue and all above it, root last."""
        while name:
            yield self.queue(name)
            name = parent_name(name)

    def resolved(self, amount: Amount | None) -> Resource:
        """Whole numbers, as far as they are known: a part of an unknown cluster has no bound."""
        unbounded = self.settings.types.unbounded
        if amount is None or (amount.absolute is None and self.cluster is None):
            return unbounded
        return amount.resolve(self.cluster or unbounded)

    def maximum(self, queue: QueueSettings) -> Resource:
        """The queue's maximum: its own or the file's default, never below its minimum."""
        written = self.resolved(queue.max_share or self.allocations.queue_max_share_default)
        return largest(written, queue.min_share or self.settings.types.none)

    def reachable(self, queue: QueueSettings) -> Resource:
        """The most that a queue can ever use: the maximums up to the root, and the cluster."""
        most = self.cluster or self.settings.types.unbounded
        for above in self.path(queue.name):
            most = smallest(most, self.maximum(above))
        return most

    # Where things stand.

    def place(self, queue: str, *tags: str) -> Place:
        """Where a queue says one of these things; else where it begins; else the file."""
        element = self.elements.queues.get(queue) if self.elements else None
        if element is None:
            return self.top_place(*tags)
        found = _last(element, tags)
        return element.place if found is None else found.text_place

    def top_place(self, *tags: str) -> Place:
        """Where the file says one of these things for all queues; else the file."""
        if self.elements is None:
            return self.site.place()
        found = _last(self.elements.top, tags)
        return self.elements.top.place if found is None else found.text_place

    def written(self, *tags: str) -> list[tuple[str, Element]]:
        """All elements of these names: of the file (queue ""), then of the queues."""
        if self.elements is None:
            return []
        holders = [("", self.elements.top), *self.elements.queues.items()]
        return [(name, c) for name, holder in holders for c in holder.children if c.name in tags]

    # Words for messages.

    def beyond(self, amount: Resource, limit: Resource) -> str:
        """The types in which an amount is above a limit: `memory-mb=4096 of 2048`; else empty."""
        names = self.settings.types.names
        return ", ".join(
            f"{name}={x} of {limit_text(y)}"
            for name, x, y in zip(names, amount, limit, strict=True)
            if x > y
        )


def limit_text(amount: int) -> str:
    """`limit_text(2048) == '2048'`; what has no bound is called so."""
    return "no limit" if amount == UNBOUNDED else str(amount)


def _last(element: Element, tags: tuple[str, ...]) -> Element | None:
    found = [child for child in element.children if child.name in tags]
    return found[-1] if found else None
