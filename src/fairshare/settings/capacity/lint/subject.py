"""What a lint rule of the Capacity Scheduler looks at: settings, and where they are written."""

from collections.abc import Iterator

from fairshare.core.model.queues import ROOT, parent_name
from fairshare.core.model.resources import Resource
from fairshare.core.schedulers.capacity.plan import named_queues
from fairshare.core.schedulers.capacity.settings import (
    CapacitySettings,
    Percentage,
    QueueSettings,
    Vector,
    Weight,
)
from fairshare.documents.problems import Finding, Place
from fairshare.settings.capacity.names import PREFIX
from fairshare.settings.site import Site

NO_EFFECT = "ignores it"
_SILENT = QueueSettings()


class CapacitySubject:
    """A configuration of the Capacity Scheduler.

    `file` is the name of capacity-scheduler.xml. `cluster` is what all nodes have together; None:
    unknown. `has_site` says whether yarn-site.xml was there to be read; a lone file leaves it open.
    """

    def __init__(
        self,
        settings: CapacitySettings,
        site: Site,
        file: str,
        cluster: Resource | None = None,
        has_site: bool = True,
    ) -> None:
        self.settings = settings
        self.site = site
        self.file = file
        self.cluster = cluster
        self.has_site = has_site
        self.leaf = named_queues(settings)  # every queue of the lists; whether it is a leaf
        self._weights: dict[str, float] = {}

    @property
    def queues(self) -> Iterator[tuple[str, QueueSettings]]:
        """All queues that lists of children lead to, root first."""
        return ((name, self.own(name)) for name in self.leaf)

    @property
    def leaves(self) -> Iterator[tuple[str, QueueSettings]]:
        """Those that applications run in."""
        return ((name, own) for name, own in self.queues if self.leaf[name])

    @property
    def parents(self) -> Iterator[tuple[str, QueueSettings]]:
        """Those that have queues below them, or get them on demand."""
        return ((name, own) for name, own in self.queues if not self.leaf[name])

    def own(self, name: str) -> QueueSettings:
        """What the file says of a queue, or nothing."""
        return self.settings.queues.get(name, _SILENT)

    def children(self, name: str) -> list[str]:
        """The full names of the queues right below."""
        return [f"{name}.{child}" for child in self.own(name).children or ()]

    def path(self, name: str) -> Iterator[str]:
        """The queue and all above it, root last."""
        while name:
            yield name
            name = parent_name(name)

    def guarantee(self, name: str) -> float | None:
        """The part of the cluster that a queue is guaranteed, 0 to 1; None where amounts are given.

        Percentages and weights of the queue and of all above it are multiplied
        (Hadoop: CSQueueUtils.updateAbsoluteCapacitiesByNodeLabels).
        """
        part = 1.0
        for ancestor in self.path(name):
            if ancestor == ROOT:
                return part
            capacity = self.own(ancestor).capacity
            match capacity:
                case Vector():
                    return None
                case Weight(weight):
                    total = self._weight_below(parent_name(ancestor))
                    part *= weight / total if total else 0.0
                case Percentage(percent):
                    part *= percent / 100
                case None:
                    part = 0.0
        return part

    def _weight_below(self, name: str) -> float:
        """The sum of the weights of a queue's children, added up once."""
        if name not in self._weights:
            capacities = (self.own(child).capacity for child in self.children(name))
            self._weights[name] = sum(one.weight for one in capacities if isinstance(one, Weight))
        return self._weights[name]

    # Where things stand.

    def is_written(self, name: str, suffix: str) -> bool:
        """Whether the files say this of a queue."""
        return f"{PREFIX}{name}.{suffix}" in self.site

    def place(self, name: str, *suffixes: str) -> Place:
        """Where the first of these is said of a queue; else where it is listed; else the file."""
        names = [f"{PREFIX}{name}.{suffix}" for suffix in suffixes]
        names.append(f"{PREFIX}{parent_name(name)}.queues")
        return self.place_of(*names)

    def place_of(self, *names: str) -> Place:
        """The place of the first of these properties that is set; else the file."""
        found = [name for name in names if name in self.site]
        return self.site.place(found[0]) if found else Place(self.file, 1, 1)

    def silent(self, name: str, message: str, hadoop: str = NO_EFFECT) -> Finding:
        """A property that has no effect."""
        return Finding(self.site.place(name), f"{name} has no effect: {message}", hadoop, "warning")


def property_of(name: str, suffix: str) -> str:
    """`property_of("root.a", "state") == "yarn.scheduler.capacity.root.a.state"`."""
    return f"{PREFIX}{name}.{suffix}"
