"""`yarn queue`: the report of a queue, and the table of the queues below one.

Reads the scheduler's document, which differs between schedulers. The Fair Scheduler's document has
no weights: they are requested from a fairshare server, and N/A for a real ResourceManager. Its
MaxResource is at most the cluster's total.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from fairshare.client.errors import AnswerNotUnderstood
from fairshare.yarn.cli.calls import FAILED, Call, Command, Option, say
from fairshare.yarn.cli.documents import NOT_THERE, Fields, boxed_table, items, two_decimals
from fairshare.yarn.cli.manager import RemoteRefusal, ResourceManager

HEADERS = (
    "Queue Name",
    "Queue Path",
    "State",
    "Capacity",
    "Current Capacity",
    "Maximum Capacity",
    "Weight",
    "Maximum Parallel Apps",
)
COMMAND = Command(
    "queue",
    Option("status", "Prints the status of the queue.", 1, "Queue Name"),
    Option("list", "Lists the queues below this one; all: every queue.", 1, "Parent Queue Name"),
)


class Queue(msgspec.Struct):
    """One queue of any scheduler; capacities are percentages. `fields` is its document."""

    scheduler: str
    name: str
    path: str
    state: str
    capacity: float
    used: float
    maximum: float
    weight: float | None
    applications: int
    fields: Fields
    children: list["Queue"] = []

    def below(self) -> Iterator["Queue"]:
        """All descendants, each before its own children."""
        for child in self.children:
            yield child
            yield from child.below()


def run(call: Call, words: Sequence[str]) -> int:
    """Run the command; returns the exit code."""
    arguments = COMMAND.arguments(words)
    if "status" in arguments and arguments.only("status"):
        return _report(call.manager, arguments.value("status"))
    if "list" in arguments and arguments.only("list"):
        return _list(call.manager, arguments.value("list"))
    return COMMAND.wrong_usage()


def read_queues(manager: ResourceManager) -> Queue:
    """The root queue with all its descendants."""
    info = manager.get("/scheduler")["scheduler"]["schedulerInfo"]
    kind = info.get("type", "")
    if kind == "fairScheduler":
        root = info["rootQueue"]
        return _fair(root, root["clusterResources"]["memory"], _weights(manager))
    if kind == "capacityScheduler":
        return _capacity(info)
    if kind == "fifoScheduler":
        state, used = str(info.get("qstate", "")), 100.0 * info.get("usedCapacity", 0.0)
        only = Queue(
            "FifoScheduler", "default", "default", state, 100.0, used, 100.0, None, 0, info
        )
        return msgspec.structs.replace(only, name="root", path="root", children=[only])
    raise AnswerNotUnderstood(f"the scheduler {kind!r} is none that this command knows")


def _weights(manager: ResourceManager) -> dict[str, float]:
    try:
        answer = manager.own("GET", "/queues")
    except RemoteRefusal:
        return {}
    if answer is None:
        return {}
    return {one["name"]: one["weight"] for one in items(answer.json(), "queues") if one["weight"]}


def _fair(fields: Fields, cluster_mb: int, weights: dict[str, float]) -> Queue:
    share, used, most = (
        fields[name]["memory"] for name in ("fairResources", "usedResources", "maxResources")
    )
    path = fields["queueName"]
    children = items(fields, "childQueues", "queue")
    return Queue(
        "FairScheduler",
        path,
        path,
        "RUNNING",  # a queue of the Fair Scheduler cannot be stopped
        100.0 * share / cluster_mb if cluster_mb else 0.0,
        100.0 * used / share if share else 0.0,
        100.0 * most / cluster_mb if cluster_mb else 0.0,
        weights.get(path),
        fields["maxApps"],
        fields,
        [_fair(child, cluster_mb, weights) for child in children],
    )


def _capacity(fields: Fields) -> Queue:
    return Queue(
        "CapacityScheduler",
        fields["queueName"],
        str(fields.get("queuePath", fields["queueName"])),
        str(fields.get("state", NOT_THERE)),  # missing in the root's document
        fields["capacity"],
        fields["usedCapacity"],
        fields["maxCapacity"],
        fields.get("weight"),
        fields.get("maxParallelApps", 0),
        fields,
        [_capacity(child) for child in items(fields, "queues", "queue")],
    )


def find(root: Queue, name: str) -> Queue | None:
    """A queue by its path, by its path without the root, or by a unique name."""
    every = [root, *root.below()]
    for wanted in (name, f"root.{name}"):
        for queue in every:
            if queue.path == wanted:
                return queue
    named = [queue for queue in every if queue.path.rpartition(".")[2] == name]
    return named[0] if len(named) == 1 else None


def _report(manager: ResourceManager, name: str) -> int:
    queue = find(read_queues(manager), name)
    if queue is None:
        say(f"Cannot get queue from RM by queueName = {name}, please check.")
        return FAILED
    say("Queue Information : ")
    say(f"Scheduler Name : {queue.scheduler}")
    say(f"Queue Name : {queue.name}")
    for title, value in _fair_facts(queue) if queue.scheduler == "FairScheduler" else _facts(queue):
        say(f"{title} : {value}")
    return 0


def _facts(queue: Queue) -> Iterator[tuple[str, Any]]:
    fields = queue.fields
    yield "Queue Path", queue.path
    yield "\tState", queue.state
    yield "\tCapacity", two_decimals(queue.capacity) + "%"
    yield "\tCurrent Capacity", two_decimals(queue.used) + "%"
    yield "\tMaximum Capacity", two_decimals(queue.maximum) + "%"
    yield "\tWeight", _weight(queue)
    yield "\tMaximum Parallel Apps", queue.applications
    label = fields.get("defaultNodeLabelExpression") or "<DEFAULT_PARTITION>"
    yield "\tDefault Node Label expression", label
    yield "\tAccessible Node Labels", ",".join(items(fields, "nodeLabels"))
    for title, key in (
        ("\tPreemption", "preemptionDisabled"),
        ("\tIntra-queue Preemption", "intraQueuePreemptionDisabled"),
    ):
        if key in fields:  # only in documents of leaf queues
            yield title, "disabled" if fields[key] else "enabled"


def _fair_facts(queue: Queue) -> Iterator[tuple[str, Any]]:
    fields = queue.fields
    yield "\tWeight", _weight(queue, zero=True)
    yield "\tState", queue.state
    for title, key in (
        ("\tMinResource", "minResources"),
        ("\tMaxResource", "maxResources"),
        ("\tReservedResource", "reservedResources"),
        ("\tSteadyFairShare", "steadyFairResources"),
    ):
        yield title, f"<memory : {fields[key]['memory']}, vCores:{fields[key]['vCores']}>"
    yield "\tQueue Preemption", "enabled" if fields.get("preemptable") else "disabled"


def _weight(queue: Queue, *, zero: bool = False) -> str:
    return NOT_THERE if queue.weight is None else two_decimals(queue.weight, zero=zero)


def _list(manager: ResourceManager, parent: str) -> int:
    root = read_queues(manager)
    if parent.lower() == "all":
        queues = list(root.below())
    else:
        above = find(root, parent)
        if above is None:
            say(f"Cannot get any queues under {parent} from RM,please check.")
            return FAILED
        queues = above.children
    rows = [
        (
            queue.name,
            queue.path,
            queue.state,
            *(two_decimals(part) + "%" for part in (queue.capacity, queue.used, queue.maximum)),
            _weight(queue),
            queue.applications,
        )
        for queue in queues
    ]
    say(boxed_table(f"{len(queues)} queues were found", HEADERS, rows))
    return 0
