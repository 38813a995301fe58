"""Masters register, ask and finish: what becomes of it, and what each is answered."""

import asyncio

import pytest
from tests.unit.yarn.rpc.cluster import Cluster, Master, ask
from tests.unit.yarn.rpc.test_clients import Client

from fairshare.core.model.events import ApplicationState, ContainerMarked, ContainerSpared
from fairshare.core.model.inputs import (
    ContainerExited,
    KillApplication,
    NodeLost,
    PreemptContainers,
)
from fairshare.core.record import Record
from fairshare.errors import InputError
from fairshare.runtime.observers import Observers
from fairshare.yarn.rpc.keys import Kind
from fairshare.yarn.rpc.records import container_of
from fairshare.yarn.rpc.wire import calls, tokens
from fairshare.yarn.rpc.wire.calls import RpcError
from fairshare.yarn.rpc.wire.messages import (
    ContainerIdProto,
    ContainerTokenIdentifierProto,
    NMTokenIdentifierProto,
)

pytestmark = pytest.mark.anyio


async def granted(cluster, master, *asks):
    """The containers that an ask brings, with this answer or the next one."""
    found = list((await master.allocate(*asks)).allocated_containers)
    await cluster.settled()
    return found + list((await master.allocate()).allocated_containers)


def refused(caught):
    return caught.value.class_name


def own_id(cluster, message):
    return container_of(message, cluster.state.epoch_ms)


# Registration.


async def test_a_master_that_registers_hears_of_the_cluster(cluster, node):
    number = await cluster.submit(view_acl="bob", modify_acl=" ")
    await cluster.run_granted(node)
    answer = await Master(cluster, number).register()
    assert answer.maximumCapability.memory == 8192
    assert answer.queue == cluster.state.applications[number].queue
    assert [one.name for one in answer.resource_types] == ["memory-mb", "vcores"]
    assert list(answer.scheduler_resource_types) == [0, 1]
    assert [(one.accessType, one.acl) for one in answer.application_ACLs] == [(1, "bob"), (2, " ")]
    application = cluster.state.applications[number]
    assert application.attempt.registered
    assert application.state == ApplicationState.RUNNING


async def test_a_master_registers_once(cluster, master):
    with pytest.raises(RpcError) as caught:
        await master.register()
    assert refused(caught) == calls.INVALID_MASTER_REQUEST
    assert f"already registered : application_{cluster.state.epoch_ms}_0001" in str(caught.value)


async def test_a_master_that_allocates_before_it_registers_is_asked_to(cluster, node):
    master = Master(cluster, await cluster.submit())
    for call in (master.allocate(), master.finish()):
        with pytest.raises(RpcError) as caught:
            await call
        assert refused(caught) == calls.MASTER_NOT_REGISTERED


async def test_an_attempt_that_is_over_is_not_found(cluster, master):
    await cluster.server.service.ask(KillApplication(1))
    for call in (master.allocate(), master.finish(), master.register()):
        with pytest.raises(RpcError) as caught:
            await call
        assert refused(caught) == calls.ATTEMPT_NOT_FOUND


@pytest.mark.parametrize("code", ["busy", "disk-full", "no-database", "stopping"])
async def test_a_refusal_that_may_pass_lets_masters_ask_again(cluster, master, monkeypatch, code):
    """A master ends at any other one, and with it all that it runs; with two servers it would at
    the second RetriableException, too."""

    async def refuse(inputs):
        raise InputError(code, "not now")

    monkeypatch.setattr(cluster.server.service, "ask_all", refuse)
    for call in (master.allocate(ask(1)), master.finish()):
        with pytest.raises(RpcError) as caught:
            await call
        assert refused(caught) == "org.apache.hadoop.ipc.StandbyException"
    monkeypatch.undo()
    assert await granted(cluster, master, ask(1))


# Requests and grants.


