"""Facts about what queues, users and masters of the Capacity Scheduler may use (Hadoop: LeafQueue,
UsersManager)."""

from fairshare.core.manager.resource_manager import ResourceManager
from fairshare.core.model.inputs import NodeBeat, NodeJoined, RequestContainers, SubmitApplication
from fairshare.core.model.resources import ResourceTypes
from fairshare.core.model.work import ContainerRequest
from fairshare.core.schedulers.calculators import single
from fairshare.core.schedulers.capacity.admission import lifetime_s
from fairshare.core.schedulers.capacity.calculators import calculator
from fairshare.core.schedulers.capacity.limits import master_limit, user_master_limit
from fairshare.core.schedulers.capacity.scheduler import CapacityScheduler
from fairshare.core.schedulers.capacity.settings import CapacitySettings, Percentage, QueueSettings
from fairshare.core.schedulers.capacity.users import NO_FACTOR, Users, base_limit, weighted

from .capacity_setup import amounts, leaf, manager_of, queue_of, two_queues
from .fact import Fact, Mismatch, expect

STEP = 512


def effective_capacity(fact: Fact) -> None:
    """What a percentage is worth on a cluster."""
    own = QueueSettings(
        capacity=Percentage(single(fact["capacity"])),
        maximum_capacity=Percentage(single(fact["maximum_capacity"])),
    )
    manager = manager_of(two_queues(own))
    manager.handle(1, NodeJoined("n1", amounts(fact["total"])))
    share = queue_of(manager, "root.a").share
    expect(share.effective_minimum, amounts(fact["expect"]["guarantee"]), "guarantee")
    expect(share.effective_maximum, amounts(fact["expect"]["maximum"]), "maximum")


def application_limit(fact: Fact) -> None:
    """How many applications a queue and a user may have."""
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
    queue = queue_of(manager, "root.a")
    found = {"queue": queue.maximum_applications, "user": queue.maximum_per_user}
    expect(found, fact["expect"])


def user_limit(fact: Fact) -> None:
    """What each user of a leaf may have."""
    c = calculator(False, 2)
    users = Users((0, 0))
    total, minimum = (fact["total"], 1), (fact["minimum"], 1)
    users.weights = {name: user["weight"] for name, user in fact["users"].items()}
    for number, (name, user) in enumerate(fact["users"].items()):
        users.get_or_add(name).active_applications = 1
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
    expect(found, fact["expect"])


def max_resource_approximation(fact: Fact) -> None:
    """The short formula, which the exact rule agrees with where nothing is rounded.

    In steps of 1 MB, in a queue that is guaranteed what its active users use, the exact rule adds
    one step to R before it divides: it may be above the formula by w x max(1/N, 1) and rounding.
    The older formula has the whole cluster in the place of R.
    """
    cluster, weight = fact["cluster"], fact["weight"]
    room = (4 * cluster, 1)  # the formula knows no limit of the cluster
    for version, used in (("2.8", cluster), ("2.9+", fact["used_by_active"])):
        c = calculator(False, 2)
        users = Users((0, 0))
        # Who else is active weighs what is missing, so that the weights add up to N.
        users.weights = {"u": weight, "others": fact["active_users"] - weight}
        for number, name in enumerate(users.weights):
            if users.weights[name] or name == "u":
                users.get_or_add(name).active_applications = 1
                users.ask(name, number)
        users.charge("u", "", (used, 1), c, room)
        base = base_limit(
            users,
            c,
            "",
            total=room,
            minimum=(1, 1),
            guarantee=(used, 1),
            maximum=room,
            percent=single(fact["percent"]),
            factor=NO_FACTOR,
        )
        found = weighted(c, base, weight, (1, 1))[0]
        expected = fact["expect"][version]
        slack = weight * max(1 / fact["active_users"], 1) + 1
        if not expected <= found <= expected + slack:
            expect(found, expected, version)


def master_limits(fact: Fact) -> None:
    """How much masters may use, in a queue and of one user."""
    state = CapacityScheduler(ResourceTypes()).state
    state.settings = CapacitySettings(minimum_allocation=(fact["minimum"], 1))
    state.total = (fact["total"], 1)
    queue = leaf()
    queue.share.effective_minimum = (fact["guarantee"], 1)
    queue.share.master_share = single(fact["am_percent"])
    queue.limit = (fact["reachable"], 1)
    queue.user_limit_percent = single(fact["percent"])
    queue.user_limit_factor = single(fact["factor"])
    queue.users.weights = {"u": fact["weight"]}
    queue.users.get_or_add("u")
    queue.users.only_pending = fact["active_users"]
    found = {
        "queue": master_limit(state, queue, "")[0],
        "user": user_master_limit(state, queue, "", "u")[0],
    }
    expect(found, fact["expect"])


