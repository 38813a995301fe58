"""GPUs of nodes in answers and metrics: who has them, and how much they are used."""

import msgspec
import pytest
from tests.manual_engine import ManualEngine
from tests.unit.server.web.conftest import served

from fairshare.core.model.identifiers import container_name
from fairshare.core.model.resources import ResourceTypes
from fairshare.core.schedulers.fair.settings import FairSettings
from fairshare.engines.protocol import GpuUse, NodeOffer


@pytest.fixture(autouse=True)
def often(monkeypatch):
    """GPUs are looked at all the time."""
    monkeypatch.setattr("fairshare.server.gpus.WATCH_S", 0.02)


pytestmark = pytest.mark.anyio

GPU = "yarn.io/gpu"
TYPES = ResourceTypes(("memory-mb", "vcores", GPU), ("Mi", "", ""))
BUSY = GpuUse("n1", "0", "NVIDIA A100", 81920, 61440, 97)


@pytest.fixture
async def gpu_page(server_settings, tmp_path, anyio_backend):
    fair = FairSettings(
        types=TYPES,
        minimum_allocation=(128, 1, 0),
        maximum_allocation=(8192, 4, 8),
        increment_allocation=(128, 1, 0),
    )
    resources = {"memory-mb": 4096, "vcores": 4, GPU: 2}
    engine = ManualEngine(
        tmp_path / "containers",
        NodeOffer("n1", "/r1", resources, {"gpus": "0,1"}),
        NodeOffer("n2", "/r1", {**resources, GPU: 0}, {}),
    )
    engine.uses = (BUSY, GpuUse("n1", "1"))
    settings = msgspec.structs.replace(
        server_settings, types=TYPES, scheduler_settings=msgspec.json.encode(fair)
    )
    async with served(settings, engine) as page:
        yield page


async def one_on_a_gpu(page):
    resources = {"memory-mb": 512, GPU: 1}
    await page.submit(queue="a", tasks=[{"command": "x", "resources": resources}])
    (container,) = await page.launched()
    history = page.server.projections.history
    await page.until(lambda: history.container(container).gpus)
    return container


async def gpus_of_nodes(page):
    nodes = (await page.get("/nodes")).json()["nodes"]
    return {node["name"]: node["gpus"] for node in nodes}


async def test_nodes_list_the_use_and_the_container_of_each_gpu(gpu_page):
    container = await one_on_a_gpu(gpu_page)
    name = container_name(gpu_page.server.epoch_ms, container)
    first = {
        "name": "0",
        "model": "NVIDIA A100",
        "memory_mb": 81920,
        "used_mb": 61440,
        "utilization_percent": 97,
        "container": name,
        "elsewhere": False,
        "idle_ms": None,
    }
    unknown = {"model": "", "memory_mb": 0, "used_mb": None, "utilization_percent": None}
    both = [first, {**first, "name": "1", **unknown, "container": None}]
    assert await gpus_of_nodes(gpu_page) == {"n1": both, "n2": []}
    one = (await gpu_page.get("/nodes/n1")).json()
    assert one["gpus"] == both
    assert [running["gpus"] for running in one["running"]] == [["0"]]


async def test_a_new_sample_and_the_end_of_a_container_are_seen_at_once(gpu_page):
    container = await one_on_a_gpu(gpu_page)
    await gpus_of_nodes(gpu_page)
    gpu_page.engine.uses = (msgspec.structs.replace(BUSY, utilization_percent=3),)
    (first,) = (await gpus_of_nodes(gpu_page))["n1"]
    assert first["utilization_percent"] == 3
    gpu_page.engine.end(container)
    await gpu_page.until(lambda: gpu_page.server.service.is_over(container))
    (first,) = (await gpus_of_nodes(gpu_page))["n1"]
    assert first["container"] is None


async def test_a_container_keeps_its_gpus_in_its_report_when_it_has_ended(gpu_page):
    container = await one_on_a_gpu(gpu_page)
    gpu_page.engine.end(container)
    await gpu_page.until(lambda: gpu_page.server.service.is_over(container))
    (one,) = (await gpu_page.get("/applications/1/containers")).json()["containers"]
    assert (one["state"], one["gpus"]) == ("COMPLETE", ["0"])


