"""The reference pages of settings say what the tables say."""

from pathlib import Path

import msgspec
import pytest

from fairshare.core.schedulers.capacity import settings as capacity
from fairshare.core.schedulers.fair.settings import AllocationSettings, FairSettings, QueueSettings
from fairshare.core.schedulers.pools.settings import PoolAllocations
from fairshare.documents.problems import Problems
from fairshare.settings.capacity import monitor, scheduler_settings
from fairshare.settings.capacity import queue_settings as capacity_queues
from fairshare.settings.fair import allocation_file, queue_settings, reading
from fairshare.settings.pools import pool_settings
from fairshare.settings.reference import PAGES, page
from fairshare.settings.site import Site

PLACE = Path(__file__).parents[3] / "docs" / "reference"

WITHOUT_A_ROW = {
    capacity.QueueSettings: {"user_weights", "label_capacities", "unreadable"},
    capacity.LabelCapacity: set(),
    capacity.Template: set(),
    capacity.MonitorSettings: {
        "enabled",
        "intra_queue",
        "auto_removal",
        "legacy_queue_management",
    },
    capacity.IntraQueuePreemption: set(),
    capacity.CapacitySettings: {
        "types",
        "queues",
        "templates",
        "minimum_allocation",
        "maximum_allocation",
        "maximum_override_delay_ms",
        "acl_enabled",
        "master_max_attempts",
        "heartbeat_interval_ms",
        "monitor",
        "mappings",
        "labels",
        "label_of_node",
        "reservations",
        "fairness",
        "time_limits",
        "bookings",
    },
    QueueSettings: {"name", "parent", "reservable"},
    AllocationSettings: {"queues", "user_max_applications", "rules", "from_file"},
    PoolAllocations: {"pools", "user_max_jobs"},
    FairSettings: {
        "types",
        "minimum_allocation",
        "maximum_allocation",
        "increment_allocation",
        "maximum_override_delay_ms",
        "entitled_after_ms",
        "master_preemption_queues",
        "acl_enabled",
        "administrators",
        "heartbeat_interval_ms",
        "master_max_attempts",
        "allocations",
        "fairness",
        "time_limits",
        "bookings",
    },
}
"""Fields that are not one value of one element or property of the scheduler's own."""


@pytest.mark.parametrize("name", PAGES)
def test_a_reference_page_is_made_from_the_tables(name):
    assert (PLACE / name).read_text() == page(name), (
        "run python -m fairshare.settings.reference docs/reference"
    )


@pytest.mark.parametrize(
    ("settings", "table"),
    [
        (QueueSettings, queue_settings.SETTINGS),
        (AllocationSettings, allocation_file.SETTINGS),
        (FairSettings, reading.SETTINGS),
        (PoolAllocations, pool_settings.FILE),
        (capacity.QueueSettings, capacity_queues.SETTINGS),
        (capacity.LabelCapacity, capacity_queues.LABEL),
        (capacity.Template, capacity_queues.TEMPLATE),
        (capacity.CapacitySettings, scheduler_settings.SETTINGS),
        (capacity.MonitorSettings, monitor.MONITOR),
        (capacity.IntraQueuePreemption, monitor.INTRA_QUEUE),
    ],
    ids=[
        "queue",
        "file",
        "site",
        "pools-file",
        "capacity-queue",
        "capacity-label",
        "capacity-template",
        "capacity-scheduler",
        "capacity-monitor",
        "capacity-intra-queue",
    ],
)
def test_every_field_of_the_settings_has_one_row(settings, table):
    fields = {field.name for field in msgspec.structs.fields(settings)}
    rows = [setting.field for setting in table]
    assert len(rows) == len(set(rows))
    assert set(rows) == fields - WITHOUT_A_ROW[settings]


IN_WORDS = {"no limit", "none", "DefaultResourceCalculator", "user.max-parallel-apps"}
"""What pages say of a property whose default is no value that a file may have."""


@pytest.mark.parametrize(
    ("settings", "table"),
    [
        (FairSettings(), reading.SETTINGS),
        (capacity.CapacitySettings(), scheduler_settings.SETTINGS),
        (capacity.MonitorSettings(), monitor.MONITOR),
        (capacity.IntraQueuePreemption(), monitor.INTRA_QUEUE),
    ],
    ids=["fair", "capacity", "monitor", "intra-queue"],
)
def test_the_default_that_a_page_names_is_the_default_of_the_field(settings, table):
    for row in table:
        if row.unwritten in IN_WORDS:
            continue
        default, problems = getattr(settings, row.field), Problems()
        written, unwritten = Site.of({row.name: row.unwritten}), Site.of({})
        assert row.read(written, row.name, default, problems) == row.read(
            unwritten, row.name, default, problems
        ), row.name
        assert not problems.all, row.name