def lifetime(fact: Fact) -> None:
    """How long applications may live; or lifetimes that are refused."""

    def settings(given: Fact, children: tuple[str, ...] | None = None) -> QueueSettings:
        return QueueSettings(
            maximum_lifetime_s=given.get("maximum"),
            default_lifetime_s=given.get("default"),
            capacity=Percentage(100.0),
            children=children,
        )

    queues = {
        "root": QueueSettings(children=("p",)),
        "root.p": settings(fact["parent"], ("a",)),
        "root.p.a": settings(fact["queue"]),
    }
    if fact.get("error"):
        try:
            manager_of(queues)
        except ValueError as error:
            if "lifetime" in str(error):
                return
        raise Mismatch("the lifetimes must be refused, and are taken")
    queue = queue_of(manager_of(queues), "root.p.a")
    granted = [max(lifetime_s(queue, wish), 0) for wish in fact["requested"]]
    expect(granted, [max(g, 0) for g in fact["granted"]])


def users_table(fact: Fact) -> None:
    """Which users are listed, which of them as active, and who is served next."""
    expected = fact["expect"]
    if "listed" in expected:
        views = _users_of(fact)
        expect(sorted(views), sorted(expected["listed"]), "listed")
        active = sorted(name for name, is_active in views.items() if is_active)
        expect(active, sorted(expected["highlighted"]), "highlighted")
    for name, more in expected.get("may_get_more", {}).items():
        expect(_is_served(fact["users"][name]), more, f"{name} may get more")


def _users_of(fact: Fact) -> dict[str, bool]:
    """The users of a leaf and whether they are active, as a view shows them."""
    manager = _manager(1.0, 2 * sum(user["used"] + user["asks"] for user in fact["users"].values()))
    for name, reported in fact["users"].items():
        _use(manager, name, reported["used"])
        if reported["asks"]:
            _ask(manager, len(manager.state.applications), reported["asks"] // STEP, beats=0)
    assert isinstance(manager.scheduler, CapacityScheduler)
    (queue,) = (view for view in manager.scheduler.queue_views(0) if view.name == "root.a")
    assert queue.capacity is not None
    users = queue.capacity.users
    for user in users:
        expect(user.used[0], fact["users"][user.name]["used"], f"use of {user.name}")
    return {user.name: user.active for user in users}


def _is_served(reported: Fact) -> bool:
    """Whether a user who uses so much, of a limit as told, gets one more container."""
    limit = reported["max_resource"]
    # A user has at most the guarantee: a larger limit is that of a larger queue.
    guarantee = max(limit, 2048)
    manager = _manager(limit / guarantee, 4 * guarantee, guarantee)
    _use(manager, "u", reported["used"])
    _ask(manager, 1, reported["asks"] // STEP)
    return bool(_used(manager, "u") > reported["used"])


def _manager(weight: float, total: int, guarantee: int = 2048) -> ResourceManager:
    """One leaf with such a guarantee (MB) of an idle cluster; `u` weighs so much."""
    own = QueueSettings(
        capacity=Percentage(single(guarantee * 100 / total)),
        user_weights=dict.fromkeys(("u", "v"), weight),
        maximum_master_share=10.0,
        user_limit_factor=1.0 if weight != 1.0 or total == 4 * guarantee else NO_FACTOR,
    )
    manager = manager_of(two_queues(own), minimum_allocation=(STEP, 1))
    manager.handle(1, NodeJoined("n1", (total, 100)))
    return manager


def _use(manager: ResourceManager, user: str, amount: int) -> None:
    """Let a new application of a user have containers of this size together."""
    manager.handle(2, SubmitApplication(user, "root.a"))
    if amount:
        _ask(manager, len(manager.state.applications), amount // STEP)
    expect(_used(manager, user), amount, f"what {user} could be given")


def _ask(manager: ResourceManager, application: int, count: int, beats: int = 20) -> None:
    manager.handle(3, RequestContainers(application, (ContainerRequest(count, (STEP, 1)),)))
    for _ in range(beats):
        manager.handle(4, NodeBeat("n1"))


def _used(manager: ResourceManager, user: str) -> int:
    record = queue_of(manager, "root.a").users.get(user)
    return 0 if record is None else record.used.get("", (0, 0))[0]
