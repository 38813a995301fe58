"""A Ray cluster with a token, GPUs and labels: what Ray says of its nodes is seen and kept to, and
who cannot come in is given the reason.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import httpx
import pytest
from tests.ray_cluster.conftest import Cluster, Server, wait

GPUS = """<configuration>
  <property><name>yarn.resource-types</name><value>yarn.io/gpu</value></property>
"""
HOLDER = """
import sys
import ray

ray.init(sys.argv[1], log_to_driver=False)


@ray.remote(num_cpus=1, num_gpus=1)
class Holder:
    def gpus(self):
        return ray.get_runtime_context().get_accelerator_ids()["GPU"]


holder = Holder.remote()
print(*ray.get(holder.gpus.remote()), flush=True)
sys.stdin.read()
"""
ASKED = """
import sys
import ray
from ray.experimental.internal_kv import _internal_kv_get

ray.init(sys.argv[1], log_to_driver=False, logging_level="ERROR")
print((_internal_kv_get("autoscaler_resource_request") or b"null").decode())
"""


def asked_for(cluster: Cluster) -> object:
    """What Ray's autoscaler is asked for."""
    done = subprocess.run(
        [sys.executable, "-c", ASKED, cluster.address],
        stdout=subprocess.PIPE,
        env=cluster.environment,
        check=True,
    )
    return json.loads(done.stdout or b"null")


def check_growth(server: Server, cluster: Cluster) -> None:
    """While containers wait, room for them is asked for, up to 9 vcores; afterwards no more."""
    size = {"memory-mb": 128, "vcores": 1}
    holds = server.submit(
        queue="root.one", tasks=[{"count": 3, "command": "sleep 100", "resources": size}]
    )
    wait(lambda: len(server.get(f"applications/{holds}")["containers"]) == 3, "they run")
    big = {"count": 9, "command": "true", "resources": {"memory-mb": 256, "vcores": 3}}
    waiting = server.submit(queue="root.two", tasks=[big])
    there = {"CPU": 3, "memory": 1024 * 2**20, "GPU": 2}
    more = {"CPU": 3, "memory": 256 * 2**20}
    wait(lambda: asked_for(cluster) == [there, more, more], "room for two")
    for one in (waiting, holds):
        httpx.post(f"{server.url}/api/v1/applications/{one}/kill", json={}, trust_env=False)
    wait(lambda: asked_for(cluster) == [], "nothing waits")


def token(folder: Path, name: str, content: str) -> dict[str, str]:
    """The variables of a token."""
    file = folder / name
    file.write_text(content)
    file.chmod(0o600)
    return {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(file)}


@pytest.fixture(scope="module")
def cluster():
    with tempfile.TemporaryDirectory(prefix="ray", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        known = token(folder, "token", "a" * 40)
        more = {"num_gpus": 3, "labels": {"tier": "spot"}}
        made = Cluster(folder, 1, cpus=3, more=more, environment=known)
        try:
            yield made
        finally:
            made.stop()


def test_what_others_hold_is_left_to_them_and_taken_when_they_end(cluster, tmp_path):
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, cluster.address],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=cluster.environment,
    ) as holder:
        assert holder.stdout is not None
        other = holder.stdout.readline().strip()
        server = Server(tmp_path, cluster)
        site = server.conf / "yarn-site.xml"
        site.write_text(site.read_text().replace("<configuration>", GPUS))
        toml = server.conf / "fairshare.toml"
        toml.write_text(f'{toml.read_text()}partition_label = "tier"\nautoscale_vcores = 9\n')
        try:
            server.start()
            wait(lambda: server.nodes(), "the node")
            (node,) = server.get("nodes")["nodes"]
            assert node["total"]["yarn.io/gpu"] == 2
            assert (node["attributes"]["tier"], node["attributes"]["partition"]) == ("spot", "spot")
            notes = tmp_path / "notes"
            notes.mkdir()
            mine = f"echo $CUDA_VISIBLE_DEVICES > {notes}/$FAIRSHARE_TASK_INDEX"
            both = f'{mine}; until [ "$(ls {notes} | wc -l)" = 2 ]; do sleep 0.05; done'
            size = {"memory-mb": 128, "vcores": 1, "yarn.io/gpu": 1}
            server.submit(
                queue="root.one", tasks=[{"count": 2, "command": both, "resources": size}]
            )
            wait(lambda: len([one for one in notes.iterdir() if one.read_text()]) == 2, "both")
            seen = {file.read_text().strip() for file in notes.iterdir()}
            assert seen | {other} == {"0", "1", "2"}
            assert len(seen) == 2
            assert node["total"]["vcores"] == 2
            assert holder.stdin is not None
            holder.stdin.close()  # the other program ends, and frees its CPU
            wait(lambda: server.get("nodes")["nodes"][0]["total"]["vcores"] == 3, "its CPU")
            check_growth(server, cluster)
            server.kill()
            server.start()
            wait(lambda: server.nodes(), "the node again")
            assert server.get("nodes")["nodes"][0]["total"]["vcores"] == 3
        finally:
            server.stop()


def test_a_server_with_a_wrong_token_is_refused_in_one_sentence(cluster, tmp_path, monkeypatch):
    monkeypatch.setattr(
        cluster,
        "environment",
        cluster.environment | token(tmp_path, "wrong", "b" * 40),
    )
    server = Server(tmp_path, cluster)
    server.start()
    try:
        log = server.state / "ray-driver.log"
        words = f"the Ray cluster at {cluster.address} refuses the server's token: give the server"
        ready = f"{server.url}/readyz"
        wait(lambda: words in httpx.get(ready, trust_env=False).text, "the reason")
        assert "InvalidAuthToken" in log.read_text()
    finally:
        server.stop()