async def test_an_engine_that_measures_nothing_still_names_the_gpus(gpu_page):
    gpu_page.engine.uses = ()
    names = [gpu["name"] for gpu in (await gpus_of_nodes(gpu_page))["n1"]]
    assert names == ["0", "1"]


async def test_metrics_have_what_was_measured_and_nothing_else(gpu_page):
    text = (await gpu_page.get("http://127.0.0.1:1/metrics")).text
    lines = [line.split() for line in text.splitlines() if line.startswith("fairshare_gpu_")]
    place = '{gpu="0",node="n1"}'
    assert {name: float(value) for name, value in lines} == {
        f"fairshare_gpu_memory_bytes{place}": 81920 * 2**20,
        f"fairshare_gpu_memory_used_bytes{place}": 61440 * 2**20,
        f"fairshare_gpu_utilization_ratio{place}": 0.97,
        f"fairshare_gpu_used_elsewhere{place}": 0,
    }


async def test_a_gpu_that_others_use_is_taken_out_of_the_total_and_put_back(gpu_page):
    state = gpu_page.server.service.state
    gpu_page.engine.uses = (msgspec.structs.replace(BUSY, elsewhere=True), GpuUse("n1", "1"))
    await gpu_page.until(lambda: state.nodes["n1"].total == (4096, 4, 1))
    first, second = (await gpus_of_nodes(gpu_page))["n1"]
    assert (first["elsewhere"], second["elsewhere"]) == (True, False)
    gpu_page.engine.uses = (BUSY, GpuUse("n1", "1"))
    await gpu_page.until(lambda: state.nodes["n1"].total == (4096, 4, 2))
    assert state.nodes["n2"].total == (4096, 4, 0)


async def test_more_gpus_than_a_node_has_are_refused_with_the_number_of_them(gpu_page):
    task = {"command": "x", "resources": {"memory-mb": 512, GPU: 3}}
    answer = await gpu_page.post("/applications", json={"queue": "a", "tasks": [task]})
    assert answer.json()["code"] == "cannot-run"
    words = f"a task wants 3 GPUs ({GPU}), and this machine has 2 GPUs on one node"
    assert answer.json()["message"].startswith(words)


async def test_a_container_that_does_not_use_its_gpus_says_for_how_long(gpu_page):
    await one_on_a_gpu(gpu_page)
    idle = msgspec.structs.replace(BUSY, utilization_percent=0, idle_s=7200.0)
    gpu_page.engine.uses = (idle, GpuUse("n1", "1"))
    (one,) = (await gpu_page.get("/applications/1")).json()["containers"]
    assert one["gpus_idle_ms"] == 7_200_000
    (listed,) = (await gpu_page.get("/applications/1/containers")).json()["containers"]
    assert listed["gpus_idle_ms"] == 7_200_000
    text = (await gpu_page.get("http://127.0.0.1:1/metrics")).text
    assert 'fairshare_gpu_idle_seconds{gpu="0",node="n1"} 7200.0' in text


async def test_the_short_name_of_a_resource_type_is_refused_with_the_whole_one(gpu_page):
    body = {"queue": "a", "tasks": [{"name": "g", "command": "x", "resources": {"gpu": 1}}]}
    answer = await gpu_page.post("/applications", json=body)
    assert answer.status_code == 400
    assert answer.json()["message"].endswith(f": did you mean {GPU}?")


async def test_why_names_the_users_that_have_the_gpus(gpu_page):
    size = {"resources": {"memory-mb": 128, GPU: 1}}
    await gpu_page.submit(queue="a", user="ann", name="train", tasks=[{"command": "x", **size}])
    await gpu_page.submit(queue="a", user="bob", name="tune", tasks=[{"command": "x", **size}])
    await gpu_page.launched(2)
    await gpu_page.submit(queue="b", user="cho", tasks=[{"command": "x", **size}])
    (reason,) = (await gpu_page.get("/applications/3/reasons")).json()["reasons"]
    assert "n1 comes nearest with" in reason["sentence"]
    assert "Of the 2 yarn.io/gpu there ann has 1 (train" in reason["sentence"]
    assert "bob has 1 (tune" in reason["sentence"]
