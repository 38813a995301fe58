"""`--cluster-from` asks a ResourceManager over HTTP: ours, and what Hadoop's has answered."""

import http.server
import json
import threading
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.browser.cluster import running
from tests.browser.conftest import fair_configuration

from fairshare.cli.verbs import Failure
from fairshare.core.model.resources import ResourceTypes
from fairshare.lab.verbs.cluster_source import NODES, read_cluster_from

SAMPLES = Path(__file__).parents[4] / "shared" / "rest-samples"
TYPES = ResourceTypes()
GPU = "yarn.io/gpu"
WITH_GPUS = ResourceTypes((*TYPES.names, GPU), ("Mi", "", ""))


@contextmanager
def resource_manager(status: int, body: str):
    """An address that has this answer for the list of nodes, and no other."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = self.path == NODES and self.headers["Accept"] == "application/json"
            self.send_response(status if found else 404)
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *_: object) -> None:
            """Nothing is logged."""

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def test_the_nodes_of_a_live_server_are_taken_over_its_yarn_interface(tmp_path):
    offer = {"memory-mb": 8192, "vcores": 8}
    conf, state = fair_configuration(tmp_path / "conf"), tmp_path / "state"
    with running(conf, state, nodes=3, offer=offer, racks=2) as cluster:
        cluster.submit("root.etl", 2)  # what is in use counts, too
        cluster.until(lambda: cluster.engine.live)
        for address in (cluster.url, f"{cluster.url}/", f"{cluster.url}{NODES}"):
            nodes = read_cluster_from(address, TYPES)
            assert [(one.node, one.total, one.rack) for one in nodes] == [
                ("node-0000", (8192, 8), "/rack-00"),
                ("node-0001", (8192, 8), "/rack-01"),
                ("node-0002", (8192, 8), "/rack-00"),
            ]


@pytest.mark.skipif(not SAMPLES.is_dir(), reason=f"the shared samples are not there: {SAMPLES}")
@pytest.mark.parametrize("scheduler", ["fair", "capacity", "fifo"])
def test_what_a_resource_manager_of_hadoop_has_answered_is_read(scheduler):
    read = 0
    for sample in sorted(SAMPLES.glob(f"{scheduler}/*/*-nodes.json")):
        recorded = json.loads(sample.read_text())
        if recorded["request"]["method"] != "GET" or recorded["response"]["status"] != 200:
            continue
        body = recorded["response"]["body"]
        listed = json.loads(body)["nodes"]["node"]
        with resource_manager(200, body) as address:
            found = {one.node: one for one in read_cluster_from(address, WITH_GPUS)}
        serving = {one["nodeHostName"]: one for one in listed if one["state"] == "RUNNING"}
        assert set(found) == set(serving)
        for name, one in serving.items():
            memory_mb = one["usedMemoryMB"] + one["availMemoryMB"]
            vcores = one["usedVirtualCores"] + one["availableVirtualCores"]
            assert found[name].total[:2] == (memory_mb, vcores)
            assert found[name].rack == one["rack"]
            assert bool(found[name].total[2]) == (name.startswith("g") and scheduler == "capacity")
        read += 1
    assert read


@pytest.mark.parametrize(
    ("status", "body", "words"),
    [
        (404, "", "cannot read http"),
        (401, "", "cannot read http"),
        (200, '{"nodes": null}', "there is no node in service"),
        (200, '{"apps": {}}', "this is not YARN's list of nodes"),
        (200, "<html>", "there is no node in service"),
    ],
)
def test_an_answer_that_is_not_a_list_of_nodes_is_refused(status, body, words):
    with resource_manager(status, body) as address, pytest.raises(Failure, match=words):
        read_cluster_from(address, TYPES)


def test_an_address_at_which_nothing_listens_is_refused():
    with resource_manager(200, "") as address:
        pass
    with pytest.raises(Failure, match="cannot read http"):
        read_cluster_from(address, TYPES)
