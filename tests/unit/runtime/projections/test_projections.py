"""All projections are updated, saved and restored together."""

import pytest
from tests.observing import follower

from fairshare.core.manager.resource_manager import ResourceManager
from fairshare.core.model.events import ConfigurationLoaded
from fairshare.core.model.inputs import LoadConfiguration
from fairshare.core.model.resources import ResourceTypes
from fairshare.core.record import Record
from fairshare.core.schedulers.fifo import FifoScheduler
from fairshare.errors import JournalError
from fairshare.runtime.projections.projections import KINDS, MANAGER, Projections, checked_parts
from fairshare.runtime.snapshot import STORED

TYPES = ResourceTypes()


def test_snapshots_know_the_fields_of_each_projection():
    assert [name for name, kind in KINDS.items() if STORED.of_class(kind) is None] == []


def test_a_projection_that_a_snapshot_lacks_starts_empty_and_the_others_continue():
    manager = ResourceManager(FifoScheduler(TYPES))
    first = Projections(TYPES)
    record = Record(7, 5, LoadConfiguration(b"{}", 1), (ConfigurationLoaded(b"{}", 1),))
    follower(first, manager.scheduler)(record)
    parts = {MANAGER: manager, **first.parts()}
    del parts["versions"]
    second = Projections(TYPES, checked_parts(parts))
    assert second.loaded.version == 7
    assert second.versions.all == ()
    assert first.versions.all


@pytest.mark.parametrize(
    "parts", [{}, {MANAGER: object()}, {"loaded": 1}], ids=["nothing", "no-manager", "other"]
)
def test_a_snapshot_with_other_parts_is_refused(parts):
    with pytest.raises(JournalError, match="the snapshot"):
        checked_parts(parts)
