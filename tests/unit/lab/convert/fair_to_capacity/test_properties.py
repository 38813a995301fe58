"""Properties of yarn-site.xml: assignment, locality, sizes, preemption; and what stays as it is."""

from pathlib import Path

import pytest
from tests.unit.lab.convert.fair_to_capacity.converted import converted_directory, finding, written

from fairshare.lab.convert.fair_to_capacity.converting import convert
from fairshare.lab.convert.fair_to_capacity.draft import Options
from fairshare.lab.convert.fair_to_capacity.source import read_source
from fairshare.settings.directory import read_directory
from fairshare.settings.output import write_directory

FAIR = "yarn.scheduler.fair."
SITE = "yarn-site.xml"
MONITOR = "yarn.resourcemanager.scheduler.monitor."
TIMES = "<defaultFairSharePreemptionTimeout>30</defaultFairSharePreemptionTimeout>"
STRICT = (
    "<queuePlacementPolicy><rule name='specified' create='false'/><rule name='reject'/>"
    "</queuePlacementPolicy>"
)
QUEUE = f"<queue name='a'/>{STRICT}"


def test_the_scheduler_is_another_and_nothing_of_the_old_one_is_left(tmp_path: Path) -> None:
    properties = {
        f"{FAIR}preemption": "false",
        f"{FAIR}update-interval-ms": "700",
        "yarn.nodemanager.local-dirs": "/data",
    }
    conversion = converted_directory(tmp_path, QUEUE, properties)
    site = written(conversion, SITE)
    assert site["yarn.resourcemanager.scheduler.class"].endswith(".CapacityScheduler")
    assert site["yarn.nodemanager.local-dirs"] == "/data"
    assert not [name for name in site if name.startswith(FAIR)]
    lost = [one.element for one in conversion.findings if one.outcome == "lost"]
    assert lost == [f"{FAIR}update-interval-ms"]


@pytest.mark.parametrize(
    ("properties", "several", "most"),
    [
        ({}, "false", None),
        ({"assignmultiple": "true", "dynamic.max.assign": "false", "max.assign": "4"}, "true", "4"),
        ({"assignmultiple": "true", "dynamic.max.assign": "false"}, "true", "-1"),
        ({"assignmultiple": "true", "max.assign": "4"}, "true", "-1"),
    ],
)
def test_as_many_containers_are_assigned_at_one_visit(
    tmp_path: Path, properties: dict[str, str], several: str, most: str | None
) -> None:
    named = {FAIR + name: value for name, value in properties.items()}
    capacity = written(converted_directory(tmp_path, QUEUE, named))
    heartbeat = "per-node-heartbeat."
    assert capacity[f"{heartbeat}multiple-assignments-enabled"] == several
    assert capacity.get(f"{heartbeat}maximum-container-assignments") == most
    if most == "4":
        assert capacity[f"{heartbeat}maximum-offswitch-assignments"] == "4"


def test_applications_do_not_wait_for_a_node_without_a_threshold(tmp_path: Path) -> None:
    capacity = written(converted_directory(tmp_path, QUEUE, {}))
    assert (capacity["node-locality-delay"], capacity["rack-locality-additional-delay"]) == (
        "-1",
        "0",
    )


def test_a_threshold_is_a_number_of_visits_of_the_nodes_there_are(tmp_path: Path) -> None:
    thresholds = {f"{FAIR}locality.threshold.node": "0.25", f"{FAIR}locality.threshold.rack": "0.5"}
    capacity = written(converted_directory(tmp_path, QUEUE, thresholds))
    assert (capacity["node-locality-delay"], capacity["rack-locality-additional-delay"]) == (
        "3",
        "5",
    )


def test_an_increment_becomes_the_smallest_container(tmp_path: Path) -> None:
    sizes = {
        "yarn.scheduler.minimum-allocation-mb": "512",
        "yarn.scheduler.increment-allocation-mb": "1024",
    }
    conversion = converted_directory(tmp_path, QUEUE, sizes)
    site = written(conversion, SITE)
    assert site["yarn.scheduler.minimum-allocation-mb"] == "1024"
    assert "yarn.scheduler.increment-allocation-mb" not in site
    assert finding(conversion, "increment").outcome == "kept"
    sizes["yarn.scheduler.increment-allocation-mb"] = "256"
    conversion = converted_directory(tmp_path, QUEUE, sizes)
    assert written(conversion, SITE)["yarn.scheduler.minimum-allocation-mb"] == "256"
    assert finding(conversion, "increment").outcome == "changed"


