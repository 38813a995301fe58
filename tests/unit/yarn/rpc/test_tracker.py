"""Nodes register, send heartbeats and leave: what becomes of it, and what each is answered."""

import msgspec
import pytest
from google.protobuf.message import DecodeError
from tests.unit.yarn.rpc.cluster import CAPACITY, Cluster

from fairshare.core.model.identifiers import container_id, number_of
from fairshare.core.model.inputs import (
    ContainerExited,
    ContainerStarted,
    DecommissionNode,
    KillApplication,
    NodeJoined,
    NodeResized,
    SubmitApplication,
    UndrainNode,
)
from fairshare.core.model.work import Command, TaskGroup
from fairshare.yarn.rpc.keys import Kind
from fairshare.yarn.rpc.records import container_id_message
from fairshare.yarn.rpc.wire.messages import SignalContainerRequestProto

pytestmark = pytest.mark.anyio

NORMAL, RESYNC, SHUTDOWN = 0, 1, 2
TWO_TASKS = SubmitApplication("ann", tasks=(TaskGroup("t", 2, (512, 1), Command(("true",))),))


async def running(cluster, node, application=TWO_TASKS):
    """Register a node, and run an application there; its containers."""
    node.register()
    await cluster.server.service.ask(application)
    await cluster.until(lambda: cluster.state.nodes[node.name].containers)
    await cluster.settled()
    node.statuses = dict.fromkeys(cluster.state.nodes[node.name].containers)
    node.beat()
    await cluster.settled()
    return list(node.statuses)


async def test_a_node_that_registers_offers_its_resources_and_gets_the_keys(cluster):
    node = cluster.node()
    answer = node.register()
    await cluster.settled()
    joined = cluster.state.nodes["h1:1"]
    assert (joined.total, joined.host, joined.rack) == ((4096, 4), "h1", "/default-rack")
    assert joined.attributes == {"web-address": "h1:8042", "version": "3.4.1"}
    assert answer.nodeAction == NORMAL
    assert answer.container_token_master_key.bytes == cluster.keys.current(Kind.CONTAINER).secret
    assert answer.nm_token_master_key.bytes == cluster.keys.current(Kind.NODE).secret
    assert answer.rm_identifier == cluster.server.started_ms
    assert (answer.rm_version, answer.areNodeLabelsAcceptedByRM) == ("3.4.1", False)


async def test_an_idle_heartbeat_costs_no_record_and_does_not_wake_the_writer(cluster):
    node = cluster.node()
    await running(cluster, node)
    version, turns = cluster.server.service.version, []
    cluster.server.service.on_turn = lambda seconds, inputs: turns.append(inputs)
    for _ in range(10):
        answer = node.beat()
    assert not cluster.server.service._wake.is_set()
    await cluster.settled()
    assert (cluster.server.service.version, turns) == (version, [])
    assert answer.nextHeartBeatInterval == 1_000
    assert answer.ListFields() == [
        (field, value)
        for field, value in answer.ListFields()
        if field.name in ("response_id", "nodeAction", "nextHeartBeatInterval")
    ]


async def test_containers_start_and_end_as_the_node_reports(cluster):
    node = cluster.node()
    first, second = await running(cluster, node)
    assert cluster.state.running == {first: True, second: True}
    node.statuses = {first: 0, second: 3}
    node.beat()
    await cluster.settled()
    assert cluster.state.applications[1].tasks.groups[0].succeeded == 1
    removed = node.beat().containers_to_be_removed_from_nm
    assert [one.id for one in removed] == [1, 2]
    assert not node.beat().containers_to_be_removed_from_nm


async def test_an_end_that_a_master_has_yet_to_fetch_stays_with_the_node(cluster):
    node = cluster.node()
    first, _ = await running(cluster, node)
    waits = {first}
    cluster.tracker.reports.awaited = lambda container: container in waits
    node.statuses[first] = 0
    node.beat()
    await cluster.settled()
    assert not node.beat().containers_to_be_removed_from_nm
    waits.clear()
    cluster.tracker.reports.acknowledge(first, cluster.state.epoch_ms)
    assert [one.id for one in node.beat().containers_to_be_removed_from_nm] == [1]


