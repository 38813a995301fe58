"""The reference pages of settings say what the tables say."""

from pathlib import Path

import msgspec
import pytest

from fairshare.families.fair import file_settings, queue_settings, site_settings
from fairshare.families.pools import pool_settings
from fairshare.families.reference import PAGES, page
from fairshare.schedulers.fair.settings import AllocationSettings, FairSettings, QueueSettings
from fairshare.schedulers.pools.settings import PoolAllocations

PLACE = Path(__file__).parents[3] / "docs" / "reference"

WITHOUT_A_ROW = {
    QueueSettings: {"name", "parent", "reservable"},
    AllocationSettings: {"queues", "user_max_applications", "rules", "from_file"},
    PoolAllocations: {"pools", "user_max_jobs"},
    FairSettings: {
        "types",
        "minimum_allocation",
        "maximum_allocation",
        "increment_allocation",
        "maximum_override_delay_ms",
        "master_preemption_queues",
        "acl_enabled",
        "administrators",
        "heartbeat_interval_ms",
        "master_max_attempts",
        "allocations",
    },
}
"""Fields that are not one value of one element or property of the scheduler's own."""


@pytest.mark.parametrize("name", PAGES)
def test_a_reference_page_is_made_from_the_tables(name):
    assert (PLACE / name).read_text() == page(name), (
        "run python -m fairshare.families.reference docs/reference"
    )


@pytest.mark.parametrize(
    ("settings", "table"),
    [
        (QueueSettings, queue_settings.SETTINGS),
        (AllocationSettings, file_settings.SETTINGS),
        (FairSettings, site_settings.SETTINGS),
        (PoolAllocations, pool_settings.FILE),
    ],
    ids=["queue", "file", "site", "pools-file"],
)
def test_every_field_of_the_settings_has_one_row(settings, table):
    fields = {field.name for field in msgspec.structs.fields(settings)}
    rows = [setting.field for setting in table]
    assert len(rows) == len(set(rows))
    assert set(rows) == fields - WITHOUT_A_ROW[settings]