async def test_what_is_asked_is_granted_with_its_tokens(cluster, node, master):
    first, second = await granted(cluster, master, ask(2, priority=7, number=3))
    assert own_id(cluster, first.id) in cluster.state.applications[1].containers
    assert (first.nodeId.host, first.nodeId.port) == ("h1", 1)
    assert first.node_http_address == "h1:801"
    assert (first.resource.memory, first.priority.priority) == (512, 7)
    assert (first.allocation_request_id, first.execution_type) == (3, 1)
    token = first.container_token
    key = cluster.keys.current(Kind.CONTAINER)
    assert token.password == tokens.password(key.secret, token.identifier)
    content = ContainerTokenIdentifierProto.FromString(token.identifier)
    assert content.containerId == first.id
    assert (content.nmHostAddr, content.appSubmitter) == ("h1:1", "ann")
    assert content.rmIdentifier == cluster.server.started_ms
    assert first.id != second.id


async def test_a_token_for_a_node_is_sent_once_for_each_attempt_and_node(cluster, node, master):
    answer = await master.allocate(ask(1))
    (token,) = answer.nm_tokens or (await master.allocate()).nm_tokens
    content = NMTokenIdentifierProto.FromString(token.token.identifier)
    assert (content.nodeId.host, content.appAttemptId.attemptId) == ("h1", 1)
    again = await master.allocate(ask(1))
    assert again.allocated_containers
    assert not again.nm_tokens
    node.register()
    assert len((await master.allocate(ask(1))).nm_tokens) == 1
    cluster.masters.deliveries.forget_tokens()
    assert len((await master.allocate(ask(1))).nm_tokens) == 1


async def test_asks_are_absolute_and_can_be_taken_back(cluster, node, master):
    application = cluster.state.applications[1]
    await master.allocate(ask(3, memory_mb=8000), ask(3, "h9", memory_mb=8000))
    assert application.attempt.asks.keys[1, -1].anywhere.count == 3
    await master.allocate(ask(2, memory_mb=8000))
    assert application.attempt.asks.keys[1, -1].anywhere.count == 2
    await master.allocate(ask(0, memory_mb=8000), ask(0, "h9", memory_mb=8000))
    assert not application.attempt.asks.wanting


async def test_a_request_for_a_host_is_granted_there(cluster, node, master):
    other = cluster.node(2, host="h2")
    other.register()
    await cluster.settled()
    (found,) = await granted(
        cluster,
        master,
        ask(1, "h2", number=1),
        ask(1, "/default-rack", relax_locality=False, number=1),
        ask(1, relax_locality=False, number=1),
    )
    assert found.nodeId.host == "h2"


async def test_the_blacklist_changes_only_by_what_is_new(cluster, node, master):
    application = cluster.state.applications[1]
    await master.allocate(add=("h1", "h2"))
    version = cluster.server.service.version
    await master.allocate(add=("h1",), remove=("h9",))
    assert cluster.server.service.version == version
    assert list(application.attempt.blacklist) == ["h1", "h2"]
    await master.allocate(remove=("h1",))
    assert list(application.attempt.blacklist) == ["h2"]
    with pytest.raises(RpcError) as caught:
        await master.allocate(add=("*",))
    assert refused(caught) == calls.INVALID_BLACKLIST_REQUEST


async def test_containers_are_released_and_their_ends_delivered(cluster, node, master):
    found = await granted(cluster, master, ask(2))
    first, second = (own_id(cluster, one.id) for one in found)
    answer = await master.allocate(release=(first,))
    (status,) = answer.completed_container_statuses
    assert (own_id(cluster, status.container_id), status.exit_status) == (first, -100)
    assert (status.state, status.capability.memory) == (3, 512)
    assert second in cluster.state.applications[1].containers
    await master.allocate(release=(first,))  # it has ended already


async def test_another_applications_container_cannot_be_released(cluster, node, master):
    other = await cluster.master(node)
    (theirs,) = await granted(cluster, other, ask(1))
    foreign = ContainerIdProto()
    foreign.CopyFrom(theirs.id)
    foreign.app_attempt_id.application_id.cluster_timestamp += 1
    for container in (theirs.id, foreign):
        with pytest.raises(RpcError) as caught:
            await master.allocate(release=(container,))
        assert refused(caught) == calls.INVALID_CONTAINER_RELEASE
    assert own_id(cluster, theirs.id) in cluster.state.applications[2].containers


