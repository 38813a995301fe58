"""What yarn-site.xml says of nodes, and fairshare.toml of what they offer."""

from pathlib import Path

import pytest

from fairshare.errors import ConfigurationError
from fairshare.server.settings import Overrides, read_settings
from fairshare.settings.configuration import Configuration
from fairshare.settings.directory import read_directory
from fairshare.settings.nodes import NodeManagerSettings

FAIR = "org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.FairScheduler"


def read(directory: Path, toml: str = "", **properties: object) -> Configuration:
    properties = {"yarn.resourcemanager.scheduler.class": FAIR, **properties}
    rows = "".join(
        f"<property><name>{name}</name><value>{value}</value></property>"
        for name, value in properties.items()
    )
    (directory / "yarn-site.xml").write_text(f"<configuration>{rows}</configuration>")
    (directory / "fairshare.toml").write_text(toml)
    return read_directory(directory)


def test_nodes_are_as_strict_as_hadoops_by_default_and_leave_more_time_to_end(tmp_path):
    assert read(tmp_path).node_manager == NodeManagerSettings(True, False, 10_000)


def test_the_properties_of_the_node_manager_are_read(tmp_path):
    found = read(
        tmp_path,
        **{
            "yarn.nodemanager.pmem-check-enabled": "false",
            "yarn.nodemanager.linux-container-executor.cgroups.strict-resource-usage": "true",
            "yarn.nodemanager.sleep-delay-before-sigkill.ms": 1_500,
            "yarn.nodemanager.resource.pcores-vcores-multiplier": 10,
        },
    ).node_manager
    assert found == NodeManagerSettings(
        memory_check=False, strict_cpu=True, grace_ms=1_500, vcores_per_core=10.0
    )


MEMORY, VCORES = (f"yarn.nodemanager.resource.{name}" for name in ("memory-mb", "cpu-vcores"))
DETECTS = "yarn.nodemanager.resource.detect-hardware-capabilities"


def test_the_sizes_of_a_node_are_those_of_its_properties(tmp_path):
    found = read(tmp_path, **{MEMORY: 4096, VCORES: 3}).node_manager
    assert (found.memory_mb, found.vcores) == (4096, 3)
    settings = read_settings(tmp_path, Overrides(nodes=2))
    assert (settings.memory_mb, settings.vcores) == (4096, 3)
    overridden = read_settings(tmp_path, Overrides(memory_mb=512, vcores=1))
    assert (overridden.memory_mb, overridden.vcores) == (512, 1)


@pytest.mark.parametrize("detects", ["true", "false"])
def test_a_machine_without_sizes_is_measured(tmp_path, detects):
    found = read(tmp_path, **{MEMORY: -1, VCORES: -1, DETECTS: detects})
    assert (found.node_manager.memory_mb, found.node_manager.vcores) == (None, None)
    warned = [one.message for one in found.problems if DETECTS in one.message]
    assert len(warned) == (2 if detects == "false" else 0)


def test_a_node_needs_memory_and_vcores(tmp_path):
    for name, size in ((MEMORY, 0), (VCORES, -2)):
        with pytest.raises(ConfigurationError, match=f"{name}: a node cannot have {size}"):
            read(tmp_path, **{name: size})


def test_fairshare_toml_overrides_the_properties_and_says_so(tmp_path):
    toml = "[engine]\nmemory_mb = 2048\nvcores = 3\n"
    found = read(tmp_path, toml, **{MEMORY: 4096, VCORES: 3})
    (warning,) = [one for one in found.problems if one.rule == "overridden"]
    assert warning.message == (
        f"{MEMORY} is 4096, and memory_mb in [engine] of fairshare.toml is 2048: the latter applies"
    )
    settings = read_settings(tmp_path, Overrides())
    assert (settings.memory_mb, settings.vcores) == (2048, 3)


def test_sizes_of_nodemanagers_are_compared_with_nothing_of_this_machine(tmp_path):
    read(tmp_path, "[engine]\nkind = 'nodemanagers'\n", **{MEMORY: 2**30})
    rules = {one.rule for one in read_settings(tmp_path, Overrides()).warnings}
    assert "more-memory-than-the-machine" not in rules


def test_a_node_of_more_memory_than_the_machine_is_warned_of_at_its_property(tmp_path):
    read(tmp_path, **{MEMORY: 2**30})
    warnings = read_settings(tmp_path, Overrides()).warnings
    (warning,) = [one for one in warnings if one.rule == "more-memory-than-the-machine"]
    assert warning.file.endswith("yarn-site.xml")


def test_a_processor_must_be_worth_something(tmp_path):
    name = "yarn.nodemanager.resource.pcores-vcores-multiplier"
    with pytest.raises(ConfigurationError, match=f"{name}: 0 must be greater than 0"):
        read(tmp_path, **{name: 0})


def test_a_node_offers_the_types_that_the_configuration_has(tmp_path):
    toml = '[engine]\nnodes = 2\n[engine.resources]\n"yarn.io/gpu" = 2\nfpga = 1\n'
    found = read(tmp_path, toml, **{"yarn.resource-types": "yarn.io/gpu,fpga"})
    assert found.shell.engine.resources == {"yarn.io/gpu": 2, "fpga": 1}


def test_the_amounts_may_be_written_in_one_line(tmp_path):
    toml = '[engine]\nresources = {"yarn.io/gpu" = 2}\n'
    found = read(tmp_path, toml, **{"yarn.resource-types": "yarn.io/gpu"})
    assert found.shell.engine.resources == {"yarn.io/gpu": 2}


@pytest.mark.parametrize(
    ("toml", "line", "words"),
    [
        ('[engine.resources]\n\n"yarn.io/tpu" = 2', 3, "no resource type 'yarn.io/tpu'"),
        ('[engine]\nresources = {"tpu" = 2}', 2, "yarn.resource-types names yarn.io/gpu"),
        ('[engine.resources]\n"yarn.io/gpu" = "two"', 2, "must be a whole number"),
        ('[engine.resources]\n"yarn.io/gpu" = -1', 2, "must be at least 0"),
        ("[engine.resources]\na.b = 2", 2, "in quotation marks"),
        ("[engine.resources]\nmemory-mb = 2", 2, "belongs to [engine]"),
        ("[engine]\nresources = 3", 2, "resources must be a mapping (name: value), found '3'"),
    ],
)
def test_what_a_node_cannot_offer_is_reported_at_its_line(tmp_path, toml, line, words):
    with pytest.raises(ConfigurationError) as caught:
        read(tmp_path, toml, **{"yarn.resource-types": "yarn.io/gpu"})
    (problem,) = [one for one in caught.value.problems if one.severity == "error"]
    assert (Path(problem.file).name, problem.line) == ("fairshare.toml", line)
    assert words in problem.message
