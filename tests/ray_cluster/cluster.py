"""A Ray cluster of several nodes on this machine, on loopback only, in a process of its own:

    python -m tests.ray_cluster.cluster NODES [CPUS] [MEMORY_MB] [MORE]

MORE is what each node has besides, in JSON, by Ray's names. It prints its address, the process
identifiers of its raylets, and ends with its standard input.
Commands on the standard input, one in each line: `add` a node, `kill N`, `freeze N` and `thaw N`
the raylet of the node N, from 0; the head is node 0. `stop-gcs` kills the head's control service,
`start-gcs` starts it again with its storage.
"""

import json
import os
import signal
import sys
from typing import Any


def main(count: int, cpus: int, memory_mb: int, more: dict[str, Any]) -> None:
    """Start the nodes, and carry out commands."""
    from ray.cluster_utils import Cluster

    size = {
        "num_cpus": cpus,
        "memory": memory_mb * 2**20,
        "object_store_memory": 80 * 2**20,
        "include_dashboard": False,
        **more,
    }
    cluster = Cluster(initialize_head=True, head_node_args=size)
    nodes, address = [cluster.head_node], cluster.address
    nodes += [cluster.add_node(**size) for _ in range(count - 1)]
    cluster.wait_for_nodes()
    try:
        tell(address, nodes)
        for line in sys.stdin:
            word, _, number = line.strip().partition(" ")
            if word == "add":
                nodes.append(cluster.add_node(**size))
                cluster.wait_for_nodes()
            elif word == "stop-gcs":
                cluster.head_node.kill_gcs_server()
            elif word == "start-gcs":
                cluster.head_node.start_gcs_server()
            else:
                raylet = nodes[int(number)].all_processes["raylet"][0].process
                named = {"kill": signal.SIGKILL, "freeze": signal.SIGSTOP, "thaw": signal.SIGCONT}
                os.kill(raylet.pid, named[word])
            tell(address, nodes)
    finally:
        cluster.shutdown()


def tell(address: str, nodes: list[Any]) -> None:
    """Print what is there."""
    raylets = [node.all_processes["raylet"][0].process.pid for node in nodes]
    print(json.dumps({"address": address, "raylets": raylets}), flush=True)


if __name__ == "__main__":
    given = dict(enumerate(sys.argv))
    main(
        int(given[1]), int(given.get(2, 2)), int(given.get(3, 1024)), json.loads(given.get(4, "{}"))
    )
