"""Whatever somebody writes into capacity-scheduler.xml: it is judged, never a crash."""

from pathlib import Path
from typing import Final
from xml.sax.saxutils import escape

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples

from fairshare.core.manager.resource_manager import ResourceManager
from fairshare.core.model.events import RequestRefused
from fairshare.core.model.inputs import LoadConfiguration, NodeJoined
from fairshare.core.model.invariants import check
from fairshare.core.schedulers.capacity.scheduler import CapacityScheduler
from fairshare.documents.problems import Problems
from fairshare.settings.capacity.reading import collect_capacity
from fairshare.settings.linting import lint
from fairshare.settings.site import Site

P: Final = "yarn.scheduler.capacity."
QUEUES: Final = ("root", "root.a", "root.b", "root.a.c", "root.a.d", "root.nowhere")
SUFFIXES: Final = (
    *("queues", "capacity", "maximum-capacity", "state", "priority", "ordering-policy"),
    *("user-limit-factor", "minimum-user-limit-percent", "user-settings.j.doe.weight"),
    *(
        "maximum-applications",
        "maximum-am-resource-percent",
        "maximum-allocation",
        "maximum-capactiy",
    ),
    *("acl_submit_applications", "acl_application_max_priority", "accessible-node-labels"),
    *("accessible-node-labels.x.capacity", "auto-queue-creation-v2.enabled"),
    *("auto-queue-creation-v2.template.capacity", "auto-create-child-queue.enabled"),
    "leaf-queue-template.capacity",
)
GLOBALS: Final = (
    *("queue-mappings", "queue-mappings-override.enable", "legacy-queue-mode.enabled"),
    *("workflow-priority-mappings", "global-queue-max-application", "node-locality-delay"),
    "resource-calculator",
)
VALUES: Final = (
    *("0", "-1", "50", "100", "1e9", "0.5", "2w", "0w", "[memory=1024]", "[memory=50%,vcores=1]"),
    *("[]", "%user", "STOPPED", "running", "a,b", "c,d", "a,a", "*", " ", "fair", "true", "false"),
    *(
        "priority-utilization",
        "[user=u group=g max_priority=3]",
        "[group=g]",
        "NaN",
        "memory-mb=1g",
    ),
    *("u:%user:a,g:x:root.default", "u:ann:root.a.%primary_group", "w:root.a:3", "${a}"),
)
names = st.one_of(
    st.builds("{}.{}".format, st.sampled_from(QUEUES), st.sampled_from(SUFFIXES)),
    st.sampled_from(GLOBALS),
)
written = st.dictionaries(names, st.sampled_from(VALUES), max_size=12)


@settings(max_examples=examples(150), deadline=None)
@given(written, st.booleans())
def test_any_file_is_judged(tmp_path_factory, properties: dict[str, str], sized: bool) -> None:
    rows = "".join(
        f"<property><name>{P}{name}</name><value>{escape(value)}</value></property>\n"
        for name, value in {"root.queues": "a,b", "root.b.capacity": "40", **properties}.items()
    )
    file = Path(tmp_path_factory.getbasetemp()) / "capacity-scheduler.xml"
    file.write_text(f"<configuration>\n{rows}</configuration>")
    found = lint(file, {"memory-mb": 10_240, "vcores": 10} if sized else None)
    assert all(problem.message and problem.line for problem in found)


@settings(max_examples=examples(100), deadline=None)
@given(written)
def test_what_is_read_without_an_error_can_be_loaded(properties: dict[str, str]) -> None:
    """The reader and the scheduler agree on what is refused."""
    problems = Problems()
    base = {"root.queues": "a,b", "root.a.capacity": "60", "root.b.capacity": "40"}
    site = Site.of({P + name: value for name, value in {**base, **properties}.items()})
    reported = collect_capacity(site, problems)
    manager = ResourceManager(CapacityScheduler(reported.types))
    events = manager.handle(0, LoadConfiguration(msgspec.json.encode(reported), 1))
    refused = any(isinstance(event, RequestRefused) for event in events)
    if not problems.errors:
        assert not refused
        manager.handle(1, NodeJoined("n1", (8192, 8)))
        check(manager.state)
