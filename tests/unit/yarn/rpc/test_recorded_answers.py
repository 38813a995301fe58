"""Answers to nodes and masters have the fields that a real ResourceManager's had in recordings."""

from pathlib import Path

import msgspec
import pytest
from google.protobuf.json_format import MessageToDict
from tests.unit.yarn.rpc.cluster import Cluster, Master, ask

from fairshare.core.model.inputs import KillApplication
from fairshare.yarn.rpc.records import container_of

pytestmark = pytest.mark.anyio

RECORDINGS = Path(__file__).parents[4].parent / "shared" / "hadoop-lab" / "calls"

MISSING = {
    "tokenSequenceNo": "numbers credentials for log aggregation, which only Kerberos needs",
    "completed_container_statuses.container_attributes": "addresses of the container's own network",
    "enhanced_headroom.total_pending_count": "counts the whole cluster; only federation reads it",
}
"""Fields that the real one sends and we do not, and why."""

METHODS = {
    "ResourceTrackerPB.registerNodeManager",
    "ResourceTrackerPB.nodeHeartbeat",
    "ApplicationMasterProtocolPB.registerApplicationMaster",
    "ApplicationMasterProtocolPB.allocate",
    "ApplicationMasterProtocolPB.finishApplicationMaster",
}


def recorded() -> dict[str, set[str]]:
    """The fields of the answers of each method, over all recordings."""
    found: dict[str, set[str]] = {}
    for path in RECORDINGS.glob("calls-*.json"):
        for name, method in msgspec.json.decode(path.read_bytes())["methods"].items():
            if name in METHODS:
                found.setdefault(name, set()).update(method["response"])
    if not found:
        pytest.skip("the recordings of a real ResourceManager are not there")
    return found


def fields_of(message, before: str = "") -> set[str]:
    """The names of all fields that are set, as the recordings write them."""
    found = set()
    content = MessageToDict(message, preserving_proto_field_name=True)

    def walk(value, name: str) -> None:
        for part in value if isinstance(value, list) else [value]:
            found.add(name)
            if isinstance(part, dict):
                for key, inner in part.items():
                    walk(inner, f"{name}.{key}")

    for key, value in content.items():
        walk(value, key)
    return found


async def test_our_answers_have_the_fields_of_the_recorded_ones(tmp_path, anyio_backend):
    expected = recorded()
    cluster = await Cluster(tmp_path, "capacity").start()
    ours: dict[str, set[str]] = {name: set() for name in METHODS}

    node = cluster.node(memory_mb=8192, vcores=16)
    ours["ResourceTrackerPB.registerNodeManager"] |= fields_of(node.register())
    await cluster.settled()
    master = await cluster.master(node, view_acl=" ")
    later = await cluster.master(node, view_acl=" ")
    number = await cluster.submit(view_acl=" ")
    await cluster.run_granted(node)
    third = Master(cluster, number)
    ours["ApplicationMasterProtocolPB.registerApplicationMaster"] |= fields_of(
        await third.register()
    )
    allocations = ours["ApplicationMasterProtocolPB.allocate"]
    answer = await master.allocate(ask(2))
    await cluster.settled()
    following = await master.allocate()
    allocations |= fields_of(answer) | fields_of(following)
    containers = [*answer.allocated_containers, *following.allocated_containers]
    await cluster.run_granted(node)
    beats = ours["ResourceTrackerPB.nodeHeartbeat"]
    for container in containers:
        node.statuses[container_of(container.id, cluster.state.epoch_ms)] = 0
    node.beat()
    await cluster.settled()
    allocations |= fields_of(await master.allocate())
    await master.allocate()
    cluster.keys.advance(cluster.server.started_ms + cluster.key_settings.master_rolling_ms)
    allocations |= fields_of(await master.allocate())
    beats |= fields_of(node.beat())
    await cluster.server.service.ask(KillApplication(later.application))
    beats |= fields_of(node.beat())
    ours["ApplicationMasterProtocolPB.finishApplicationMaster"] |= fields_of(await master.finish())
    await cluster.stop()

    for name, fields in expected.items():
        missing = {
            field
            for field in fields - ours[name]
            if not any(field == one or field.startswith(one + ".") for one in MISSING)
        }
        assert missing == set(), name