async def test_a_call_that_changes_nothing_costs_no_record(cluster, node, master):
    await master.allocate()
    version = cluster.server.service.version
    answer = await master.allocate(progress=0.5)
    assert cluster.server.service.version == version
    assert cluster.server.projections.attempts.of(1).progress == 0.5
    assert (answer.num_cluster_nodes, answer.application_priority.priority) == (1, 0)
    assert answer.limit.memory == 8192 - 256
    assert not answer.HasField("am_rm_token")


async def test_a_progress_that_changes_is_a_change_of_that_application_alone(cluster, node, master):
    await cluster.submit()
    changes = cluster.server.unrecorded_changes
    await master.allocate(progress=0.5)
    version = changes.version
    await master.allocate(progress=0.5)
    assert changes.since(version) == []
    await master.allocate(progress=0.6)
    assert changes.since(version) == [1]


@pytest.mark.parametrize(
    ("wrong", "class_name", "words"),
    [
        (ask(1, memory_mb=100_000), calls.INVALID_RESOURCE_REQUEST, "100000"),
        (ask(-1), calls.INVALID_RESOURCE_REQUEST, "negative number"),
        (ask(1, memory_mb=-5), calls.INVALID_RESOURCE_REQUEST, "negative amount"),
        (ask(1, ""), calls.INVALID_RESOURCE_REQUEST, "name of a host"),
        (ask(1, number=1 << 40), calls.INVALID_RESOURCE_REQUEST, "allocation request id"),
        (
            ask(1, node_label_expression="gpu"),
            calls.INVALID_LABEL_REQUEST,
            "label",
        ),
    ],
)
async def test_an_impossible_ask_is_refused_and_nothing_of_the_call_counts(
    cluster, node, master, wrong, class_name, words
):
    with pytest.raises(RpcError) as caught:
        await master.allocate(ask(1, memory_mb=8000), wrong)
    assert refused(caught) == class_name
    assert words in str(caught.value)
    assert not cluster.state.applications[1].attempt.asks.wanting
    assert (await master.allocate()).response_id == 1


async def test_opportunistic_containers_are_refused_only_where_they_are_enforced(
    cluster, node, master
):
    wanted = ask(1)
    wanted.execution_type_request.execution_type = 2
    assert (await granted(cluster, master, wanted))[0].execution_type == 1
    wanted.execution_type_request.enforce_execution_type = True
    with pytest.raises(RpcError) as caught:
        await master.allocate(wanted)
    assert "OPPORTUNISTIC" in str(caught.value)


async def test_placement_constraints_are_refused(master):
    with pytest.raises(RpcError) as caught:
        await master.allocate(constraints=True)
    assert "placement constraints" in str(caught.value)


async def diagnostics(cluster: Cluster) -> str:
    """Of the first application, as `yarn application -status` prints them."""
    client = Client(cluster)
    answer = await client.call("getApplicationReport", application_id=client.name(1))
    return answer.application_report.diagnostics


async def test_the_user_of_an_application_sees_what_its_master_was_refused(cluster, node, master):
    assert await diagnostics(cluster) == ""
    with pytest.raises(RpcError):
        await master.allocate(constraints=True)
    words = await diagnostics(cluster)
    assert words.startswith("A request of its ApplicationMaster was refused: ")
    assert "placement constraints are not supported" in words
    with pytest.raises(RpcError):
        await master.allocate(ask(1, memory_mb=99_999))
    assert "placement" not in await diagnostics(cluster)  # the last refusal
    await master.allocate(ask(1))
    assert await diagnostics(cluster) == ""


async def test_a_master_that_fails_because_it_was_refused_leaves_the_reason_in_the_record(
    cluster, node, master
):
    with pytest.raises(RpcError):
        await master.allocate(constraints=True)
    await master.finish(status=2, diagnostics="desired = 2, completed = 0")
    recorded = cluster.state.applications[1].attempt.unregistered.diagnostics
    assert recorded == await diagnostics(cluster)
    first, second = recorded.splitlines()
    assert first == "desired = 2, completed = 0"
    assert "placement constraints are not supported" in second


async def test_a_master_that_succeeds_after_a_refusal_says_itself_how(cluster, node, master):
    with pytest.raises(RpcError):
        await master.allocate(constraints=True)
    await master.finish(diagnostics="done")
    assert await diagnostics(cluster) == "done"


