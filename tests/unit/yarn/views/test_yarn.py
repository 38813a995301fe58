"""Every family answers whatever YARN's REST interface asks of its scheduler."""

from dataclasses import dataclass, field

import msgspec
import pytest

from fairshare.core.manager.resource_manager import ResourceManager
from fairshare.core.model.inputs import LoadConfiguration, NodeBeat, NodeJoined, SubmitApplication
from fairshare.core.model.inputs import UpdateShares as Update
from fairshare.core.model.work import TaskGroup
from fairshare.core.schedulers.protocol import Scheduler
from fairshare.runtime.projections.scheduler_history import MasterLimits, SchedulerHealth
from fairshare.settings.directory import read_directory
from fairshare.settings.registry import FAMILIES
from fairshare.yarn.rest.rendering import mapped, natural, xml
from fairshare.yarn.views.interface import YarnInterface


@dataclass
class Server:
    """A server that has just started, as far as families may ask it."""

    scheduler: Scheduler
    health: SchedulerHealth
    master_limits: MasterLimits = field(default_factory=MasterLimits)

    def properties(self) -> dict[str, str]:
        return {}

    def now_ms(self) -> int:
        return 5_000

    def node_address(self, node: str) -> str:
        return f"{node}:1"


@pytest.fixture(params=sorted(FAMILIES))
def server(request, tmp_path) -> Server:
    """One node, one application with a running task and one that waits."""
    family = FAMILIES[request.param]
    settings = read_directory(tmp_path, scheduler=request.param).settings
    types = settings.types
    slots = [name for name in types.names if name.endswith("-slots")]
    size = types.vector({slots[0]: 1} if slots else {"memory-mb": 1024, "vcores": 1})
    manager = ResourceManager(family.create(types))
    node = tuple(amount * 4 for amount in types.vector(dict.fromkeys(types.names, 1024)))
    manager.handle(0, LoadConfiguration(msgspec.json.encode(settings), 1_000))
    manager.handle(0, NodeJoined("n1", node))
    for count in (1, 9_000):
        group = TaskGroup("work", count, size)
        manager.handle(0, SubmitApplication("ann", "default", tasks=(group,)))
    manager.handle(0, Update())
    manager.handle(0, NodeBeat("n1"))
    assert any(manager.state.used), "no task runs"
    return Server(manager.scheduler, SchedulerHealth(types))


@pytest.fixture(params=["own", "default"])
def yarn(request, server) -> YarnInterface:
    """The interface of the scheduler's family, and that of a family which defines nothing."""
    return YarnInterface() if request.param == "default" else FAMILIES[server.scheduler.name].yarn


def test_its_document_is_written_in_all_forms(server, yarn):
    document = yarn.document(server)
    for written in (natural("info", document), mapped(document), xml("info", document)):
        assert b"Scheduler" in written


def test_containers_have_limits(server, yarn):
    state = server.scheduler.state
    least, most = yarn.allocation_limits(state)
    assert all(low <= high for low, high in zip(least, most, strict=True))
    assert len(yarn.configured_maximum(state)) == len(state.none)
    offered, used = yarn.default_partition(state)
    assert offered == state.total
    assert used == state.used


def test_each_application_has_its_use_and_its_names(server, yarn):
    state = server.scheduler.state
    for application in state.applications.values():
        assert all(0 <= part <= 100 for part in yarn.usage_percentages(state, application)[1:])
        assert yarn.shown_queue(application)
        assert yarn.shown_priority(application) == application.priority
        words = yarn.why_waits(state, application)
        key = yarn.waiting_key(state, application)
        assert (words, key) == (
            yarn.why_waits(state, application),
            yarn.waiting_key(state, application),
        )


def test_a_queue_is_found_by_its_full_name(server, yarn):
    state = server.scheduler.state
    assert yarn.queue_of_access(state, "root") == "root"
    assert yarn.queue_of_filter(state, "root") in ("root", "")
    nothing = yarn.queue_by_last_part(state, "nowhere")
    assert nothing == ""


def test_nodes_without_labels_have_none(server, yarn):
    state = server.scheduler.state
    assert [yarn.node_label(state, node) for node in state.nodes.values()] == [""]
    assert yarn.node_labels(state) is None
