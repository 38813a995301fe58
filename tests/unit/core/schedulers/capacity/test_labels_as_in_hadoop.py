"""The answers of a real ResourceManager with node labels, compared with this server's values."""

import json
from pathlib import Path
from typing import Any

import pytest

from fairshare.lab.scenarios.document import read_scenario
from fairshare.lab.scenarios.runner import Runner

SAMPLES = Path(__file__).parents[5].parent / "shared" / "rest-samples" / "capacity" / "labels"
if not SAMPLES.is_dir():
    pytest.skip(f"the recorded answers are not there: {SAMPLES}", allow_module_level=True)

LABELS = {
    "labels": {
        "add": {"x": "exclusive", "y": "shared"},
        "nodes": {"n1": "x", "n2": "x", "n3": "y"},
    }
}


def shown(*steps: dict[str, Any]) -> dict[str, Any]:
    """The queues after the sample's own scenario and further steps."""
    file = SAMPLES / "scenario.yaml"
    scenario = read_scenario(file.read_text(), str(file))
    runner = Runner(scenario, verify=True)
    head = {"scenario": 1, "name": "more", "source": "own", "scheduler": "capacity"}
    node = {"name": "n", "resources": {"memory-mb": 1, "vcores": 1}}
    more = read_scenario(json.dumps({**head, "nodes": [node], "steps": steps}), "more.yaml")
    for step in (*scenario.steps, *more.steps):
        assert runner.step(step).error is None
    queues: dict[str, Any] = runner.describe()["queues"]
    return queues


def reported(sample: str) -> dict[tuple[str, str], dict[str, Any]]:
    """The answer's values of each queue and partition."""
    answer = json.loads((SAMPLES / sample).read_text())["response"]["body"]
    found: dict[tuple[str, str], dict[str, Any]] = {}

    def visit(queue: dict[str, Any]) -> None:
        path = queue.get("queuePath", "root")
        usages = (queue.get("resources") or {}).get("resourceUsagesByPartition", [])
        used = {usage["partitionName"]: usage for usage in usages}
        for part in queue["capacities"]["queueCapacitiesByPartition"]:
            label = part["partitionName"]
            found[path, label] = {**part, **used.get(label, {})}
        for child in (queue.get("queues") or {}).get("queue", []):
            visit(child)

    visit(json.loads(answer)["scheduler"]["schedulerInfo"])
    return found


@pytest.mark.parametrize(
    ("sample", "steps"),
    [
        ("005-scheduler.json", []),
        ("054-scheduler-with-labels.json", [LABELS, {"heartbeat": "all"}]),
    ],
)
def test_each_queue_has_hadoops_values_on_each_partition(sample, steps):
    queues = shown(*steps)
    differences = []
    compared = 0
    for (path, label), part in reported(sample).items():
        seen = queues[path]["partitions"][label]
        pairs = [
            (seen["absolute_capacity"], part["absoluteCapacity"]),
            (seen["absolute_max_capacity"], part["absoluteMaxCapacity"]),
            (seen["used_capacity"], part["usedCapacity"]),
            (seen["absolute_used_capacity"], part["absoluteUsedCapacity"]),
            (seen["effective_min"]["memory-mb"], part["effectiveMinResource"]["memory"]),
            (seen["effective_max"]["memory-mb"], part["effectiveMaxResource"]["memory"]),
            (seen["effective_min"]["vcores"], part["effectiveMinResource"]["vCores"]),
        ]
        names = {"used": "used", "pending": "pending", "am_used": "amUsed", "am_limit": "amLimit"}
        for ours, theirs in names.items():
            if theirs in part:
                pairs.append((seen[ours]["memory-mb"], part[theirs]["memory"]))
                pairs.append((seen[ours]["vcores"], part[theirs]["vCores"]))
        compared += len(pairs)
        differences += [
            (path, label, ours, theirs)
            for ours, theirs in pairs
            if ours != pytest.approx(theirs, abs=1e-4)
        ]
    assert differences == []
    assert compared > 60
