"""Whatever nodes and masters send, the server answers or refuses, contradicts itself nowhere, and
keeps nothing of it for long."""

import asyncio
import contextlib
import logging
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.effort import examples

pytest.importorskip("google.protobuf", reason="tests of fairshare.yarn.rpc need the extra")

from tests.unit.yarn.rpc.cluster import NOBODY, Cluster, Master, ask

from fairshare.core.model.invariants import check
from fairshare.yarn.rpc.wire.calls import RpcError
from fairshare.yarn.rpc.wire.messages import (
    ContainerStatusProto,
    NodeHeartbeatRequestProto,
    RegisterNodeManagerRequestProto,
)

small = st.integers(-1, 4)
containers = st.lists(
    st.tuples(
        small,  # the application
        small,  # its attempt
        st.sampled_from([-1, 0, 1, 2, 3, 1 << 40 | 1, (1 << 63) - 1]),
        st.sampled_from([0, 1]),  # the age of the cluster
        st.sampled_from([None, 0, 1, -100, -1000]),
    ),
    max_size=6,
)
nodes = st.tuples(st.sampled_from(["h1", "h2", "", "a b", "x" * 300]), st.sampled_from([1, 2, -3]))
steps = st.lists(
    st.one_of(
        st.tuples(
            st.just("register"),
            nodes,
            containers,
            st.sampled_from([-5, 0, 4096, 1 << 62]),
            st.booleans(),
        ),
        st.tuples(st.just("beat"), nodes, containers, st.integers(-1, 3), st.booleans()),
        st.tuples(st.just("allocate"), st.integers(-2, 3), small, st.sampled_from(["*", "h1", ""])),
        st.tuples(st.just("master"), st.sampled_from(["register", "finish", "submit"])),
        st.tuples(st.just("tick"), st.sampled_from([1_000, 700_000])),
    ),
    max_size=25,
)


def put(message, epoch_ms, given_containers, *, registering):
    for application, attempt, number, age, code in given_containers:
        if registering:
            status = message.container_statuses.add(
                container_state=2 if code is None else 3, container_exit_status=code or 0
            )
        else:
            status = ContainerStatusProto(state=2 if code is None else 3, exit_status=code or 0)
        name = status.container_id
        name.app_attempt_id.application_id.id = application
        name.app_attempt_id.application_id.cluster_timestamp = epoch_ms - age
        name.app_attempt_id.attemptId = attempt
        name.id = number
        if not registering:
            message.containersStatuses.append(status.SerializeToString())


async def act(cluster: Cluster, kind: str, arguments: tuple) -> None:
    epoch_ms = cluster.state.epoch_ms
    if kind == "register":
        (host, port), reported, memory_mb, healthy = arguments
        request = RegisterNodeManagerRequestProto(http_port=1, nm_version="3")
        request.node_id.host, request.node_id.port = host, port
        request.resource.memory, request.resource.virtual_cores = memory_mb, 8
        put(request, epoch_ms, reported, registering=True)
        request.nodeStatus.nodeHealthStatus.is_node_healthy = healthy
        cluster.tracker.register(NOBODY, request)
    elif kind == "beat":
        (host, port), reported, ahead, healthy = arguments
        request = NodeHeartbeatRequestProto()
        status = request.node_status
        status.node_id.host, status.node_id.port = host, port
        known = cluster.nodes.get(f"{host}:{port}")
        status.response_id = ahead - 1 + (known.response_id if known is not None else 0)
        put(status, epoch_ms, reported, registering=False)
        status.nodeHealthStatus.is_node_healthy = healthy
        cluster.tracker.heartbeat(NOBODY, request)
    elif kind == "allocate":
        count, ahead, place = arguments
        master = Master(cluster, 1)
        deliveries = cluster.masters.deliveries.get(1)
        answers = deliveries.answers if deliveries is not None else 0
        await master.allocate(ask(count, place), response_id=answers + ahead)
    elif kind == "master":
        if arguments[0] == "submit":
            await cluster.submit()
        else:
            await getattr(Master(cluster, 1), arguments[0])()
    else:
        cluster.clock.ms += arguments[0]
        cluster.tracker.tick()
        cluster.masters.tick()


async def run(given_steps) -> None:
    with tempfile.TemporaryDirectory() as folder:
        cluster = await Cluster(Path(folder)).start()
        try:
            await cluster.submit()
            for kind, *arguments in given_steps:
                with contextlib.suppress(RpcError):
                    await act(cluster, kind, tuple(arguments))
                await cluster.settled()
                assert cluster.server.service.failure is None
                check(cluster.state)
            for node in cluster.nodes:
                assert len(node.statuses) <= 6
                assert len(node.running) <= 12
                assert set(node.clean_up) <= set(node.running)
        finally:
            await cluster.stop()


@pytest.mark.slow
@settings(
    max_examples=examples(60),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
@given(steps)
def test_no_message_of_a_node_or_master_contradicts_the_state(given_steps):
    logging.disable(logging.CRITICAL)
    try:
        asyncio.run(run(given_steps))
    finally:
        logging.disable(logging.NOTSET)
