"""A directory, or one file of it, is linted whole: what reading finds and what the rules find."""

from pathlib import Path

import pytest

from fairshare.settings.linting import lint
from fairshare.settings.resource_types import UnknownResourceType

SCHEDULER = (
    "<property><name>yarn.resourcemanager.scheduler.class</name><value>"
    "org.apache.hadoop.yarn.server.resourcemanager.scheduler.{}</value></property>"
)
FAIR = SCHEDULER.format("fair.FairScheduler")
PREEMPTION = (
    "<property>\n<name>yarn.scheduler.fair.preemption</name>\n<value>true</value></property>"
)


def write(path: Path, allocations: str = "", properties: str = FAIR) -> Path:
    (path / "fair-scheduler.xml").write_text(f"<allocations>\n{allocations}\n</allocations>")
    (path / "yarn-site.xml").write_text(f"<configuration>\n{properties}\n</configuration>")
    return path


def found(path: Path, cluster: dict[str, int] | None = None) -> list[tuple[str, int, str]]:
    return [(Path(p.file).name, p.line, p.rule) for p in lint(path, cluster)]


def test_a_directory_without_problems_has_none(tmp_path: Path) -> None:
    assert found(write(tmp_path, "<queue name='a'/>")) == []


def test_errors_and_traps_of_all_files_are_reported_together(tmp_path: Path) -> None:
    write(
        tmp_path,
        "<queue name='a'>\n<weight>two</weight></queue>\n"
        "<queue name='b'><weight>0</weight></queue>",
        FAIR + "\n" + PREEMPTION,
    )
    assert found(tmp_path) == [
        ("fair-scheduler.xml", 3, "weight"),
        ("fair-scheduler.xml", 4, "weight-zero"),
        ("yarn-site.xml", 5, "preemption-cannot-fire"),
    ]


def test_properties_of_yarn_are_reported_that_are_unknown_or_not_honoured(
    tmp_path: Path,
) -> None:
    other = "<property><name>{}</name><value>1</value></property>\n"
    names = ("yarn.scheduler.fair.preempt", "yarn.nodemanager.vmem-pmem-ratio", "dfs.replication")
    write(tmp_path, "", FAIR + "\n" + "".join(other.format(name) for name in names))
    assert found(tmp_path) == [
        ("yarn-site.xml", 3, "unknown-property"),
        ("yarn-site.xml", 4, "not-honoured"),
    ]


def test_the_size_of_the_cluster_finds_more(tmp_path: Path) -> None:
    write(tmp_path, "<queue name='a'>\n<minResources>9000 mb, 1 vcores</minResources></queue>")
    assert found(tmp_path) == []
    assert found(tmp_path, {"memory-mb": 9000, "vcores": 1}) == []
    assert found(tmp_path, {"memory-mb": 8000, "vcores": 1}) == [
        ("fair-scheduler.xml", 1, "minimums-above-bound")
    ]


def test_the_nodes_of_fairshare_toml_are_the_cluster(tmp_path: Path) -> None:
    write(tmp_path, "<queue name='a'>\n<minResources>9000 mb, 1 vcores</minResources></queue>")
    (tmp_path / "fairshare.toml").write_text("[engine]\nnodes = 2\nmemory_mb = 4000\nvcores = 4\n")
    assert found(tmp_path) == [("fair-scheduler.xml", 1, "minimums-above-bound")]


def test_a_cluster_of_unknown_types_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnknownResourceType, match="gpu"):
        lint(write(tmp_path), {"gpu": 1})


def test_a_lone_allocation_file_is_not_checked_against_unknown_properties(
    tmp_path: Path,
) -> None:
    write(
        tmp_path,
        "<queue name='a'><fairSharePreemptionTimeout>9</fairSharePreemptionTimeout></queue>",
    )
    assert found(tmp_path / "fair-scheduler.xml") == []
    assert found(tmp_path) == [("fair-scheduler.xml", 2, "timeouts-without-preemption")]


def test_a_lone_file_with_pools_of_mapreduce_is_read_as_that(tmp_path: Path) -> None:
    file = tmp_path / "fair-scheduler.xml"
    file.write_text(
        "<allocations>\n<pool name='a'>\n<minMaps>9</minMaps>\n"
        "<minSharePreemptionTimeout>60</minSharePreemptionTimeout><maxJobs>2</maxJobs>\n</pool>\n"
        "<user name='u'><maxRunningJobs>6</maxRunningJobs></user>\n</allocations>"
    )
    # That preemption is off is nothing that this file could know.
    assert found(file) == [("fair-scheduler.xml", 4, "unknown-element")]
    cluster = {"map-slots": 8, "reduce-slots": 8}
    assert ("fair-scheduler.xml", 1, "minimums-above-cluster") in found(file, cluster)