def test_size_based_weights_are_the_leaves_own(tmp_path: Path) -> None:
    capacity = written(converted_directory(tmp_path, QUEUE, {f"{FAIR}sizebasedweight": "true"}))
    assert capacity["root.a.ordering-policy.fair.enable-size-based-weight"] == "true"


def test_continuous_scheduling_becomes_asynchronous(tmp_path: Path) -> None:
    properties = {
        f"{FAIR}continuous-scheduling-enabled": "true",
        f"{FAIR}continuous-scheduling-sleep-ms": "20",
    }
    capacity = written(converted_directory(tmp_path, QUEUE, properties))
    assert capacity["schedule-asynchronously.enable"] == "true"
    assert capacity["schedule-asynchronously.scheduling-interval-ms"] == "20"


def test_preemption_with_a_time_becomes_the_monitor(tmp_path: Path) -> None:
    properties = {f"{FAIR}preemption": "true", f"{FAIR}waitTimeBeforeKill": "7000"}
    queues = f"<queue name='b'><allowPreemptionFrom>false</allowPreemptionFrom></queue>{TIMES}"
    conversion = converted_directory(tmp_path, QUEUE + queues, properties)
    site = written(conversion, SITE)
    assert site[f"{MONITOR}enable"] == "true"
    assert site[f"{MONITOR}policies"].endswith(".ProportionalCapacityPreemptionPolicy")
    prefix = "yarn.resourcemanager.monitor.capacity.preemption."
    assert site[f"{prefix}max_wait_before_kill"] == "7000"
    assert site[f"{prefix}monitoring_interval"] == "10000"
    assert written(conversion)["root.b.disable_preemption"] == "true"
    assert conversion.settings.monitor.enabled
    assert finding(conversion, "preemption-time").outcome == "lost"


def test_preemption_that_could_never_happen_stays_away(tmp_path: Path) -> None:
    conversion = converted_directory(tmp_path, QUEUE, {f"{FAIR}preemption": "true"})
    assert f"{MONITOR}enable" not in written(conversion, SITE)
    assert finding(conversion, "preemption").outcome == "kept"


def test_empty_queues_made_on_demand_go_again(tmp_path: Path) -> None:
    conversion = converted_directory(tmp_path, "<queue name='a'/>", {})
    assert conversion.settings.monitor.auto_removal
    assert not conversion.settings.monitor.enabled


def test_other_files_come_along_unchanged_and_what_is_final_stays_so(tmp_path: Path) -> None:
    core = (
        "<configuration>\n<!-- ours --><property><name>x</name><value>1</value></property>"
        "</configuration>"
    )
    (tmp_path / "core-site.xml").write_text(core)
    (tmp_path / "fairshare.toml").write_text("[engine]\nmemory_mb = 2048\nvcores = 2\n")
    (tmp_path / "mapred-site.xml").write_text(
        "<configuration><property><name>yarn.scheduler.fair.assignmultiple</name>"
        "<value>true</value></property><property><name>y</name><value>2</value><final>true</final>"
        "</property></configuration>"
    )
    conversion = converted_directory(tmp_path, QUEUE, {})
    assert conversion.files["core-site.xml"] == core.encode()
    assert b"memory_mb" in conversion.files["fairshare.toml"]
    assert written(conversion, "mapred-site.xml") == {"y": "2"}
    assert b"<final>true</final>" in conversion.files["mapred-site.xml"]


def test_what_was_written_is_a_configuration_directory(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    old.mkdir()
    (old / "resource-types.xml").write_text(
        "<configuration><property><name>yarn.resource-types</name><value>gpu</value></property>"
        "</configuration>"
    )
    (old / "fair-scheduler.xml").write_text(
        "<allocations><queue name='a'><maxResources>memory-mb=10%, vcores=10%, gpu=10%"
        "</maxResources></queue></allocations>"
    )
    (old / "yarn-site.xml").write_text("<configuration/>")
    write_directory(convert(read_source(old), Options()).files, new, force=False)
    configuration = read_directory(new)
    assert configuration.scheduler == "capacity"
    assert configuration.types.names == ("memory-mb", "vcores", "gpu")
    assert not [one for one in configuration.problems if one.severity == "warning"]