# Repeats.


async def test_a_repeated_call_gets_the_last_answer_and_asks_nothing_again(cluster, node, master):
    first = await master.allocate(ask(2))
    version = cluster.server.service.version
    assert await master.allocate(ask(2), response_id=0) == first
    assert cluster.server.service.version == version


async def test_a_call_repeated_while_the_first_is_decided_gets_the_same_answer(
    cluster, node, master
):
    one, other = await asyncio.gather(
        master.allocate(ask(2), response_id=0), master.allocate(ask(2), response_id=0)
    )
    assert one == other
    assert cluster.state.applications[1].containers_allocated == 3


@pytest.mark.parametrize("response_id", [1, 5, -1])
async def test_a_number_out_of_order_is_refused(master, response_id):
    if response_id == -1:
        await master.allocate()
        await master.allocate()
        response_id = 0
    with pytest.raises(RpcError) as caught:
        await master.allocate(response_id=response_id)
    assert refused(caught) == calls.INVALID_MASTER_REQUEST


# Ends.


async def test_an_end_is_delivered_until_the_master_has_it_and_only_then_forgotten_by_the_node(
    cluster, node, master
):
    (found,) = await granted(cluster, master, ask(1))
    container = own_id(cluster, found.id)
    await cluster.run_granted(node)
    node.statuses[container] = 3
    node.beat()
    await cluster.settled()
    assert not node.beat().containers_to_be_removed_from_nm
    answer = await master.allocate()
    (status,) = answer.completed_container_statuses
    assert (status.exit_status, status.diagnostics) == (3, "it ended")
    assert not node.beat().containers_to_be_removed_from_nm
    assert await master.allocate(response_id=answer.response_id - 1) == answer
    assert not node.beat().containers_to_be_removed_from_nm
    assert not (await master.allocate()).completed_container_statuses
    assert [one.id for one in node.beat().containers_to_be_removed_from_nm] == [found.id.id]


async def test_a_grant_that_ended_before_it_was_delivered_is_only_an_end(cluster, node, master):
    await master.allocate(ask(1, memory_mb=8192))
    other = cluster.node(2, host="h2", memory_mb=8192)
    other.register()
    await cluster.until(lambda: len(cluster.state.applications[1].containers) == 2)
    await cluster.server.service.ask(NodeLost("h2:2"))
    answer = await master.allocate()
    assert not answer.allocated_containers
    assert [one.exit_status for one in answer.completed_container_statuses] == [-100]


async def test_ends_that_no_master_fetches_any_more_are_forgotten_by_the_node(
    cluster, node, master
):
    (found,) = await granted(cluster, master, ask(1))
    await cluster.run_granted(node)
    node.statuses[own_id(cluster, found.id)] = 0
    node.beat()
    await cluster.settled()
    await cluster.server.service.ask(KillApplication(1))
    removed = node.beat().containers_to_be_removed_from_nm
    assert found.id.id in [one.id for one in removed]


async def test_a_master_that_finishes_ends_its_application_with_its_container(
    cluster, node, master
):
    assert (await master.finish(2, "no luck")).isUnregistered
    assert (await master.finish(2)).isUnregistered
    assert not cluster.state.applications[1].over
    for container in list(node.statuses):
        node.statuses[container] = 0
    node.beat()
    await cluster.until(lambda: cluster.state.applications[1].over)
    application = cluster.state.applications[1]
    assert (application.state, application.diagnostics) == (ApplicationState.FAILED, "no luck")
    assert (await master.finish(2)).isUnregistered


# Attempts.


async def end_of_master(cluster, node, code=1):
    """The master's container ends; then the next one runs."""
    application = cluster.state.applications[1]
    before = application.attempt.master
    node.statuses[before] = code
    node.beat()
    await cluster.until(lambda: application.attempt.master not in (None, before))
    del node.statuses[before]
    await cluster.run_granted(node)