async def test_what_is_stopped_is_named_until_its_end_is_reported(cluster):
    node = cluster.node()
    containers = await running(cluster, node)
    await cluster.server.service.ask(KillApplication(1))
    for _ in range(2):
        answer = node.beat()
        assert sorted(one.id for one in answer.containers_to_cleanup) == [1, 2]
    assert cluster.state.nodes["h1:1"].available == (3072, 2)
    node.statuses = dict.fromkeys(containers, -106)
    answer = node.beat()
    assert not answer.containers_to_cleanup
    assert len(answer.containers_to_be_removed_from_nm) == 2
    await cluster.settled()
    assert cluster.state.nodes["h1:1"].available == (4096, 4)


async def test_a_node_is_informed_once_that_an_application_is_over(cluster):
    node, other = cluster.node(1), cluster.node(2, host="h2")
    other.register()
    await running(cluster, node)
    await cluster.server.service.ask(KillApplication(1))
    ran = [n for n in (node, other) if n.statuses]
    for one in ran:
        (over,) = one.beat().applications_to_cleanup
        assert (over.id, over.cluster_timestamp) == (1, cluster.state.epoch_ms)
        assert not one.beat().applications_to_cleanup


async def test_a_node_is_informed_of_the_end_of_an_application_whose_containers_were_quick(cluster):
    node = cluster.node()
    node.register()
    await cluster.server.service.ask(TWO_TASKS)
    await cluster.until(lambda: len(cluster.state.nodes[node.name].containers) == 2)
    await cluster.settled()
    node.statuses = dict.fromkeys(cluster.state.nodes[node.name].containers, 0)
    node.beat()
    await cluster.settled()
    assert cluster.state.applications[1].over
    assert [one.id for one in node.beat().applications_to_cleanup] == [1]
    assert not node.beat().applications_to_cleanup


@pytest.mark.parametrize("limit_ms", [None, 2_000])
@pytest.mark.parametrize("again", [False, True], ids=["heartbeat", "registration"])
async def test_a_task_that_its_node_has_ended_at_its_time_limit_is_not_tried_again(
    cluster, limit_ms, again
):
    node = cluster.node()
    group = TaskGroup("t", 1, (512, 1), Command(("work",)), time_limit_ms=limit_ms)
    (container,) = await running(cluster, node, SubmitApplication("ann", tasks=(group,)))
    node.statuses = {container: 124}  # what `timeout` says, and any other program may say
    if again:
        node.register()
    else:
        node.beat()
    await cluster.settled()
    assert cluster.state.applications[1].over == (limit_ms is not None)


async def test_a_node_is_informed_of_an_end_that_came_before_its_first_report(cluster):
    node = cluster.node()
    node.register()
    await cluster.server.service.ask(TWO_TASKS)
    await cluster.until(lambda: len(cluster.state.nodes[node.name].containers) == 2)
    await cluster.settled()
    containers = list(cluster.state.nodes[node.name].containers)
    await cluster.server.service.ask(KillApplication(1))
    node.statuses = dict.fromkeys(containers, -106)
    assert [one.id for one in node.beat().applications_to_cleanup] == [1]
    assert not node.beat().applications_to_cleanup


async def test_containers_that_no_one_granted_are_stopped_and_forgotten(cluster):
    node = cluster.node()
    node.register()
    records = []
    cluster.server.observers.commits(records.extend)
    unknown = container_id(9, 1, 1)
    node.statuses[unknown] = None
    node.foreign = [(7, None), (8, 0)]
    answer = node.beat()
    assert sorted(one.id for one in answer.containers_to_cleanup) == [1, 7]
    assert [one.id for one in answer.containers_to_be_removed_from_nm] == [8]
    assert [one.id for one in answer.applications_to_cleanup] == [9]
    node.statuses[unknown] = 143
    assert [one.id for one in node.beat().containers_to_be_removed_from_nm] == [1]
    await cluster.settled()
    inputs = {type(record.input) for record in records}
    assert NodeJoined in inputs
    assert not inputs & {ContainerStarted, ContainerExited}


