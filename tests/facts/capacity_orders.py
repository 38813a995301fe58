"""Facts about calculators, orders, priorities and locality of the Capacity Scheduler
(Hadoop: ResourceCalculator, OrderingPolicy, RegularContainerAllocator)."""

from typing import Any

from fairshare.core.model.applications import Application
from fairshare.core.model.events import ContainerAllocated, Locality
from fairshare.core.model.inputs import NodeBeat, NodeJoined, SubmitApplication
from fairshare.core.model.work import ANYWHERE, ContainerRequest
from fairshare.core.schedulers.calculators import single
from fairshare.core.schedulers.capacity.admission import resolve_priority
from fairshare.core.schedulers.capacity.attempts import CapacityAttempt
from fairshare.core.schedulers.capacity.calculators import calculator, larger, smaller
from fairshare.core.schedulers.capacity.orders import application_key, child_key, refresh_use
from fairshare.core.schedulers.capacity.preemption.selection import victims
from fairshare.core.schedulers.capacity.queues import CapacityQueue
from fairshare.core.schedulers.capacity.settings import Percentage, QueueSettings

from .capacity_setup import amounts, leaf, manager_of
from .fact import Fact, Mismatch, expect


def near(found: float, expected: float) -> bool:
    """Whether two numbers of 32 bits are the same."""
    return found == expected or abs(found - expected) <= 1e-6 * abs(expected)


def calculators(fact: Fact) -> None:
    """One operation of one of the two calculators."""
    size = 3 if any("yarn.io/gpu" in v for v in fact.values() if isinstance(v, dict)) else 2
    c = calculator(fact["calculator"] == "dominant", size)
    a, b, total, step = (amounts(fact.get(key, {}), size) for key in ("a", "b", "total", "step"))
    found: Any
    match fact["op"]:
        case "compare":
            found = c.compare(total, a, b)
        case "fits":
            found = c.fits(a, b)
        case "containers":
            found = c.containers(a, b)
        case "divide":
            found = c.divide(total, a, b)
        case "ratio":
            found = c.ratio(a, b)
        case "normalize":
            least, most = amounts(fact["min"], size), amounts(fact["max"], size)
            found = c.normalise(a, least, most, step)
        case "multiply_up":
            found = c.multiply_up(a, single(fact["by"]), step)
        case "multiply_down":
            found = c.multiply_down(a, single(fact["by"]), step)
        case "max":
            found = larger(c, total, a, b)
        case "min":
            found = smaller(c, total, a, b)
        case unknown:
            raise Mismatch(f"the fact has the unknown operation {unknown}")
    expected = fact["expect"]
    if isinstance(expected, dict):
        expect(found, amounts(expected, size))
    elif not near(float(found), float(expected)):
        expect(found, expected)


def queue_order(fact: Fact) -> None:
    """In which order a parent serves its children."""
    keys = {}
    for rank, (name, given) in enumerate(fact["queues"].items()):
        child = CapacityQueue(name, True, False, None, (0, 0))
        child.rank = rank
        child.priority = given.get("priority", 0)
        child.share.absolute_capacity = given["absolute_capacity"]
        use = given["used_capacity"]
        if not given["absolute_capacity"]:
            use = given.get("absolute_used_capacity", 0.0)
        child.share.used = (round(use * 1e6), 0)
        refresh_use(child, "", calculator(False, 2), (10**6, 1), (10**6, 1))
        keys[name] = child_key(child, fact["policy"], "")
    expect(sorted(keys, key=keys.__getitem__), fact["expect"])


def application_order(fact: Fact) -> None:
    """In which order a leaf serves its applications."""
    queue = leaf()
    queue.policy = fact["policy"]
    queue.size_based = fact.get("size_based_weight", False)
    keys = {}
    for name, given in fact["apps"].items():
        submission = SubmitApplication("u", "root.a")
        priority = given.get("priority", 0)
        application = Application(given["number"], submission, "root.a", priority, 0, 2)
        one = CapacityAttempt(application, 1, queue)
        one.size = given.get("used", 0)
        one.demand = one.size + given.get("pending", 0)
        one.start_order = given.get("start", 0)
        keys[name] = application_key(queue, one)
    expect(sorted(keys, key=keys.__getitem__), fact["expect"])


def priority(fact: Fact) -> None:
    """Which priority an application gets."""
    found = resolve_priority(
        fact.get("requested"), None, fact.get("queue_default", 0), fact.get("cluster_maximum", 0)
    )
    expect(found, fact["expect"])


def victim_order(fact: Fact) -> None:
    """Which containers of an application are taken back first."""
    application = Application(1, SubmitApplication("u", "root.a"), "root.a", 0, 0, 2)
    one = CapacityAttempt(application, 1, leaf())
    names = {}
    one.containers = {}
    for name, given in fact["containers"].items():
        number = given["id"]
        names[number] = name
        one.containers[number] = ContainerAllocated(
            number,
            1,
            "n1",
            (1, 1),
            given["ask_priority"],
            0,
            Locality.OFF_SWITCH,
            False,
            False,
            0,
        )
    expect([names[record.container] for record in victims(one)], fact["expect"])


def utilisation(fact: Fact) -> None:
    """The one figure that says how much of its guarantee a queue uses, in percent.

    The facts name no cluster: here it is what the queue is guaranteed.
    """
    queue = leaf()
    queue.share.effective_minimum = amounts(fact["guarantee"])
    queue.share.used = amounts(fact["used"])
    c = calculator(fact["calculator"] == "dominant", 2)
    refresh_use(queue, "", c, queue.share.effective_minimum, (1024, 1))
    if not near(queue.share.used_capacity * 100, fact["expect"]):
        expect(queue.share.used_capacity * 100, fact["expect"])


def locality_delay(fact: Fact) -> None:
    """At which visit an ask is served on its rack, and anywhere."""
    found = {}
    for where, rack in (("rack", "/r1"), ("anywhere", "/r2")):
        manager = manager_of(
            {
                "root": QueueSettings(children=("a",)),
                "root.a": QueueSettings(capacity=Percentage(100.0), maximum_master_share=10.0),
            },
            node_locality_delay=fact["node_locality_delay"],
            rack_locality_additional_delay=fact["rack_locality_additional_delay"],
        )
        manager.handle(1, NodeJoined("here", (8192, 8), rack))
        for number in range(fact["nodes"] - 1):
            manager.handle(1, NodeJoined(f"other{number}", (8192, 8), "/r3"))
        hosts = fact["places"] - 2
        requests = [
            ContainerRequest(fact["containers"], (1024, 1), location=place, request=0)
            for place in (*(f"host{number}" for number in range(hosts)), "/r1", ANYWHERE)
        ]
        manager.handle(2, SubmitApplication("u", "root.a", requests=tuple(requests)))
        for visit in range(1, 100):
            events = manager.handle(2 + visit, NodeBeat("here"))
            if any(isinstance(event, ContainerAllocated) for event in events):
                found[where] = visit
                break
    expect(found, fact["expect"])