async def test_the_next_attempt_begins_without_the_containers_of_the_one_before(
    cluster, node, master
):
    await granted(cluster, master, ask(2))
    await cluster.run_granted(node)
    await end_of_master(cluster, node)
    with pytest.raises(RpcError) as caught:
        await master.allocate()
    assert refused(caught) == calls.ATTEMPT_NOT_FOUND
    following = Master(cluster, 1)
    assert following.attempt == 2
    answer = await following.register()
    assert not answer.containers_from_previous_attempts
    assert not (await following.allocate()).completed_container_statuses


async def test_the_next_attempt_takes_over_containers_and_ends_where_they_are_kept(cluster, node):
    master = await cluster.master(node, keep_containers=True)
    found = await granted(cluster, master, ask(2))
    first, second = (own_id(cluster, one.id) for one in found)
    await cluster.run_granted(node)
    node.statuses[first] = 9
    node.beat()
    await cluster.settled()
    await end_of_master(cluster, node)
    following = Master(cluster, 1)
    answer = await following.register()
    kept = [own_id(cluster, one.id) for one in answer.containers_from_previous_attempts]
    assert kept == [second]
    assert len(answer.nm_tokens_from_previous_attempts) == 1
    (status,) = (await following.allocate()).completed_container_statuses
    assert (own_id(cluster, status.container_id), status.exit_status) == (first, 9)
    await following.allocate(release=(second,))
    assert second not in cluster.state.applications[1].containers


async def test_a_silent_master_ends_its_attempt_and_its_container_is_stopped(cluster, node, master):
    container = cluster.state.applications[1].attempt.master
    for _ in range(70):
        cluster.clock.ms += 9_000
        await master.allocate()
        cluster.masters.tick()
        cluster.nodes.heard(cluster.nodes.get("h1:1"), cluster.clock.ms)
    await cluster.settled()
    assert cluster.state.applications[1].attempt.number == 1
    for _ in range(101):
        cluster.clock.ms += 9_000
        cluster.masters.tick()
    await cluster.settled()
    assert cluster.state.applications[1].attempt.number == 2
    assert cluster.state.applications[1].failed_attempts == 1
    assert container in cluster.engine.stopped
    assert [one.id for one in node.beat().containers_to_cleanup] == [1]


async def test_a_pause_of_the_server_lets_no_master_expire(cluster, node, master):
    cluster.clock.ms += 3_600_000
    cluster.masters.tick()
    await cluster.settled()
    assert cluster.state.applications[1].attempt.number == 1


# A restart of the server.


async def test_a_master_registers_again_after_a_restart_and_repeats_its_requests(
    cluster, node, master
):
    (found,) = await granted(cluster, master, ask(1))
    kept = own_id(cluster, found.id)
    await cluster.run_granted(node)
    await master.allocate(ask(3, memory_mb=8000))
    await cluster.stop()
    await cluster.start()
    with pytest.raises(RpcError) as caught:
        await master.allocate()
    assert refused(caught) == calls.MASTER_NOT_REGISTERED
    node.statuses[kept] = 4
    node.register()
    node.beat()
    await cluster.settled()
    answer = await master.register()
    assert not answer.containers_from_previous_attempts
    assert not cluster.state.applications[1].attempt.asks.wanting
    (status,) = (await master.allocate(ask(1))).completed_container_statuses
    assert (own_id(cluster, status.container_id), status.exit_status) == (kept, 4)
    assert cluster.state.applications[1].attempt.number == 1


async def test_an_end_that_an_earlier_server_recorded_and_did_not_deliver_is_delivered(
    cluster, node, master
):
    """Otherwise the master would wait for it for ever."""
    (found,) = await granted(cluster, master, ask(1))
    ended = own_id(cluster, found.id)
    await cluster.run_granted(node)
    node.statuses[ended] = 3
    node.beat()
    await cluster.until(lambda: ended not in cluster.state.applications[1].containers)
    await cluster.stop()
    await cluster.start()
    node.register()
    node.beat()
    await cluster.settled()
    await master.register()
    (status,) = (await master.allocate()).completed_container_statuses
    assert (own_id(cluster, status.container_id), status.exit_status) == (ended, 3)
    assert not node.beat().containers_to_be_removed_from_nm
    assert not (await master.allocate()).completed_container_statuses  # and the end is acknowledged
    assert [own_id(cluster, one) for one in node.beat().containers_to_be_removed_from_nm] == [ended]


