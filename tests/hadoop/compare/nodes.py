"""Nodes that have left the cluster, one that drains, and what is told of them over RPC and HTTP."""

import asyncio
from pathlib import Path

from tests.hadoop.compare.calls import (
    BOSS,
    NEIGHBOUR,
    OWNER,
    STRANGER,
    ask,
    in_state,
    killed,
    number_of,
    size,
    submitted,
)
from tests.hadoop.compare.side import Side
from tests.hadoop.departing import EXCLUDED, LOST, SHUTDOWN, Node

from fairshare.yarn.rpc.wire.client import RpcClient
from fairshare.yarn.rpc.wire.messages import NodeStateProto

NORMAL, GRACEFUL = 1, 2
NODES, MEMORY_MB = 2, 4096
STATES = tuple(NodeStateProto.DESCRIPTOR.values_by_name)
SETTLED_S = 2.5
"""Two heartbeats of a node, with which all of the other side is known."""
GONE = {LOST: "LOST", SHUTDOWN: "SHUTDOWN", EXCLUDED: "DECOMMISSIONED"}
ELSEWHERE = "application_1400000000000_0001"


async def departures(side: Side) -> None:
    """Nodes that join and leave, each in its way."""
    client = RpcClient("yarn")
    nodes = {host: Node(client, side.ports["tracker"], host) for host in GONE}
    for node in nodes.values():
        await node.register()
    beating = asyncio.create_task(nodes[EXCLUDED].beat())
    await nodes[SHUTDOWN].leave()
    await _exclude(side, NORMAL, EXCLUDED)
    await beating
    wanted = {(f"{host}:1", f"NS_{state}") for host, state in GONE.items()}
    await side.until(
        lambda answer: wanted <= {_named(one) for one in answer.nodeReports},
        BOSS,
        "getClusterNodes",
    )
    await client.close()


def _named(report: object) -> tuple[str, str]:
    node = report.nodeId  # type: ignore[attr-defined]
    state = NodeStateProto.Name(report.node_state)  # type: ignore[attr-defined]
    return f"{node.host}:{node.port}", state


async def _exclude(side: Side, kind: int, *hosts: str) -> None:
    """Write the hosts into the file of excluded ones, and have it read."""
    (Path(side.names.run) / "exclude").write_text("".join(f"{host}\n" for host in hosts))
    await side.ask(BOSS, "refreshNodes", decommissionType=kind, decommissionTimeout=600)


async def draining(side: Side) -> None:
    """Applications of several users, and the nodes drained that run them."""
    whole = {"resource": size(MEMORY_MB, 4), "over_commit_timeout": -1}
    change = {"node_id": side.node(1), "resource_option": whole}
    await side.ask(BOSS, "updateNodeResource", node_resource_map=[change])
    numbers = {}
    # Two of them have no room on one node, and the third has no room at all.
    for user, queue in ((OWNER, "default"), (NEIGHBOUR, "research"), (STRANGER, "default")):
        masters = [ask(capability=size(MEMORY_MB * 3 // 4))]
        numbers[user] = await submitted(
            side, f"{user}'s sleeper", user, queue=queue, am_container_resource_request=masters
        )
        await in_state(side, numbers[user], "ACCEPTED")
    await side.until(
        lambda answer: sum(one.numContainers for one in answer.nodeReports) == NODES,
        BOSS,
        "getClusterNodes",
    )
    await asyncio.sleep(SETTLED_S)
    await documents(side, "several users", numbers)
    await _exclude(side, GRACEFUL, EXCLUDED, "localhost")
    await asyncio.sleep(SETTLED_S)
    for user in (STRANGER, BOSS):
        name = f"draining: nodes on their way out as {user}"
        await side.record(name, user, "checkForDecommissioningNodes")
    await nodes(side, "draining")
    await documents(side, "draining", numbers)
    await _exclude(side, NORMAL, EXCLUDED)
    await nodes(side, "drained no more")
    for number in numbers.values():
        await killed(side, number_of(side, number))


async def nodes(side: Side, when: str) -> None:
    """What is told of the nodes, in each of their states."""
    await side.record(f"{when}: getClusterMetrics", STRANGER, "getClusterMetrics")
    for states in ([], *([state] for state in STATES)):
        name = f"{when}: getClusterNodes {'+'.join(states) or 'all'}"
        await side.record(name, STRANGER, "getClusterNodes", nodeStates=states)


async def documents(side: Side, when: str, numbers: dict[str, int]) -> None:
    """What the web services tell of nodes and of applications, and the beans."""
    queries = ("", "?states=", "?states=all", "?states=lost,Decommissioned", "?states=gone")
    paths = [f"nodes{query}" for query in (*queries, *(f"?states={name[3:]}" for name in STATES))]
    paths += [f"nodes/{host}:1" for host in GONE]
    paths += ["nodes/nowhere:1", "nodes/nowhere", "metrics", "info"]
    for path in paths:
        await side.fetch(f"{when}: GET {path}", STRANGER, f"/ws/v1/cluster/{path}")
    reports = {f"{user}'s": side.application(number) for user, number in numbers.items()}
    reports |= {"an absent one": side.application(999), "one from elsewhere": ELSEWHERE}
    for user in (OWNER, NEIGHBOUR, STRANGER, BOSS):
        for query in ("states=ACCEPTED,RUNNING", f"states=ACCEPTED&user={STRANGER}"):
            await side.fetch(
                f"{when}: GET apps?{query} as {user}", user, f"/ws/v1/cluster/apps?{query}"
            )
        for words, application in reports.items():
            for what in ("", "/appattempts", "/state", "/queue", "/priority", "/timeouts"):
                path = f"/ws/v1/cluster/apps/{application}{what}"
                await side.fetch(f"{when}: GET {words} {what} as {user}", user, path)
    await side.fetch_beans(f"{when}: GET jmx", "/jmx")