async def test_a_container_that_a_node_no_longer_reports_has_ended(cluster):
    node = cluster.node()
    first, second = await running(cluster, node)
    del node.statuses[first]
    node.beat()
    await cluster.settled()
    assert first not in cluster.state.nodes["h1:1"].containers
    assert second in cluster.state.nodes["h1:1"].containers


async def test_a_repeated_heartbeat_gets_the_last_answer_again(cluster):
    node = cluster.node()
    await running(cluster, node)
    await cluster.server.service.ask(KillApplication(1))
    answer = node.beat()
    assert node.beat(answer.response_id - 1) == answer
    assert node.beat().response_id == answer.response_id + 1


@pytest.mark.parametrize("response_id", [0, 7])
async def test_a_node_further_behind_or_ahead_registers_again(cluster, response_id):
    node = cluster.node()
    containers = await running(cluster, node)
    node.beat()
    node.beat()
    answer = node.beat(response_id)
    assert answer.nodeAction == RESYNC
    assert "Too far behind" in answer.diagnostics_message
    assert node.beat().nodeAction == RESYNC
    await cluster.server.service.ask(TWO_TASKS)
    assert list(cluster.state.nodes["h1:1"].containers) == containers  # nothing new meanwhile
    node.register()
    await cluster.until(lambda: len(cluster.state.nodes["h1:1"].containers) == 4)
    assert set(containers) <= set(cluster.state.nodes["h1:1"].containers)
    assert node.beat().nodeAction == NORMAL


async def test_an_unknown_node_is_asked_to_register(cluster):
    answer = cluster.node().beat()
    assert (answer.nodeAction, answer.diagnostics_message) == (
        RESYNC,
        "Node not found resyncing h1:1",
    )


async def test_nodes_return_with_their_containers_after_a_restart(cluster):
    node, away = cluster.node(1), cluster.node(2)
    first, second = await running(cluster, node)
    node.register()  # a container that the node does not report yet was granted by this server
    await cluster.server.service.ask(TWO_TASKS)
    await cluster.settled()
    granted = [one for one in cluster.state.nodes["h1:1"].containers if one not in (first, second)]
    assert granted
    await cluster.stop()
    node.statuses = {first: None, second: 5}
    await cluster.start()
    assert node.beat().nodeAction == RESYNC
    assert away.beat().nodeAction == RESYNC
    node.register((1, 77))
    await cluster.settled()
    there = cluster.state.nodes["h1:1"].containers
    assert first in there
    assert second not in there
    assert not set(granted) & set(there)  # the node refuses what an earlier server granted
    assert [one.id for one in node.beat().applications_to_cleanup] == [77]


async def test_a_node_that_stays_away_after_a_restart_is_lost(cluster):
    cluster.node(1).register()
    cluster.node(2).register()
    await cluster.settled()
    await cluster.stop()
    await cluster.start()
    cluster.node(1).register()
    for _ in range(61):
        cluster.clock.ms += 9_000
        cluster.tracker.tick()
    await cluster.settled()
    assert list(cluster.state.nodes) == ["h1:1", "h1:2"]
    for _ in range(7):
        cluster.clock.ms += 9_000
        cluster.nodes.heard(cluster.nodes.get("h1:1"), cluster.clock.ms)
        cluster.tracker.tick()
    await cluster.settled()
    assert list(cluster.state.nodes) == ["h1:1"]


async def test_a_silent_node_gets_nothing_and_is_lost_in_the_end(cluster):
    node = cluster.node()
    node.register()
    await cluster.settled()
    cluster.clock.ms += 5_000
    cluster.tracker.tick()
    await cluster.server.service.ask(TWO_TASKS)
    assert not cluster.state.nodes["h1:1"].containers
    assert node.beat().nodeAction == NORMAL
    await cluster.until(lambda: cluster.state.nodes["h1:1"].containers)
    while "h1:1" in cluster.state.nodes:
        cluster.clock.ms += 9_000
        cluster.tracker.tick()
        await cluster.settled()
        assert cluster.clock.ms < 2_000_000
    assert node.beat().nodeAction == RESYNC
    node.register()
    await cluster.until(lambda: "h1:1" in cluster.state.nodes)


