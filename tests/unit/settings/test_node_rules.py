"""What fairshare.toml says of nodes is judged beside the scheduler's properties."""

from pathlib import Path

import pytest
from tests.unit.settings.test_linting import FAIR, SCHEDULER, found, write

GPU = "example.com/gpu"
NODE = "[engine]\nnodes = 1\nmemory_mb = 8192\nvcores = 8\n"
RULES = {"type-without-nodes", "minimum-above-half-a-node", "one-node-reserved"}


def rules(path: Path, toml: str | None, **properties: str) -> list[str]:
    names = {name.replace("_", "-"): value for name, value in properties.items()}
    text = "\n".join(
        f"<property><name>yarn.{name}</name><value>{value}</value></property>"
        for name, value in names.items()
    )
    write(path, "<queue name='a'/>", f"{FAIR}\n{text}")
    if toml is not None:
        (path / "fairshare.toml").write_text(toml)
    return [rule for _, _, rule in found(path) if rule in RULES]


def test_a_declared_type_that_no_node_has_is_a_trap(tmp_path: Path) -> None:
    assert rules(tmp_path, NODE, resource_types=GPU) == ["type-without-nodes"]
    with_gpus = f'{NODE}[engine.resources]\n"{GPU}" = 2\n'
    assert rules(tmp_path, with_gpus, resource_types=GPU) == []


def test_gpus_that_are_assigned_are_those_of_the_machine(tmp_path: Path) -> None:
    assert rules(tmp_path, NODE + 'gpus = "auto"\n', resource_types="yarn.io/gpu") == []
    assert rules(tmp_path, NODE, resource_types="yarn.io/gpu") == ["type-without-nodes"]


@pytest.mark.parametrize(
    ("least", "traps"),
    [("4096", []), ("5120", ["minimum-above-half-a-node"]), ("8192", [])],
)
def test_a_smallest_container_of_more_than_half_a_node_is_a_trap_unless_it_fills_the_node(
    tmp_path: Path, least: str, traps: list[str]
) -> None:
    path = {"scheduler.minimum-allocation-mb": least}
    assert rules(tmp_path, NODE, **path) == traps


def test_the_capacity_scheduler_is_judged_by_the_same_rule(tmp_path: Path) -> None:
    properties = SCHEDULER.format("capacity.CapacityScheduler") + (
        "<property><name>yarn.scheduler.minimum-allocation-mb</name><value>9000</value></property>"
        "<property><name>yarn.scheduler.maximum-allocation-mb</name><value>18000</value></property>"
    )
    write(tmp_path, properties=properties)
    (tmp_path / "fairshare.toml").write_text(NODE)
    assert "minimum-above-half-a-node" in [rule for _, _, rule in found(tmp_path)]


@pytest.mark.parametrize(
    ("toml", "value", "traps"),
    [
        (NODE, "0.05", ["one-node-reserved"]),
        (NODE, "0", []),
        (NODE + 'reservations = "on"\n', "0.05", []),
        (NODE.replace("nodes = 1", "nodes = 2"), "0.05", []),
        (None, "0.05", []),
    ],
)
def test_reservable_nodes_written_for_a_cluster_of_one_node_are_a_trap(
    tmp_path: Path, toml: str | None, value: str, traps: list[str]
) -> None:
    assert rules(tmp_path, toml, **{"scheduler.fair.reservable-nodes": value}) == traps
