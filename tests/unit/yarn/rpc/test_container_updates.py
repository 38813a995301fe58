"""Masters ask to change containers that run: each request is answered by its reason."""

import pytest
from tests.unit.yarn.rpc.cluster import ask

from fairshare.yarn.rpc import records
from fairshare.yarn.rpc.wire.messages import UpdateContainerRequestProto

pytestmark = pytest.mark.anyio

INCREASE, DECREASE, PROMOTE, DEMOTE = 0, 1, 2, 3


async def granted(cluster, master):
    """One container, of 512 MB."""
    answer = await master.allocate(ask(1))
    if not answer.allocated_containers:
        await cluster.settled()
        answer = await master.allocate()
    (found,) = answer.allocated_containers
    return found


@pytest.mark.parametrize(
    ("fields", "memory_mb", "reason"),
    [
        ({"update_type": INCREASE}, 1024, "UPDATE_NOT_SUPPORTED: containers keep the resources"),
        ({"update_type": DECREASE}, 128, "UPDATE_NOT_SUPPORTED: containers keep the resources"),
        (
            {"update_type": DEMOTE, "execution_type": 2},
            0,
            "UPDATE_NOT_SUPPORTED: containers stay GUARANTEED",
        ),
        ({"update_type": INCREASE}, 100_000, "RESOURCE_OUTSIDE_ALLOWED_RANGE"),
        ({"update_type": DECREASE}, -1, "RESOURCE_OUTSIDE_ALLOWED_RANGE"),
        (
            {"update_type": INCREASE, "container_version": 1},
            1024,
            "INCORRECT_CONTAINER_VERSION_ERROR",
        ),
    ],
)
async def test_an_update_of_a_container_is_refused_by_its_reason(
    cluster, node, master, fields, memory_mb, reason
):
    found = await granted(cluster, master)
    update = UpdateContainerRequestProto(**{"container_version": 0, **fields})
    update.container_id.CopyFrom(found.id)
    update.capability.memory, update.capability.virtual_cores = memory_mb, 1
    version = cluster.server.service.version
    (error,) = (await master.allocate(updates=(update,))).update_errors
    assert error.reason.startswith(reason)
    assert (error.update_request, error.current_container_version) == (update, 0)
    assert cluster.server.service.version == version


async def test_a_container_that_is_guaranteed_already_is_promoted_without_an_error(
    cluster, node, master
):
    found = await granted(cluster, master)
    update = UpdateContainerRequestProto(container_version=0, update_type=PROMOTE, execution_type=1)
    update.container_id.CopyFrom(found.id)
    assert not (await master.allocate(updates=(update,))).update_errors


async def test_updates_of_containers_that_do_not_run_name_no_version(cluster, node, master):
    found = await granted(cluster, master)
    other = await cluster.master(node)
    ended = UpdateContainerRequestProto(container_version=0, update_type=INCREASE)
    ended.container_id.CopyFrom(found.id)
    refusals = [*(await other.allocate(updates=(ended,))).update_errors]
    await master.allocate(release=(records.container_of(found.id, cluster.state.epoch_ms),))
    refusals += (await master.allocate(updates=(ended,))).update_errors
    reasons = [(one.reason, one.current_container_version) for one in refusals]
    assert reasons == [("INVALID_CONTAINER_ID", -1)] * 2
