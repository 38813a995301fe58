"""The partition of each request, and how a master's container requests become entries of its table
of asks, as in Hadoop's AM library (`AMRMClient`).

The library keeps counts by priority, place and size, and sends the totals; so a request for four
more becomes the outstanding count plus four (see `ContainerRequest`). The scheduler knows the
capacities of a partition and which queues have access to it; most schedulers have no partitions
(Hadoop: RMNodeLabelsManager).
"""

from collections.abc import Callable, Iterable, Sequence

from fairshare.core.model.applications import Application
from fairshare.core.model.inputs import AddLabels, LabelNodes, RemoveLabels
from fairshare.core.model.nodes import Node
from fairshare.core.model.resources import Resource
from fairshare.core.model.tasks import GROUP_REQUESTS
from fairshare.core.model.work import ANYWHERE, ContainerRequest, ResourceRequest, TaskGroup
from fairshare.core.schedulers.protocol import Refusal, Scheduler, Step
from fairshare.wording import counted


def change_labels(
    scheduler: Scheduler, step: Step, request: AddLabels | RemoveLabels | LabelNodes
) -> None:
    """Add or remove partitions, or assign nodes to them; raises Refusal."""
    user = request.user
    if user and not scheduler.may_administer("", user, request.groups):
        raise Refusal("access-denied", f"User {user} does not administer the cluster")
    match request:
        case AddLabels():
            scheduler.add_labels(step, request.labels)
        case RemoveLabels():
            scheduler.remove_labels(step, request.labels)
        case LabelNodes():
            scheduler.label_nodes(step, request.nodes, known=request.known)


def check_tasks(scheduler: Scheduler, application: Application, tasks: Sequence[TaskGroup]) -> None:
    """Raise Refusal for groups in a partition that the application's queue has no access to."""
    for group in tasks:
        scheduler.label_of(application, group.label, master=False, check=True)


def label_of(scheduler: Scheduler, application: Application, request: ContainerRequest) -> str:
    """The partition of a request: its own label, the application's, or the queue's default.

    Raises Refusal if the queue has no access to it. Task groups were checked on arrival; if
    their partition has become unusable since, they wait.
    """
    master = application.managed and application.attempt.master is None
    check = request.request < GROUP_REQUESTS
    return scheduler.label_of(application, request.label, master=master, check=check)


DEFAULT_RACK = "/default-rack"

MOST_OUTSTANDING = 2**31 - 1
"""The maximum number of outstanding containers of one priority, size and place, as in Hadoop."""

_Key = tuple[int, int, str]


def entries(
    scheduler: Scheduler,
    step: Step,
    application: Application,
    requests: Iterable[ContainerRequest],
) -> tuple[ResourceRequest, ...]:
    """The entries that replace those of the same key and place.

    Example: with 2 containers of (1024, 1) outstanding anywhere, a request for 3 more on host n1
    of rack r1 gives the entries n1: 3, r1: 3 and *: 5. Only the entry for anywhere has a partition,
    as in Hadoop.
    """
    asks: dict[_Key, ResourceRequest] = {}
    for request in requests:
        size = scheduler.normalise(step, application.queue, request.resource)
        label = label_of(scheduler, application, request)
        for place, relax in _places(request, scheduler.state.node_on):
            key = (request.priority, request.request, place)
            earlier = asks.pop(key, None)  # the new one comes last
            if request.location:
                outstanding = 0
            elif earlier is not None:
                outstanding = earlier.count if earlier.resource == size else 0
            else:
                outstanding = _outstanding(application, key, size)
            count = max(0, outstanding + request.count)
            if count > MOST_OUTSTANDING:
                raise Refusal(
                    "too-many-containers",
                    f"{counted(count, 'container')} would be outstanding;"
                    f" {MOST_OUTSTANDING:,} is the most",
                )
            label_there = label if place == ANYWHERE else ""
            asks[key] = ResourceRequest(*key, count, size, relax, label_there)
    return tuple(asks.values())


def _places(
    request: ContainerRequest, node_on: Callable[[str], Node | None]
) -> Sequence[tuple[str, bool]]:
    """All places of a request, each with its relax flag: named places are always acceptable."""
    if request.location:
        return ((request.location, request.relax),)
    if not (request.hosts or request.racks):  # nearly always
        return ((ANYWHERE, request.relax),)
    hosts = list(dict.fromkeys(request.hosts))
    racks = list(dict.fromkeys(request.racks))
    found = [node_on(host) for host in hosts]
    implied = dict.fromkeys(DEFAULT_RACK if node is None else node.rack for node in found)
    return [
        *((host, True) for host in hosts),
        *((rack, True) for rack in racks),
        *((rack, request.relax) for rack in implied if rack not in racks),
        (ANYWHERE, request.relax),
    ]


def _outstanding(application: Application, key: _Key, size: Resource) -> int:
    priority, request, place = key
    asks = application.attempt.asks.keys.get((priority, request))
    if asks is None:
        return 0
    ask = asks.anywhere if place == ANYWHERE else asks.places.get(place)
    return ask.count if ask is not None and ask.resource == size else 0
