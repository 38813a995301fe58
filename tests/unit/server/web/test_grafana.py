"""examples/monitoring/grafana.json against the metrics of a server: what it asks for is there."""

import json
import re
from pathlib import Path

import msgspec
import pytest
from prometheus_client.parser import text_string_to_metric_families
from tests.manual_engine import ManualEngine
from tests.unit.server.web.conftest import served
from tests.unit.server.web.test_gpus import BUSY, GPU, TYPES, one_on_a_gpu

from fairshare.core.schedulers.fair.settings import AllocationSettings, FairSettings, QueueSettings
from fairshare.engines.protocol import NodeOffer

pytestmark = pytest.mark.anyio

BOARD = json.loads(
    (Path(__file__).parents[4] / "examples" / "monitoring" / "grafana.json").read_text()
)
SELECTOR = re.compile(r"(fairshare_\w+)(?:\{([^}]*)\})?")
LABELS = re.compile(r"\b(?:by|on|group_left) \(([^)]*)\)")
MATCHER = re.compile(r'(\w+)(!?=)"([^"]*)"')


def targets():
    return [
        (panel["title"], target["expr"], target["legendFormat"])
        for panel in BOARD["panels"]
        for target in panel["targets"]
    ]


@pytest.fixture
async def samples(server_settings, tmp_path, anyio_backend):
    """The labels of all samples by metric, of a server on which all that the board shows occurs."""
    fair = FairSettings(
        types=TYPES,
        minimum_allocation=(128, 1, 0),
        maximum_allocation=(8192, 4, 8),
        increment_allocation=(128, 1, 0),
        allocations=AllocationSettings(
            queues={name: QueueSettings(name) for name in ("root.a", "root.b")}, from_file=True
        ),
    )
    offer = NodeOffer("n1", "/r1", {"memory-mb": 4096, "vcores": 4, GPU: 2}, {"gpus": "0,1"})
    engine = ManualEngine(tmp_path / "containers", offer)
    engine.uses = (BUSY,)
    settings = msgspec.structs.replace(
        server_settings, types=TYPES, scheduler_settings=msgspec.json.encode(fair)
    )
    async with served(settings, engine) as page:
        container = await one_on_a_gpu(page)
        await page.submit(queue="a", user="ann", tasks=[{"command": "x", "count": 9}])
        await page.submit(queue="b", user="bob", tasks=[{"command": "x", "count": 9}])
        (_, second, *_) = await page.launched(4)
        page.engine.end(second, 0)
        history = page.server.projections.history
        await page.until(lambda: history.container(second).exit_code is not None)
        assert history.container(container).gpus == ("0",)
        text = (await page.get("http://127.0.0.1:1/metrics")).text
    found = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            found.setdefault(sample.name, []).append(sample.labels)
    return found


async def test_every_expression_finds_samples_and_every_label_is_one_of_theirs(samples):
    assert len(targets()) > 12
    wrong = []
    for title, expression, legend in targets():
        labels = set()
        for name, matchers in SELECTOR.findall(expression):
            wanted = MATCHER.findall(matchers.replace("$resource", "memory-mb"))
            fitting = [
                one
                for one in samples.get(name, ())
                if all((one.get(key) == value) == (sign == "=") for key, sign, value in wanted)
            ]
            if not fitting:
                wrong.append(f"{title}: nothing has {name}{{{matchers}}}")
            labels |= {label for one in fitting for label in one}
        named = {one.strip() for group in LABELS.findall(expression) for one in group.split(",")}
        named |= set(re.findall(r"{{(\w+)}}", legend))
        if named - labels:
            wrong.append(f"{title}: no sample has {named - labels}")
    assert wrong == []


async def test_a_legend_names_only_labels_that_its_expression_keeps():
    for title, expression, legend in targets():
        kept = re.findall(r"\bby \(([^)]*)\)", expression)
        if kept:
            names = {one.strip() for one in kept[0].split(",")}
            assert set(re.findall(r"{{(\w+)}}", legend)) <= names, title


async def test_the_choice_of_resources_asks_for_a_label_that_is_there(samples):
    (query,) = [one["definition"] for one in BOARD["templating"]["list"] if "definition" in one]
    metric, label = re.fullmatch(r"label_values\((\w+), (\w+)\)", query).groups()
    assert {one[label] for one in samples[metric]} == {"memory-mb", "vcores", GPU}
