"""Answers to clients have the fields that a real ResourceManager's had in recordings, and no other.

A short life of a cluster goes through the handlers; each method's answers, taken together, are
compared with the recorded ones, field by field.
"""

import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.unit.yarn.rpc.cluster import Cluster, Master, ask

from fairshare.core.model.identifiers import container_id
from fairshare.yarn.rest.gateway import Gateway
from fairshare.yarn.rpc import records
from fairshare.yarn.rpc.clients import Clients
from fairshare.yarn.rpc.wire.calls import CallContext
from fairshare.yarn.rpc.wire.descriptors import APPLICATION_CLIENT, METHODS

RECORDED = Path(__file__).parents[5] / "shared" / "hadoop-lab" / "calls"
PROTOCOL = "ApplicationClientProtocolPB"

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(
        not RECORDED.is_dir(), reason="the recorded calls in ../shared/hadoop-lab are not here"
    ),
]

MISSING = {
    "getClusterNodes": {
        "nodeReports.node_utilization.customResources": "nodes here measure memory and processor",
    },
}
"""Fields of recorded answers that ours lack, with all below them, and why."""

ADDITIONAL = {
    "getApplicationReport": {
        "application_report.submitTime": "the recorded server leaves it empty"
    },
    "getApplications": {"applications.submitTime": "the recorded server leaves it empty"},
    "getClusterNodes": {"nodeReports.numContainers": "the recorded nodes were idle"},
}
"""Fields of ours that no recorded answer has, and why."""


def fields_of(message: Any, prefix: str = "") -> Iterator[str]:
    """The names of all fields that are set, each with its path."""
    for field, value in message.ListFields():
        name = f"{prefix}{field.name}"
        yield name
        if field.type == field.TYPE_MESSAGE:
            for one in value if field.is_repeated else [value]:
                yield from fields_of(one, f"{name}.")


def recorded() -> dict[str, set[str]]:
    found = defaultdict(set)
    for path in sorted(RECORDED.glob("calls-*.json")):
        for name, method in json.loads(path.read_text())["methods"].items():
            protocol, _, method_name = name.partition(".")
            if protocol == PROTOCOL:
                found[method_name] |= set(method["response"])
    return found


class Recorder:
    """Collects the fields of our answers by method."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.fields: dict[str, set[str]] = defaultdict(set)
        self.clients = Clients(Gateway(cluster.server, b""), lambda application: None).handlers
        self.caller = CallContext("ann", "", None, "127.0.0.1", "")

    async def call(self, method: str, **fields: Any) -> Any:
        request = METHODS[APPLICATION_CLIENT, method].request(**fields)
        handler = self.clients[APPLICATION_CLIENT, method]
        answer = await handler(self.caller, request)
        self.fields[method] |= set(fields_of(answer))
        return answer

    async def submit(self) -> int:
        new = await self.call("getNewApplication")
        context = {
            "application_id": new.application_id,
            "application_name": "sleep",
            "queue": "default",
            "am_container_spec": {
                "command": ["sleep"],
                "application_ACLs": [{"accessType": 1, "acl": " "}],
            },
            "am_container_resource_request": [
                {
                    "priority": {"priority": 0},
                    "resource_name": "*",
                    "capability": {"memory": 256, "virtual_cores": 1},
                    "num_containers": 1,
                }
            ],
            "applicationType": "MAPREDUCE",
        }
        await self.call("submitApplication", application_submission_context=context)
        return new.application_id.id

    async def look(self, number: int) -> None:
        """Ask for all reports."""
        name = records.application_id_message(self.cluster.state.epoch_ms, number)
        await self.call("getApplicationReport", application_id=name)
        await self.call("getApplications")
        await self.call("getClusterNodes")
        await self.call("getClusterMetrics")
        await self.call("getQueueUserAcls")
        await self.call("getResourceTypeInfo")
        await self.call("getQueueInfo", queueName="default")


async def live(cluster: Cluster) -> dict[str, set[str]]:
    """Run an application with one task to its end, and kill another one."""
    recorder = Recorder(cluster)
    number = await recorder.submit()
    await recorder.look(number)
    node = cluster.node()
    node.register()
    await cluster.until(lambda: cluster.state.applications[number].attempt.master)
    await cluster.run_granted(node)
    await recorder.look(number)
    master = Master(cluster, number)
    await master.register()
    await master.allocate(ask(1))
    await cluster.until(lambda: len(cluster.state.applications[number].containers) == 2)
    await master.allocate()
    await cluster.run_granted(node)
    await recorder.look(number)
    task = container_id(number, 1, 2)
    node.statuses[task] = 0
    node.beat()
    await cluster.settled()
    await master.allocate()
    await master.allocate()
    node.beat()
    await master.finish()
    node.statuses = {container_id(number, 1, 1): 0}
    node.beat()
    await cluster.settled()
    node.beat()
    await recorder.look(number)

    second = await recorder.submit()
    await cluster.until(lambda: cluster.state.applications[second].attempt.master)
    node.statuses = {}
    await cluster.run_granted(node)
    name = records.application_id_message(cluster.state.epoch_ms, second)
    await recorder.call("forceKillApplication", application_id=name)
    await cluster.settled()
    node.beat()
    return recorder.fields


def below(name: str, listed: dict[str, str]) -> bool:
    return any(name == one or name.startswith(f"{one}.") for one in listed)


async def test_answers_have_the_fields_of_the_recorded_ones(tmp_path, anyio_backend):
    cluster = await Cluster(tmp_path, "capacity").start()
    ours, theirs = await live(cluster), recorded()
    await cluster.stop()
    assert set(ours) == set(theirs) - {"getResourceProfiles"}, "the one that is refused"
    missing = [
        f"{method}: {name}"
        for method, fields in ours.items()
        for name in sorted(theirs[method] - fields)
        if not below(name, MISSING.get(method, {}))
    ]
    assert missing == []
    additional = [
        f"{method}: {name}"
        for method, fields in ours.items()
        for name in sorted(fields - theirs[method])
        if not below(name, ADDITIONAL.get(method, {}))
    ]
    assert additional == []
    unneeded = [
        f"{method}: {name}"
        for listed in (MISSING, ADDITIONAL)
        for method, names in listed.items()
        for name in names
        if (name in ours[method]) == (name in theirs[method])
    ]
    assert unneeded == []
