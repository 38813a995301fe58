"""Facts about locality, sizes, moves and preemption of the Fair Scheduler (Hadoop: FSAppAttempt,
FairScheduler)."""

from typing import Any

import msgspec

from fairshare.core.manager.resource_manager import ResourceManager
from fairshare.core.model.applications import Application
from fairshare.core.model.asks import AskKey
from fairshare.core.model.events import ApplicationSubmitted, Locality, RequestRefused
from fairshare.core.model.inputs import (
    LoadConfiguration,
    NodeJoined,
    RequestContainers,
    SubmitApplication,
)
from fairshare.core.model.resources import ResourceTypes
from fairshare.core.model.work import ContainerRequest
from fairshare.core.schedulers.fair.assignment import LocalityWaits
from fairshare.core.schedulers.fair.attempts import FairAttempt
from fairshare.core.schedulers.fair.preemption import Visits
from fairshare.core.schedulers.fair.queues import FairQueue, common_ancestor
from fairshare.core.schedulers.fair.scheduler import FairScheduler
from fairshare.core.schedulers.fair.settings import FairSettings
from fairshare.core.schedulers.fair.state import FairState
from fairshare.settings.fair.reading import read_fair
from fairshare.settings.site import Site

from .fact import Fact, expect, types_of, vector


def locality_level(fact: Fact) -> None:
    """How far an ask has given up waiting, offer by offer or as time goes by."""
    state = FairState(ResourceTypes())
    by_time = "node_delay" in fact
    state.settings = FairSettings(
        locality_threshold_node=fact.get("node_threshold", -1.0),
        locality_threshold_rack=fact.get("rack_threshold", -1.0),
        continuous_scheduling=by_time,
        locality_delay_node_ms=fact.get("node_delay", -1),
        locality_delay_rack_ms=fact.get("rack_delay", -1),
    )
    nodes: dict[str, Any] = {f"n{n}": None for n in range(fact.get("nodes", 1))}
    state.nodes = nodes
    application = FairAttempt(
        Application(1, SubmitApplication("u"), "root.u", 0, 0, 2),
        1,
        FairQueue("root.u", True, False, None, 2),
    )
    key = AskKey((1, 0))
    now_ms = 0
    for step in fact["script"]:
        now_ms += step.get("advance", 0)
        if step.get("considered") == 0:  # asked before anything is counted
            waits = LocalityWaits(state, now_ms)
            level = key.level if waits.in_force else Locality.OFF_SWITCH
            expect(level.name, step["level"], str(step))
        for _ in range(step.get("considered", 1)):
            waits = LocalityWaits(state, now_ms)
            expect(waits.offered(application, key).name, step["level"], str(step))
            key.level, key.opportunities, key.since_ms = waits.now(application, key)


def container_limit(fact: Fact) -> None:
    """Whether a master's ask is taken over, or refused for its size."""
    types = types_of(tuple(fact["maximum"]))
    properties = {
        f"yarn.resource-types.{name}.maximum-allocation": most
        for name, most in fact["maximum"].items()
    }
    settings, _ = read_fair(Site.of(properties), fact["xml"])
    manager = _manager(FairScheduler(types), settings)
    events = manager.handle(1, SubmitApplication("ann", fact["queue"]))
    number = next(e.application for e in events if isinstance(e, ApplicationSubmitted))
    ask = ContainerRequest(1, vector(fact["ask"], types.names))
    events = manager.handle(2, RequestContainers(number, (ask,)))
    codes = [event.code for event in events if isinstance(event, RequestRefused)]
    expect(codes, [] if fact["accepted"] else ["invalid-resource-request"])
    taken = manager.state.applications[number].attempt.asks.pending
    expect(any(taken), fact["accepted"], "taken over")


def lowest_common_ancestor(fact: Fact) -> None:
    """The lowest queue above two others."""
    queues: dict[str, FairQueue] = {}
    found = common_ancestor(_queue(fact["a"], queues), _queue(fact["b"], queues))
    expect(found.name, fact["ancestor"])


def _queue(name: str, queues: dict[str, FairQueue]) -> FairQueue:
    """A queue with all above it, which both sides share."""
    if name not in queues:
        above = name.rpartition(".")[0]
        parent = _queue(above, queues) if above else None
        queues[name] = FairQueue(name, False, True, parent, 2)
    return queues[name]


def visited_requests(fact: Fact) -> None:
    """Which of an application's requests at several places count for what it lacks."""
    scheduler = FairScheduler(ResourceTypes())
    manager = _manager(scheduler, FairSettings())
    for node, rack in fact["topology"].items():
        manager.handle(0, NodeJoined(node, (1024, 1), rack))
    visits = Visits(scheduler.state)
    for place, usable in fact["visits"]:
        expect(visits.visit(place), usable, f"the visit to {place}")


def _manager(scheduler: FairScheduler, settings: FairSettings) -> ResourceManager:
    """A manager that has been told its settings."""
    manager = ResourceManager(scheduler)
    manager.handle(0, LoadConfiguration(msgspec.json.encode(settings), epoch_ms=1))
    return manager
