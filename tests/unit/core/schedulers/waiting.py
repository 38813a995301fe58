"""A small cluster whose applications wait, for tests of the reasons."""

import msgspec

from fairshare.core.manager.resource_manager import ResourceManager
from fairshare.core.model.inputs import (
    LoadConfiguration,
    NodeBeat,
    NodeJoined,
    SubmitApplication,
    UpdateShares,
)
from fairshare.core.model.work import ContainerRequest
from fairshare.core.schedulers.capacity.settings import CapacitySettings, Percentage
from fairshare.core.schedulers.capacity.settings import QueueSettings as CapacityQueueSettings
from fairshare.core.schedulers.fair.settings import AllocationSettings, FairSettings
from fairshare.core.schedulers.offers import Survey
from fairshare.core.schedulers.reasons import main_cause, reasons
from fairshare.settings.registry import family_of


class Cluster:
    """A manager, one node of 8 GB and 8 vcores, and all inputs at instant 0."""

    def __init__(self, kind, settings, nodes=(("n1", (8192, 8)),)):
        self.manager = ResourceManager(family_of(kind).create(settings.types))
        self.feed(LoadConfiguration(msgspec.json.encode(settings), 1))
        for name, total in nodes:
            self.feed(NodeJoined(name, total, "/r1"))

    def feed(self, given):
        return self.manager.handle(0, given)

    def submit(self, *requests, queue="root.a", user="ann", **more):
        self.feed(SubmitApplication(user, queue, requests=requests, **more))
        return max(self.manager.state.applications)

    def run(self):
        self.feed(UpdateShares())
        for _ in range(20):
            for node in tuple(self.manager.state.nodes):
                self.feed(NodeBeat(node))

    def why(self, application):
        """The reasons; counts of applications by cause must agree with the first of them."""
        known = self.manager.state.applications[application]
        scheduler = self.manager.scheduler
        limits, state = scheduler.limits_of(application), scheduler.state
        found = reasons(known, limits, state)
        main = main_cause(known, limits, state, self.survey_of_all())
        assert main == (found[0].cause if found else None)
        return found

    def survey_of_all(self):
        """A survey that has answered for all other applications before."""
        survey, scheduler = Survey(), self.manager.scheduler
        for number, one in scheduler.state.applications.items():
            main_cause(one, scheduler.limits_of(number), scheduler.state, survey)
        return survey

    def containers(self, application):
        return len(self.manager.state.applications[application].containers)


def ask(count, memory_mb=1024, vcores=1, **more):
    return ContainerRequest(count, (memory_mb, vcores), **more)


def fair(queues=(), **allocations):
    table = {queue.name: queue for queue in queues}
    return FairSettings(
        maximum_allocation=(65536, 64),
        allocations=AllocationSettings(queues=table, **allocations),
    )


def capacity(**queue):
    leaf = CapacityQueueSettings(capacity=Percentage(100.0), **queue)
    root = CapacityQueueSettings(children=("a",), capacity=Percentage(100.0))
    return CapacitySettings(queues={"root": root, "root.a": leaf}, maximum_allocation=(65536, 64))
