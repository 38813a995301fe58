"""Masters start containers on this machine as on a NodeManager: tokens, refusals, ends."""

import asyncio
import base64
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.unit.yarn.rpc.own.machine import context, machine
from tests.waiting import until

from fairshare.core.model.inputs import KillApplication, MasterRegistered
from fairshare.yarn.rpc.own.node_manager import NOT_SUPPORTED, NodeManager, NodePorts
from fairshare.yarn.rpc.wire import calls, tokens
from fairshare.yarn.rpc.wire.client import RemoteError
from fairshare.yarn.rpc.wire.descriptors import CONTAINER_MANAGEMENT, METHODS
from fairshare.yarn.rpc.wire.messages import (
    GetContainerStatusesRequestProto,
    LocalResourceProto,
    StopContainersRequestProto,
)


def refusal(answer: Any) -> tuple[str, str]:
    (failed,) = answer.failed_requests
    return failed.exception.class_name, failed.exception.message


def test_a_master_starts_a_container_and_stops_it(tmp_path: Path) -> None:
    async def body() -> None:
        async with machine(tmp_path) as one:
            seen = tmp_path / "tokens"
            await one.submit(
                context(
                    f"cat container_tokens > {seen}.new; mv {seen}.new {seen};", "exec sleep 60"
                )
            )
            await until(seen.exists)
            own = tokens.read_credentials(seen.read_bytes()).tokens[""]
            assert own == one.signer.master(1, 1)
            await one.server.service.ask(MasterRegistered(1))
            granted = await one.granted()
            here = tmp_path / "here"
            answer = await one.start(granted, context(f"touch {here}; exec sleep 60"))
            assert len(answer.succeeded_requests) == 1
            await until(here.exists)
            asked = GetContainerStatusesRequestProto(container_id=answer.succeeded_requests)
            (status,) = (await one.call("getContainerStatuses", asked, granted)).status
            assert (status.state, status.exit_status) == (2, -1000)
            stop = StopContainersRequestProto(container_id=answer.succeeded_requests)
            assert len((await one.call("stopContainers", stop, granted)).succeeded_requests) == 1
            await until(lambda: granted.container not in one.containers)
            (status,) = (await one.call("getContainerStatuses", asked, granted)).status
            assert (status.state, status.exit_status) == (3, -105)
            assert status.diagnostics.startswith("Container killed by the ApplicationMaster.")

    asyncio.run(body())


def test_containers_of_an_application_share_a_directory_and_know_the_shuffle(
    tmp_path: Path,
) -> None:
    async def body() -> None:
        async with machine(tmp_path) as one:
            seen = tmp_path / "seen"
            printed = "echo \\$LOCAL_DIRS \\$NM_AUX_SERVICE_mapreduce_shuffle"
            await one.submit(context(f"{printed} > {seen}.1; exec sleep 60"))
            await until(Path(f"{seen}.1").exists)
            await one.server.service.ask(MasterRegistered(1))
            granted = await one.granted()
            line = f"touch \\$LOCAL_DIRS/x && {printed} > {seen}.2; exec sleep 60"
            answer = await one.start(granted, context(line))
            await until(lambda: Path(f"{seen}.2").exists() and Path(f"{seen}.2").read_text())
            of_master, of_container = (Path(f"{seen}.{n}").read_text().split() for n in (1, 2))
            assert of_master == of_container
            directory, port = of_container
            assert (Path(directory) / "x").exists()
            (service,) = answer.services_meta_data
            assert base64.b64decode(port) == service.value

    asyncio.run(body())