@pytest.mark.parametrize(
    "element",
    [
        "<pool name='a'><minResources>1 mb, 1 vcores</minResources></pool>",
        "<pool name='a'><weight>2</weight><pool name='b'><maxRunningApps>5</maxRunningApps>"
        "<schedulingPolicy>fifo</schedulingPolicy></pool></pool>",
    ],
)
def test_a_lone_file_whose_pools_are_queues_of_yarn_is_read_as_that(
    tmp_path: Path, element: str
) -> None:
    file = tmp_path / "fair-scheduler.xml"
    file.write_text(f"<allocations>{element}</allocations>")
    assert found(file) == []


def test_a_lone_file_of_properties_is_linted(tmp_path: Path) -> None:
    write(tmp_path, "", PREEMPTION)
    assert found(tmp_path / "yarn-site.xml") == [("yarn-site.xml", 4, "preemption-cannot-fire")]


def test_under_the_fifo_scheduler_only_its_own_settings_are_looked_at(tmp_path: Path) -> None:
    write(tmp_path, "", SCHEDULER.format("fifo.FifoScheduler") + PREEMPTION)
    assert found(tmp_path) == []
    assert found(tmp_path / "yarn-site.xml") == []


def test_a_scheduler_that_there_is_not_is_an_error_with_its_line(tmp_path: Path) -> None:
    write(tmp_path, "", "\n" + SCHEDULER.format("odd.Scheduler"))
    assert found(tmp_path) == [("yarn-site.xml", 3, "scheduler")]
    assert found(tmp_path / "yarn-site.xml") == [("yarn-site.xml", 3, "scheduler")]


def test_another_kind_of_file_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "page.xml"
    file.write_text("<html/>")
    assert found(file) == [("page.xml", 1, "allocations")]
    file.write_text("no XML")
    assert found(file) == [("page.xml", 1, "xml")]


HA = "<property><name>yarn.resourcemanager.ha.{}</name><value>{}</value></property>\n"


@pytest.mark.parametrize(
    ("host", "toml", "rules"),
    [
        ("203.0.113.7", "", ["address"]),  # an address for documentation, of no machine
        ("127.0.0.1", "", []),
        ("203.0.113.7", "[hadoop]\nenabled = 'no'\n", []),
    ],
)
def test_one_of_several_resource_managers_that_does_not_find_itself_is_an_error(
    tmp_path: Path, host: str, toml: str, rules: list[str]
) -> None:
    name = "<property><name>yarn.resourcemanager.hostname.rm1</name><value>{}</value></property>"
    several = HA.format("enabled", "true") + HA.format("rm-ids", "rm1") + name.format(host)
    write(tmp_path, "<queue name='a'/>", f"{FAIR}\n{several}")
    if toml:
        (tmp_path / "fairshare.toml").write_text(toml)
    problems = [problem for problem in lint(tmp_path) if problem.rule == "address"]
    assert [problem.rule for problem in problems] == rules
    for problem in problems:
        assert problem.severity == "error"
        assert "set yarn.resourcemanager.ha.id to the one of" in problem.message


@pytest.mark.parametrize(
    ("toml", "found_lines"),
    [("", [4]), ("[engine]\nkind = 'nodemanagers'\n", [])],
)
def test_logs_that_this_machine_cannot_aggregate_are_a_warning(
    tmp_path: Path, toml: str, found_lines: list[int]
) -> None:
    row = "<property><name>yarn.{}</name><value>{}</value></property>\n"
    aggregated = row.format("log-aggregation-enable", "true")
    remote = row.format("nodemanager.remote-app-log-dir", "hdfs://nn/logs")
    write(tmp_path, "<queue name='a'/>", f"{FAIR}\n{aggregated}{remote}")
    if toml:
        (tmp_path / "fairshare.toml").write_text(toml)
    problems = [one for one in lint(tmp_path) if "logs are not aggregated" in one.message]
    assert [problem.line for problem in problems] == found_lines


def test_services_that_the_nodes_of_this_machine_lack_are_a_warning(tmp_path: Path) -> None:
    row = "<property><name>yarn.nodemanager.aux-services</name><value>{}</value></property>"
    write(tmp_path, "<queue name='a'/>", FAIR + row.format("mapreduce_shuffle"))
    assert found(tmp_path) == []
    write(tmp_path, "<queue name='a'/>", FAIR + row.format("mapreduce_shuffle,spark_shuffle"))
    (warning,) = lint(tmp_path)
    assert "has spark_shuffle: the nodes of this machine have mapreduce_shuffle" in warning.message
