"""An application's workflow, named by a tag, has a priority in a queue and all below it."""

from typing import Any

import msgspec
import pytest

from fairshare.core.manager.resource_manager import ResourceManager
from fairshare.core.model.inputs import LoadConfiguration, NodeJoined, SubmitApplication
from fairshare.core.model.resources import ResourceTypes
from fairshare.core.schedulers.capacity.scheduler import CapacityScheduler
from fairshare.core.schedulers.capacity.settings import (
    CapacitySettings,
    Percentage,
    PriorityRule,
    QueueSettings,
    WorkflowPriority,
)

ALL = Percentage(100.0)
MAPPED = (WorkflowPriority("nightly", "root.p", 5), WorkflowPriority("nightly", "x", 7))


def priority(tags: tuple[str, ...], queue: str = "root.p.y", **settings: Any) -> int:
    rules = (PriorityRule("bea", 9), PriorityRule("ann", 2))
    reported = CapacitySettings(
        queues={
            "root": QueueSettings(children=("p",)),
            "root.p": QueueSettings(children=("x", "y"), capacity=ALL),
            "root.p.x": QueueSettings(capacity=Percentage(50.0)),
            "root.p.y": QueueSettings(capacity=Percentage(50.0), priority_rules=rules),
        },
        maximum_application_priority=6,
        workflow_priorities=MAPPED,
        **{"workflow_priorities_override": True, **settings},
    )
    manager = ResourceManager(CapacityScheduler(ResourceTypes()))
    manager.handle(0, LoadConfiguration(msgspec.json.encode(reported), 1))
    manager.handle(1, NodeJoined("n1", (8192, 8)))
    manager.handle(2, SubmitApplication("ann", queue, tags=tags, priority=1))
    (application,) = manager.state.applications.values()
    return application.priority


@pytest.mark.parametrize(
    ("tags", "queue", "expected"),
    [
        ((), "root.p.y", 1),
        (("nightly",), "root.p.y", 1),
        (("workflowid:other",), "root.p.y", 1),
        (("workflowid:Nightly",), "root.p.y", 5),  # the queue above says so
        (("first", " workflowid:nightly "), "root.p.x", 6),  # 7, cut to the cluster's maximum
    ],
)
def test_the_nearest_queue_that_knows_the_workflow_decides(tags, queue, expected):
    assert priority(tags, queue) == expected


def test_without_the_override_nothing_is_mapped():
    assert priority(("workflowid:nightly",), workflow_priorities_override=False) == 1


def test_without_access_to_that_priority_an_application_keeps_its_own():
    assert priority(("workflowid:nightly",), acl_enabled=True) == 1


def test_the_tag_may_be_called_otherwise():
    assert priority(("wf-nightly",), workflow_tag_prefix="wf-") == 5
