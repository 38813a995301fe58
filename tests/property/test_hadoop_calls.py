"""Whatever a client, an administrator, a master or a node sends over Hadoop's RPC, the server never
answers with a defect, and keeps little of it.

Messages of any content go to the handlers of one server with a node and a master. A failure prints
the call; hypothesis adds a line with `@reproduce_failure`.
"""

import asyncio
import inspect
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("google.protobuf", reason="needs the extra fairshare[hadoop]")

from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st
from tests.effort import examples
from tests.property.hadoop_messages import Messages
from tests.unit.yarn.rpc.cluster import Cluster

from fairshare.yarn.rest.gateway import Gateway
from fairshare.yarn.rpc import records
from fairshare.yarn.rpc.administration import Administration
from fairshare.yarn.rpc.clients import Clients
from fairshare.yarn.rpc.configuration import HostLists
from fairshare.yarn.rpc.wire.calls import CallContext, Handler, RpcError
from fairshare.yarn.rpc.wire.descriptors import APPLICATION_MASTER, METHODS, RESOURCE_TRACKER
from fairshare.yarn.rpc.wire.messages import ContainerIdProto, NodeIdProto

WEIGHTY = (
    "submitApplication",
    "allocate",
    "registerApplicationMaster",
    "finishApplicationMaster",
    "registerNodeManager",
    "nodeHeartbeat",
    "updateNodeResource",
    "updateApplicationTimeouts",
    "forceKillApplication",
    "getApplications",
)
LONGEST_REFUSAL = 20_000


class Target:
    """A server with a node and a master, and its handlers by protocol and method."""

    def __init__(self, scheduler: str) -> None:
        self.scheduler = scheduler
        self.runner = asyncio.Runner()
        self.runner.run(self._start())

    async def _start(self) -> None:
        self.path = Path(tempfile.mkdtemp())
        self.cluster = Cluster(self.path, self.scheduler)
        await self.cluster.start()
        node = self.cluster.node()
        node.register()
        self.master = await self.cluster.master(node)
        gateway = Gateway(self.cluster.server, b"")
        self.handlers: dict[tuple[str, str], Handler] = {
            **Clients(gateway, lambda application: None).handlers,
            **Administration(gateway, HostLists("", ""), 60).handlers,
        }
        for protocol, room in (
            (APPLICATION_MASTER, self.cluster.masters),
            (RESOURCE_TRACKER, self.cluster.tracker),
        ):
            self.handlers |= {(protocol, name): one for name, one in room.handlers.items()}
        self.messages = Messages(identifiers(self.cluster.state.epoch_ms))

    async def _stop(self) -> None:
        await self.cluster.stop()
        shutil.rmtree(self.path)

    def call(self, protocol: str, method: str, request: Any) -> None:
        """Make a call, which may be refused; anything else fails."""
        self.runner.run(self._call(protocol, method, request))

    async def _call(self, protocol: str, method: str, request: Any) -> None:
        application = self.cluster.state.applications.get(self.master.application)
        if application is None or application.over or not self.cluster.state.nodes:
            await self._stop()
            await self._start()
        context = CallContext("ann", "", None, "127.0.0.1", "")
        if protocol == APPLICATION_MASTER:
            context = self.master.context
        refusal = ""
        try:
            answer = self.handlers[protocol, method](context, request)
            answer = await answer if inspect.isawaitable(answer) else answer
            answer.SerializeToString()
        except RpcError as error:
            refusal = error.message
        assert len(refusal) < LONGEST_REFUSAL, refusal[:1_000]
        await self.cluster.settled()

    def close(self) -> None:
        """Stop the server."""
        self.runner.run(self._stop())
        self.runner.close()


def identifiers(epoch_ms: int) -> dict[str, st.SearchStrategy[Any]]:
    """Identifiers of a server that exist, or nearly."""
    applications = [records.application_id_message(epoch_ms, number) for number in (1, 1, 2, 3)]
    attempts = [records.attempt_id_message(epoch_ms, 1, number) for number in (1, 1, 2)]
    return {
        "ApplicationIdProto": st.sampled_from(applications),
        "ApplicationAttemptIdProto": st.sampled_from(attempts),
        "ContainerIdProto": st.builds(
            lambda attempt, number: ContainerIdProto(app_attempt_id=attempt, id=number),
            st.sampled_from(attempts),
            st.sampled_from([1, 1, 2, 3]),
        ),
        "NodeIdProto": st.just(NodeIdProto(host="h1", port=1)),
    }


def methods(target: Target) -> st.SearchStrategy[tuple[str, str]]:
    """Every method, and more often those that have much to read."""
    found = sorted(target.handlers)
    weighty = [one for one in found if one[1] in WEIGHTY]
    return st.sampled_from(weighty) | st.sampled_from(found)


@pytest.fixture(scope="module", params=["fair", "capacity"])
def target(request: pytest.FixtureRequest) -> Iterator[Target]:
    made = Target(request.param)
    yield made
    made.close()


@pytest.mark.slow
@given(st.data())
@settings(
    max_examples=examples(300),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_no_call_meets_a_defect(target: Target, data: st.DataObject) -> None:
    protocol, method = data.draw(methods(target))
    request = data.draw(target.messages.of(METHODS[protocol, method].request))
    note(f"{protocol.rpartition('.')[2]}.{method}\n{request}")
    target.call(protocol, method, request)
