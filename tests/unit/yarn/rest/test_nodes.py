"""Nodes are shown in YARN's words, those that are gone too."""

import pytest

from fairshare.core.model.inputs import DecommissionNode, NodeJoined, NodeLost

pytestmark = pytest.mark.anyio


async def states(yarn) -> dict[str, str]:
    found = (await yarn.get("/nodes")).json()["nodes"]["node"]
    return {node["nodeHostName"]: node["state"] for node in found}


async def test_a_node_that_is_gone_says_why(yarn):
    ask = yarn.server.live.service.ask
    for name in ("n2", "n3", "n4"):
        await ask(NodeJoined(name, (1024, 1)))
    await ask(NodeLost("n2"))
    await ask(NodeLost("n3", "SHUTDOWN"))
    await ask(NodeLost("n4", "UNHEALTHY", "a disk is full"))
    assert await states(yarn) == {
        "n1": "RUNNING",
        "n2": "LOST",
        "n3": "SHUTDOWN",
        "n4": "UNHEALTHY",
    }
    metrics = (await yarn.get("/metrics")).json()["clusterMetrics"]
    counts = ("activeNodes", "lostNodes", "shutdownNodes", "unhealthyNodes", "totalNodes")
    assert [metrics[name] for name in counts] == [1, 1, 1, 1, 4]
    node = (await yarn.get("/nodes/n4:45454")).json()["node"]
    assert (node["healthReport"], node["nodeHostName"]) == ("a disk is full", "n4")
    await ask(NodeJoined("n2", (1024, 1)))
    assert (await states(yarn))["n2"] == "RUNNING"


async def test_a_node_that_is_taken_out_is_decommissioning(yarn):
    await yarn.submit()
    await yarn.beat()
    await yarn.server.live.service.ask(DecommissionNode("n1", 600_000))
    assert await states(yarn) == {"n1": "DECOMMISSIONING"}
    metrics = (await yarn.get("/metrics")).json()["clusterMetrics"]
    assert (metrics["activeNodes"], metrics["decommissioningNodes"]) == (0, 1)


@pytest.mark.parametrize(
    ("query", "found"),
    [("", ["n1"]), ("?states=RUNNING", ["n1"]), ("?states=NEW,RUNNING", ["n1"])],
)
async def test_nodes_are_shown_by_their_states(yarn, query, found):
    shown = (await yarn.get(f"/nodes{query}")).json()["nodes"]["node"]
    assert [node["nodeHostName"] for node in shown] == found
    assert (await yarn.get("/nodes?states=SHUTDOWN")).json() == {"nodes": {}}