def test_a_start_is_refused_where_a_node_refuses_it(tmp_path: Path) -> None:
    async def body() -> None:
        async with machine(tmp_path) as one:
            await one.submit(context("exec sleep 60"))
            await until(lambda: one.server.service.state.running)
            await one.server.service.ask(MasterRegistered(1))
            granted = await one.granted()
            good = one.signer.container(granted, "ann")
            line = context("exec sleep 60")

            forged = msgspec.structs.replace(good, password=b"guessed")
            assert "illegally generated" in refusal(await one.start(granted, line, forged))[1]
            unreadable = msgspec.structs.replace(good, identifier=b"\xff")
            answer = await one.start(granted, line, unreadable)
            assert refusal(answer)[0] == calls.INVALID_TOKEN
            expired = one.signer_of(one.server.started_ms, -1).container(granted, "ann")
            assert "This token is expired" in refusal(await one.start(granted, line, expired))[1]
            earlier = one.signer_of(7).container(granted, "ann")
            assert "a previous RM" in refusal(await one.start(granted, line, earlier))[1]
            other = msgspec.structs.replace(granted, node="another")
            foreign = one.signer.container(other, "ann")
            assert "was allocated on" in refusal(await one.start(granted, line, foreign))[1]
            stranger = msgspec.structs.replace(granted, container=granted.container + (1 << 40))
            token = one.signer.container(stranger, "ann")
            assert "Unauthorized request" in refusal(await one.start(granted, line, token))[1]
            unknown = msgspec.structs.replace(granted, container=granted.container + 1000)
            token = one.signer.container(unknown, "ann")
            assert "not handled by" in refusal(await one.start(granted, line, token))[1]

            for service, instead in (
                ("spark_shuffle", "set spark.shuffle.service.enabled=false"),
                ("other", "others need NodeManagers"),
            ):
                unknown_service = context("exec sleep 60")
                unknown_service.service_data.add(key=service, value=b"")
                class_name, message = refusal(await one.start(granted, unknown_service))
                assert class_name == calls.INVALID_AUXILIARY_SERVICE
                assert message.startswith(f"The auxService:{service} does not exist: ")
                assert instead in message

            assert not (await one.start(granted, line)).failed_requests
            assert "runs something already" in refusal(await one.start(granted, line))[1]

    asyncio.run(body())


def test_files_of_another_file_system_end_the_container_with_the_reason(tmp_path: Path) -> None:
    async def body() -> None:
        async with machine(tmp_path) as one:
            submitted = context("true")
            resource = LocalResourceProto(size=1, timestamp=1, type=2, visibility=3)
            resource.resource.scheme, resource.resource.host = "hdfs", "nn"
            resource.resource.file = "/x.jar"
            submitted.localResources.add(key="x.jar", value=resource)
            await one.submit(submitted)
            await until(lambda: one.server.service.state.applications[1].over)
            assert "hdfs://nn/x.jar" in one.server.service.state.applications[1].diagnostics

    asyncio.run(body())


def test_a_container_goes_on_and_ends_with_its_application(tmp_path: Path) -> None:
    async def body() -> None:
        async with machine(tmp_path) as one:
            await one.submit(context("exec sleep 60"))
            await until(lambda: one.server.service.state.running)
            await one.server.service.ask(KillApplication(1))
            await until(lambda: not one.engine.running())

    asyncio.run(body())


def test_what_the_nodes_of_this_machine_cannot_do_is_refused_by_name(tmp_path: Path) -> None:
    async def body() -> None:
        async with machine(tmp_path) as one:
            await one.submit(context("exec sleep 60"))
            await until(lambda: one.server.service.state.running)
            granted = next(iter(one.containers.values()))
            for method in ("localize", "getLocalizationStatuses"):
                request = METHODS[CONTAINER_MANAGEMENT, method].request()
                with pytest.raises(RemoteError, match=f"{method} is not supported"):
                    await one.call(method, request, granted)

    asyncio.run(body())


def test_every_method_of_the_protocol_is_served_or_refused() -> None:
    manager = NodeManager(*[None] * 6)  # type: ignore[arg-type]
    methods = {name for protocol, name in METHODS if protocol == CONTAINER_MANAGEMENT}
    assert set(manager.handlers) == methods
    assert len(NOT_SUPPORTED) == len(methods) - 3


def test_a_server_that_starts_again_takes_the_ports_that_masters_know(tmp_path: Path) -> None:
    nodes = ("local-1", "local-2")
    first = NodePorts(nodes, "127.0.0.1", tmp_path)
    before = [first.address_of(node) for node in nodes]
    other = NodePorts(nodes, "127.0.0.1", tmp_path)  # while the ports are in use
    assert not {port for _, port in before} & {other.address_of(node)[1] for node in nodes}
    other.release()
    (tmp_path / "hadoop-node-ports").write_text(f'{{"local-1":{before[0][1]}}}')
    first.release()
    again = NodePorts(nodes, "127.0.0.1", tmp_path)
    assert again.address_of("local-1") == before[0]
    again.release()


def test_a_damaged_file_of_ports_is_written_again(tmp_path: Path) -> None:
    (tmp_path / "hadoop-node-ports").write_text("{")
    ports = NodePorts(("local",), "127.0.0.1", tmp_path)
    assert ports.address_of("local")[1]
    assert ports.node_id("local").port == ports.address_of("local")[1]
    assert ports.node_id("elsewhere").port == 0
    ports.release()
