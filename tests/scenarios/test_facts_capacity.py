"""The Capacity Scheduler's single functions against facts of Hadoop (../shared/facts/capacity)."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from fairshare.config.problems import Problems
from fairshare.manager.resource_manager import ResourceManager
from fairshare.model.events import ContainerAllocated, RequestRefused
from fairshare.model.inputs import LoadConfiguration, NodeBeat, NodeJoined, SubmitApplication
from fairshare.model.resources import ResourceTypes
from fairshare.model.work import ANYWHERE, ContainerRequest
from fairshare.scenarios.tree import read_yaml
from fairshare.schedulers.capacity.calculators import calculator, larger, smaller
from fairshare.schedulers.capacity.lifetimes import lifetime_s
from fairshare.schedulers.capacity.limits import master_limit, user_master_limit
from fairshare.schedulers.capacity.orders import application_key, child_key, refresh_use
from fairshare.schedulers.capacity.preemption.selection import victims
from fairshare.schedulers.capacity.priorities import resolve
from fairshare.schedulers.capacity.queues import CapacityQueue
from fairshare.schedulers.capacity.scheduler import CapacityScheduler
from fairshare.schedulers.capacity.settings import CapacitySettings, Percentage, QueueSettings
from fairshare.schedulers.capacity.users import Users, base_limit, weighted
from fairshare.schedulers.rounding import single

FACTS = Path(__file__).parents[2].parent / "shared" / "facts" / "capacity"
if not FACTS.is_dir():
    pytest.skip("the facts in ../shared/facts are not here", allow_module_level=True)

NAMES = ("memory-mb", "vcores", "yarn.io/gpu")


def facts(name: str) -> list[Any]:
    path = FACTS / f"{name}.yaml"
    problems = Problems()
    root = read_yaml(path.read_text(), path.name, problems)
    problems.raise_errors()
    assert root is not None
    return [pytest.param(fact, id=fact["name"]) for fact in root.plain["facts"]]


def vector(amounts: dict[str, int], size: int) -> tuple[int, ...]:
    return tuple(amounts.get(name, 0) for name in NAMES[:size])


@pytest.mark.parametrize("fact", facts("calculators"))
def test_a_calculator_answers_as_hadoops(fact: dict[str, Any]) -> None:
    size = 3 if any("yarn.io/gpu" in v for v in fact.values() if isinstance(v, dict)) else 2
    c = calculator(fact["calculator"] == "dominant", size)
    a, b, total, step = (vector(fact.get(key, {}), size) for key in ("a", "b", "total", "step"))
    match fact["op"]:
        case "compare":
            found: Any = c.compare(total, a, b)
        case "fits":
            found = c.fits(a, b)
        case "containers":
            found = c.containers(a, b)
        case "divide":
            found = c.divide(total, a, b)
        case "ratio":
            found = c.ratio(a, b)
        case "normalize":
            found = c.normalise(a, vector(fact["min"], size), vector(fact["max"], size), step)
        case "multiply_up":
            found = c.multiply_up(a, single(fact["by"]), step)
        case "multiply_down":
            found = c.multiply_down(a, single(fact["by"]), step)
        case "max":
            found = larger(c, total, a, b)
        case _:
            found = smaller(c, total, a, b)
    expected = fact["expect"]
    if isinstance(expected, dict):
        assert found == vector(expected, size)
    else:
        assert found == pytest.approx(expected, rel=1e-6)


def manager_of(queues: dict[str, QueueSettings], **settings: Any) -> ResourceManager:
    types = ResourceTypes()
    manager = ResourceManager(CapacityScheduler(types))
    events = manager.handle(
        0,
        LoadConfiguration(
            msgspec.json.encode(CapacitySettings(types=types, queues=queues, **settings)), 1
        ),
    )
    refused = [event for event in events if isinstance(event, RequestRefused)]
    if refused:
        raise ValueError(refused[0].reason)
    return manager


def two_queues(own: QueueSettings) -> dict[str, QueueSettings]:
    assert isinstance(own.capacity, Percentage)
    rest = Percentage(single(100 - own.capacity.percent))
    return {
        "root": QueueSettings(children=("a", "rest")),
        "root.a": own,
        "root.rest": QueueSettings(capacity=rest),
    }


@pytest.mark.parametrize("fact", facts("effective-capacity"))
def test_a_percentage_is_worth_what_it_is_in_hadoop(fact: dict[str, Any]) -> None:
    own = QueueSettings(
        capacity=Percentage(single(fact["capacity"])),
        maximum_capacity=Percentage(single(fact["maximum_capacity"])),
    )
    manager = manager_of(two_queues(own))
    manager.handle(1, NodeJoined("n1", vector(fact["total"], 2)))
    share = manager.state.queues["root.a"].share  # type: ignore[attr-defined]
    assert share.effective_minimum == vector(fact["expect"]["guarantee"], 2)
    assert share.effective_maximum == vector(fact["expect"]["maximum"], 2)


@pytest.mark.parametrize("fact", facts("application-limit"))
def test_a_queue_and_a_user_may_have_so_many_applications(fact: dict[str, Any]) -> None:
    own = QueueSettings(
        capacity=Percentage(single(fact["capacity"])),
        maximum_applications=fact.get("own"),
        minimum_user_limit_percent=fact.get("percent"),
        user_limit_factor=fact.get("factor"),
    )
    manager = manager_of(
        two_queues(own),
        maximum_applications=fact.get("system", 10_000),
        queue_maximum_applications=fact.get("every", -1),
    )
    leaf = manager.state.queues["root.a"]
    assert leaf.maximum_applications == fact["expect"]["queue"]  # type: ignore[attr-defined]
    assert leaf.maximum_per_user == fact["expect"]["user"]  # type: ignore[attr-defined]


@pytest.mark.parametrize("fact", facts("user-limit"))
def test_a_user_may_have_so_much(fact: dict[str, Any]) -> None:
    c = calculator(False, 2)
    users = Users((0, 0))
    total, minimum = (fact["total"], 1), (fact["minimum"], 1)
    users.weights = {name: user["weight"] for name, user in fact["users"].items()}
    for number, (name, user) in enumerate(fact["users"].items()):
        record = users.get_or_add(name)
        record.active_applications = 1
        users.charge(name, "", (user["used"], 1), c, total)
        if user["active"]:
            users.ask(name, number)
    base = base_limit(
        users,
        c,
        "",
        total=total,
        minimum=minimum,
        guarantee=(fact["guarantee"], 1),
        maximum=(fact["maximum"], 1),
        percent=single(fact["percent"]),
        factor=single(fact["factor"]),
    )
    found = {name: weighted(c, base, user.weight, minimum)[0] for name, user in users.users.items()}
    assert found == fact["expect"]


@pytest.mark.parametrize("fact", facts("am-limit"))
def test_masters_may_use_so_much(fact: dict[str, Any]) -> None:
    scheduler = CapacityScheduler(ResourceTypes())
    state = scheduler.state
    state.settings = CapacitySettings(minimum_allocation=(fact["minimum"], 1))
    state.total = (fact["total"], 1)
    leaf = CapacityQueue("root.a", True, False, None, (0, 0))
    leaf.share.effective_minimum = (fact["guarantee"], 1)
    leaf.share.master_share = single(fact["am_percent"])
    leaf.limit = (fact["reachable"], 1)
    leaf.user_limit_percent = single(fact["percent"])
    leaf.user_limit_factor = single(fact["factor"])
    leaf.users.weights = {"u": fact["weight"]}
    leaf.users.get_or_add("u")
    leaf.users.only_pending = fact["active_users"]
    assert master_limit(state, leaf, "")[0] == fact["expect"]["queue"]
    assert user_master_limit(state, leaf, "", "u")[0] == fact["expect"]["user"]


@pytest.mark.parametrize("fact", facts("queue-order"))
def test_children_are_served_in_this_order(fact: dict[str, Any]) -> None:
    keys = {}
    for rank, (name, given) in enumerate(fact["queues"].items()):
        child = CapacityQueue(name, True, False, None, (0, 0))
        child.rank = rank
        child.priority = given.get("priority", 0)
        child.share.used_capacity = given["used_capacity"]
        child.share.absolute_capacity = given["absolute_capacity"]
        child.share.absolute_used = given.get("absolute_used_capacity", 0.0)
        keys[name] = child_key(child, fact["policy"], "")
    assert sorted(keys, key=keys.__getitem__) == fact["expect"]


@pytest.mark.parametrize("fact", facts("app-order"))
def test_applications_are_served_in_this_order(fact: dict[str, Any]) -> None:
    state = CapacityScheduler(ResourceTypes()).state
    leaf = CapacityQueue("root.a", True, False, None, (0, 0))
    leaf.policy = fact["policy"]
    leaf.size_based = fact.get("size_based_weight", False)
    keys = {}
    for name, given in fact["apps"].items():
        submission = SubmitApplication("u", "root.a")
        one = state.new_application(
            given["number"], submission, "root.a", given.get("priority", 0), 0
        )
        one.size = given.get("used", 0)
        one.demand = one.size + given.get("pending", 0)
        one.start_order = given.get("start", 0)
        keys[name] = application_key(leaf, one)
    assert sorted(keys, key=keys.__getitem__) == fact["expect"]


@pytest.mark.parametrize("fact", facts("lifetime"))
def test_an_application_may_live_so_long(fact: dict[str, Any]) -> None:
    def settings(given: dict[str, int], **more: Any) -> QueueSettings:
        return QueueSettings(
            maximum_lifetime_s=given.get("maximum"),
            default_lifetime_s=given.get("default"),
            capacity=Percentage(100.0),
            **more,
        )

    queues = {
        "root": QueueSettings(children=("p",)),
        "root.p": settings(fact["parent"], children=("a",)),
        "root.p.a": settings(fact["queue"]),
    }
    if fact.get("error"):
        with pytest.raises(ValueError, match="lifetime"):
            manager_of(queues)
        return
    leaf = manager_of(queues).state.queues["root.p.a"]
    granted = [lifetime_s(leaf, wish) for wish in fact["requested"]]  # type: ignore[arg-type]
    assert [max(g, 0) for g in granted] == [max(g, 0) for g in fact["granted"]]


@pytest.mark.parametrize("fact", facts("priority"))
def test_a_priority_is_resolved_like_this(fact: dict[str, Any]) -> None:
    found = resolve(
        fact.get("requested"), None, fact.get("queue_default", 0), fact.get("cluster_maximum", 0)
    )
    assert found == fact["expect"]


@pytest.mark.parametrize("fact", facts("victim-order"))
def test_containers_are_chosen_in_this_order(fact: dict[str, Any]) -> None:
    state = CapacityScheduler(ResourceTypes()).state
    one = state.new_application(1, SubmitApplication("u", "root.a"), "root.a", 0, 0)
    names = {}
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
            2,
            False,
            False,
            0,  # type: ignore[arg-type]
        )
    assert [names[record.container] for record in victims(one)] == fact["expect"]


@pytest.mark.parametrize("fact", facts("utilisation"))
def test_a_queues_use_is_one_figure(fact: dict[str, Any]) -> None:
    queue = CapacityQueue("root.a", True, False, None, (0, 0))
    queue.share.effective_minimum = vector(fact["guarantee"], 2)
    queue.share.used = vector(fact["used"], 2)
    c = calculator(fact["calculator"] == "dominant", 2)
    refresh_use(queue, "", c, (102400, 500), (1024, 1))
    assert queue.share.used_capacity * 100 == pytest.approx(fact["expect"])


@pytest.mark.parametrize("fact", facts("locality-delay"))
def test_an_ask_goes_farther_at_this_visit(fact: dict[str, Any]) -> None:
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
    assert found == fact["expect"]


def test_every_file_of_facts_is_answered_here_or_is_not_a_decision_of_a_scheduler() -> None:
    source = Path(__file__).read_text()
    elsewhere = {"node-enforcement", "vcores", "max-resource-approximation", "users-table"}
    for path in FACTS.glob("*.yaml"):
        assert f'facts("{path.stem}")' in source or path.stem in elsewhere, path.name
