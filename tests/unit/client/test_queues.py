"""What a client knows of queues is what the server sends of them."""

import msgspec
import pytest

from fairshare.client import queues
from fairshare.schedulers import views


def names(form: type[msgspec.Struct]) -> set[str]:
    return set(form.__struct_fields__)


@pytest.mark.parametrize(
    ("form", "view"),
    [
        (queues.Queue, views.QueueView),
        (queues.CapacityFigures, views.CapacityView),
        (queues.PartitionFigures, views.PartitionView),
        (queues.UserFigures, views.UserView),
        (queues.PoolFigures, views.PoolView),
    ],
)
def test_the_client_has_each_field_of_a_view_by_the_same_name(form, view):
    assert names(form) == names(view)


def test_slots_of_pools_are_known_whole():
    assert names(views.PoolSlotsView) <= names(queues.SlotFigures)
    assert names(views.JobSlotsView) <= names(queues.SlotFigures)