async def lost(cluster, node):
    """Let a silent node expire."""
    while node.name in cluster.state.nodes:
        cluster.clock.ms += 9_000
        cluster.tracker.tick()
        await cluster.settled()


async def test_a_node_that_returns_from_the_lost_stops_what_it_still_runs(cluster):
    node = cluster.node()
    containers = await running(cluster, node)
    await lost(cluster, node)
    assert not cluster.state.running
    assert node.beat().nodeAction == RESYNC
    node.register()  # with the containers that it has kept
    await cluster.until(lambda: node.name in cluster.state.nodes)
    stopped = {one.id & 0xFFFFFFFF for one in node.beat().containers_to_cleanup}
    assert stopped >= {number_of(container) for container in containers}
    assert not set(containers) & set(cluster.state.nodes[node.name].containers)
    node.statuses = {}
    assert node.beat().nodeAction == NORMAL


async def test_a_node_that_registers_under_another_name_is_another_node(cluster):
    node = cluster.node()
    containers = await running(cluster, node)
    renamed = cluster.node(port=2)
    renamed.statuses = dict(node.statuses)
    renamed.register()
    await cluster.settled()
    # What it runs was granted on the node that it was: that one has it until it is lost.
    assert sorted(cluster.state.nodes) == ["h1:1", "h1:2"]
    assert set(containers) <= set(cluster.state.nodes["h1:1"].containers)
    assert not set(containers) & set(cluster.state.nodes["h1:2"].containers)
    assert {number_of(container) for container in containers} <= {
        one.id & 0xFFFFFFFF for one in renamed.beat().containers_to_cleanup
    }
    await lost(cluster, node)
    assert not set(containers) & cluster.state.running.keys()


async def test_a_node_that_returns_with_less_memory_than_it_runs_gets_nothing_more(cluster):
    node = cluster.node()
    containers = await running(cluster, node)
    smaller = cluster.node(memory_mb=512)
    smaller.statuses = dict(node.statuses)
    smaller.register()
    await cluster.settled()
    known = cluster.state.nodes["h1:1"]
    assert known.total[0] == 512
    assert set(containers) == set(known.containers)  # they go on
    await cluster.server.service.ask(msgspec.structs.replace(TWO_TASKS, user="bob"))
    await cluster.settled()
    smaller.beat()
    await cluster.settled()
    assert set(containers) == set(known.containers)


async def test_a_pause_of_the_server_itself_loses_no_node(cluster):
    node = cluster.node()
    node.register()
    await cluster.settled()
    cluster.clock.ms += 3_600_000
    cluster.tracker.tick()
    await cluster.settled()
    assert node.beat().nodeAction == NORMAL
    assert "h1:1" in cluster.state.nodes


async def test_an_unhealthy_node_leaves_and_comes_back(cluster):
    node = cluster.node()
    containers = await running(cluster, node)
    node.healthy, node.report = False, "1/1 local-dirs are bad"
    answer = node.beat()
    assert answer.nodeAction == NORMAL
    await cluster.settled()
    assert "h1:1" not in cluster.state.nodes
    assert len(node.beat().containers_to_cleanup) == len(containers)
    node.healthy = True
    assert node.beat().nodeAction == NORMAL
    await cluster.until(lambda: "h1:1" in cluster.state.nodes)
    assert node.beat().nodeAction == NORMAL


async def test_a_node_that_registers_unhealthy_waits_until_it_is_well(cluster):
    node = cluster.node()
    node.healthy = False
    assert node.register().nodeAction == NORMAL
    node.beat()
    await cluster.settled()
    assert not cluster.state.nodes
    node.healthy = True
    node.beat()
    await cluster.until(lambda: cluster.state.nodes)