async def test_what_was_granted_meanwhile_is_taken_back_when_the_master_returns(cluster):
    node = cluster.node(memory_mb=1024)
    node.register()
    await cluster.settled()
    master = await cluster.master(node)
    await master.allocate(ask(2, memory_mb=2048))
    await cluster.stop()
    await cluster.start()
    node.register()
    other = cluster.node(2, memory_mb=4096)
    other.register()
    application = cluster.state.applications[1]
    await cluster.until(lambda: len(application.containers) == 3)
    await master.register()
    assert list(application.containers) == [application.attempt.master]
    assert len(await granted(cluster, master, ask(2, memory_mb=2048))) == 2


# Keys, preemption, nodes.


async def test_a_master_gets_a_token_of_the_next_key_until_it_uses_it(cluster, node, master):
    cluster.keys.advance(cluster.server.started_ms + cluster.key_settings.master_rolling_ms)
    for _ in range(2):
        answer = await master.allocate()
        assert answer.am_rm_token.kind == "YARN_AM_RM_TOKEN"
    master.take(answer.am_rm_token)
    assert not (await master.allocate()).HasField("am_rm_token")
    assert cluster.masters.key_of(master.context.token.content) == (
        cluster.keys.next(Kind.MASTER).secret
    )


async def test_a_token_of_an_attempt_that_is_over_is_not_admitted(cluster, node, master):
    content = master.context.token.content
    assert cluster.masters.key_of(content) == cluster.keys.current(Kind.MASTER).secret
    await cluster.server.service.ask(KillApplication(1))
    assert cluster.masters.key_of(content) is None


async def test_masters_hear_of_nodes_that_change(cluster, node, master):
    assert not (await master.allocate()).updated_nodes
    other = cluster.node(2, host="h2")
    other.register()
    await cluster.settled()
    (report,) = (await master.allocate()).updated_nodes
    assert (report.nodeId.host, report.node_update_type) == ("h2", 0)
    assert report.capability.memory == 4096
    other.unregister()
    await cluster.settled()
    (report,) = (await master.allocate()).updated_nodes
    assert (report.nodeId.host, report.node_update_type) == ("h2", 1)
    assert not (await master.allocate()).updated_nodes


async def test_an_exit_reported_by_the_engine_reaches_the_master_as_an_end(cluster, node, master):
    (found,) = await granted(cluster, master, ask(1))
    container = own_id(cluster, found.id)
    cluster.server.service.observe([ContainerExited(container, -1000, "not started")])
    await cluster.settled()
    (status,) = (await master.allocate()).completed_container_statuses
    assert status.exit_status == -1000


@pytest.mark.parametrize("scheduler", ["fair", "capacity"])
async def test_a_master_is_warned_of_preemption_as_its_scheduler_does(
    tmp_path, anyio_backend, scheduler
):
    cluster = await Cluster(tmp_path, scheduler).start()
    node = cluster.node(memory_mb=8192, vcores=16)
    node.register()
    await cluster.settled()
    master = await cluster.master(node)
    (found,) = await granted(cluster, master, ask(1))
    container = own_id(cluster, found.id)
    observers = Observers()
    cluster.masters.deliveries.subscribe(observers)
    marked, spared = ContainerMarked(container, 2, 9), ContainerSpared(container)
    observers.observe([Record(1, 0, PreemptContainers(), (marked,))])
    first, second = (await master.allocate()).preempt, (await master.allocate()).preempt
    if scheduler == "fair":
        assert [one.id for one in first.strictContract.container] == [
            one.id for one in second.strictContract.container
        ]
        assert first.strictContract.container[0].id == found.id
        assert not first.HasField("contract")
    else:
        assert [one.id for one in first.contract.container] == [found.id]
        (resource,) = first.contract.resource
        assert (resource.resource.resource_name, resource.resource.num_containers) == ("*", 4)
        assert resource.resource.capability.memory == 128
        assert not first.HasField("strictContract")
        assert not second.ListFields()
    observers.observe([Record(2, 0, PreemptContainers(), (spared,))])
    assert not (await master.allocate()).preempt.ListFields()
    await cluster.stop()