async def test_nodes_that_are_excluded_too_old_or_too_small_are_sent_away(tmp_path, anyio_backend):
    cluster = await Cluster(
        tmp_path, minimum_version="3.3.0", allowed=lambda host: host != "bad"
    ).start()
    for node, reason in (
        (cluster.node(host="bad"), "Disallowed NodeManager from  bad"),
        (cluster.node(version="3.2.10"), "less than the minimum version 3.3.0"),
        (cluster.node(version=""), "Version null"),
        (cluster.node(memory_mb=64), "doesn't satisfy minimum allocations"),
    ):
        answer = node.register()
        assert answer.nodeAction == SHUTDOWN
        assert reason in answer.diagnostics_message
        assert not answer.HasField("nm_token_master_key")
    assert cluster.node(host="bad").beat().nodeAction == SHUTDOWN
    await cluster.settled()
    assert not cluster.state.nodes
    await cluster.stop()


async def test_a_decommissioned_node_shuts_down_when_it_is_empty(cluster):
    node = cluster.node()
    containers = await running(cluster, node)
    await cluster.server.service.ask(DecommissionNode("h1:1", 60_000))
    assert node.beat().nodeAction == NORMAL
    node.statuses = dict.fromkeys(containers, 0)
    node.beat()
    await cluster.until(lambda: "h1:1" not in cluster.state.nodes)
    assert node.beat().nodeAction == SHUTDOWN
    node.unregister()
    assert node.register().nodeAction == SHUTDOWN
    await cluster.server.service.ask(UndrainNode("h1:1"))
    assert node.register().nodeAction == NORMAL


async def test_a_node_that_unregisters_has_shut_down(cluster):
    node = cluster.node()
    node.register()
    await cluster.settled()
    node.unregister()
    await cluster.settled()
    assert not cluster.state.nodes
    assert node.beat().nodeAction == RESYNC


async def test_next_keys_go_to_each_node_once(cluster):
    node = cluster.node()
    node.register()
    later_ms = cluster.server.started_ms + cluster.key_settings.node_rolling_ms
    cluster.keys.advance(later_ms)
    answer = node.beat()
    assert answer.nm_token_master_key.bytes == cluster.keys.next(Kind.NODE).secret
    assert answer.container_token_master_key.key_id == cluster.keys.next(Kind.CONTAINER).number
    answer = node.beat()
    assert not answer.HasField("nm_token_master_key")
    assert not answer.HasField("container_token_master_key")
    assert cluster.node(2).register().nm_token_master_key.key_id == (
        cluster.keys.current(Kind.NODE).number
    )


async def test_a_node_hears_of_a_total_that_an_administrator_changed(cluster):
    node = cluster.node()
    node.register()
    await cluster.settled()
    await cluster.server.service.ask(NodeResized("h1:1", (2048, 2)))
    assert node.beat().resource.memory == 2048
    assert not node.beat().HasField("resource")


async def test_a_node_that_returns_with_other_resources_is_resized(cluster):
    cluster.node().register()
    await cluster.settled()
    cluster.node(memory_mb=8192).register()
    await cluster.settled()
    assert cluster.state.nodes["h1:1"].total == (8192, 4)


async def test_a_signal_reaches_the_node_of_its_container(cluster):
    node = cluster.node()
    first, _ = await running(cluster, node)
    name = container_id_message(cluster.state.epoch_ms, first)
    request = SignalContainerRequestProto(container_id=name, command=1)
    assert cluster.nodes.signal(first, request)
    (signal,) = node.beat().containers_to_signal
    assert (signal.container_id.id, signal.command) == (1, 1)
    assert not cluster.nodes.signal(container_id(9, 1, 1), request)


async def test_nodes_bring_labels_only_where_the_configuration_lets_them(tmp_path, anyio_backend):
    labelled = msgspec.structs.replace(
        CAPACITY, labels_enabled=True, labels={"gpu": True}, labels_distributed=True
    )
    cluster = await Cluster(tmp_path, "capacity", capacity=labelled).start()
    node = cluster.node(label="gpu")
    assert node.register().areNodeLabelsAcceptedByRM
    await cluster.settled()
    assert cluster.state.label_of(cluster.state.nodes["h1:1"]) == "gpu"
    node.label = ""
    assert node.beat().areNodeLabelsAcceptedByRM
    await cluster.settled()
    assert cluster.state.label_of(cluster.state.nodes["h1:1"]) == ""
    assert not cluster.node(2, label="unheard-of").register().areNodeLabelsAcceptedByRM
    await cluster.stop()


async def test_labels_of_nodes_are_refused_elsewhere(cluster):
    node = cluster.node(label="gpu")
    assert not node.register().areNodeLabelsAcceptedByRM
    assert not node.beat().areNodeLabelsAcceptedByRM


async def test_the_time_of_the_last_heartbeat_is_known(cluster):
    cluster.node().register()
    cluster.clock.ms += 5
    heard_ms = cluster.tracker.heard_ms("h1:1")
    assert 0 <= cluster.server.service.now_ms() - heard_ms - 5 < 60_000
    assert cluster.tracker.heard_ms("h9:9") is None


async def test_what_a_node_says_it_uses_is_kept_while_it_is_in_the_cluster(cluster):
    node = cluster.node()
    node.register()
    await cluster.settled()
    node.beat()
    known = cluster.server.projections.nodes.utilization
    assert (known["h1:1"].physical_memory_mb, known["h1:1"].containers) == (123, (0, 0, 0.0))
    node.used_mb = 124
    node.beat()
    assert known["h1:1"].physical_memory_mb == 124
    node.healthy = False
    node.beat()
    await cluster.settled()
    node.beat()
    assert not known
    node.healthy = True
    node.beat()
    await cluster.settled()
    node.beat()
    assert known["h1:1"].physical_memory_mb == 124


async def test_a_heartbeat_with_a_status_that_cannot_be_read_changes_no_container(cluster):
    node = cluster.node()
    (first, second) = await running(cluster, node)
    node.statuses = {first: 0}
    node.unreadable = [b"\xff"]
    with pytest.raises(DecodeError):
        node.beat()
    await cluster.settled()
    assert set(cluster.state.nodes["h1:1"].containers) == {first, second}
    node.unreadable = []
    assert node.beat().nodeAction == NORMAL
    await cluster.settled()
    assert not {first, second} & set(cluster.state.nodes["h1:1"].containers)


async def test_what_a_node_uses_is_a_part_of_its_machine_if_it_says_how_large_that_is(cluster):
    node = cluster.node()
    for machine, fraction in ((None, 123 / 4096), ((8192, 8), 123 / 8192)):
        node.machine = machine
        node.register()
        await cluster.settled()
        node.beat()
        measured = cluster.server.projections.nodes.utilization["h1:1"]
        assert measured.of((4096, 4)) == (fraction, 0)


async def test_what_nodes_report_of_the_aggregation_of_logs_is_the_applications_status(cluster):
    logs = cluster.server.log_aggregation
    logs.enabled = True
    node = cluster.node()
    containers = await running(cluster, node)
    assert logs.status(1) == "NOT_START"
    node.logs = {1: "RUNNING", 99: "SUCCEEDED"}
    node.beat()
    assert (logs.status(1), logs.status(99)) == ("RUNNING", "NOT_START")
    node.statuses = dict.fromkeys(containers, 0)
    node.beat()
    await cluster.settled()
    node.logs = {1: "SUCCEEDED"}
    node.register()
    assert logs.status(1) == "SUCCEEDED"


async def test_a_node_that_does_not_report_its_logs_in_time_is_not_waited_for(cluster):
    logs = cluster.server.log_aggregation
    logs.enabled, logs.timeout_ms = True, 0
    node = cluster.node()
    await running(cluster, node)
    await cluster.server.service.ask(KillApplication(1))
    cluster.tracker.tick()
    assert logs.status(1) == "TIME_OUT"


async def test_a_node_keeps_files_of_an_application_that_is_over_until_they_are_fetched(cluster):
    node = cluster.node()
    containers = await running(cluster, node)
    cluster.tracker.reports.holds = lambda application: True
    node.statuses = dict.fromkeys(containers, 0)
    node.beat()
    await cluster.settled()
    assert cluster.state.applications[1].over
    assert not node.beat().applications_to_cleanup
    cluster.tracker.reports.release(1, cluster.state.epoch_ms)
    assert [one.id for one in node.beat().applications_to_cleanup] == [1]
