"""Node labels in yarn-site.xml and in fairshare.toml."""

import pytest

from fairshare.documents.problems import Problems
from fairshare.errors import ConfigurationError
from fairshare.settings.capacity.reading import read_capacity
from fairshare.settings.directory import read_directory
from fairshare.settings.nodes import read_node_partition
from fairshare.settings.site import Site

N = "yarn.node-labels."
AM = "yarn.resourcemanager.node-labels.am."
PROVIDER = "yarn.nodemanager.node-labels.provider"
QUEUES = {
    "yarn.scheduler.capacity.root.queues": "default",
    "yarn.scheduler.capacity.root.default.capacity": "100",
}
CAPACITY = "org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CapacityScheduler"


def read(**properties):
    return read_capacity(Site.of({**QUEUES, **properties}, "yarn-site.xml"))


def test_labels_are_off_and_centralized_by_default():
    settings, _ = read()
    found = (settings.labels_enabled, settings.labels_distributed, settings.master_default_label)
    assert found == (False, False, None)


def test_all_properties_of_labels_are_read():
    settings, problems = read(
        **{
            N + "enabled": "true",
            N + "configuration-type": "Distributed",
            AM + "default-node-label-expression": " gpu ",
            AM + "allow-non-exclusive-allocation": "true",
        }
    )
    assert (settings.labels_enabled, settings.labels_distributed) == (True, True)
    assert (settings.master_default_label, settings.master_may_borrow) == ("gpu", True)
    assert problems == ()


def test_a_provider_of_labels_is_reported_to_have_no_effect():
    settings, [problem] = read(**{N + "configuration-type": "delegated-centralized"})
    assert not settings.labels_distributed
    assert (problem.severity, problem.rule) == ("warning", "unsupported")


def test_an_unknown_source_of_labels_is_an_error():
    with pytest.raises(ConfigurationError, match="there is no 'magic'"):
        read(**{N + "configuration-type": "magic"})


@pytest.mark.parametrize(
    ("provider", "kind", "found"),
    [
        ("config", "distributed", "gpu"),
        ("config", "centralized", ""),
        ("script", "distributed", ""),
        ("", "distributed", ""),
    ],
)
def test_a_node_reports_its_partition_where_labels_are_distributed(provider, kind, found):
    written = {
        N + "configuration-type": kind,
        PROVIDER: provider,
        PROVIDER + ".configured-node-partition": "gpu",
    }
    problems = Problems()
    assert read_node_partition(Site.of(written, "yarn-site.xml"), problems) == found
    assert [problem.rule for problem in problems.all] == ["unsupported"] * (provider == "script")


def directory_of(path, toml: str, enabled: str = "true"):
    values = {"yarn.resourcemanager.scheduler.class": CAPACITY, N + "enabled": enabled}
    entries = (
        f"<property><name>{name}</name><value>{value}</value></property>"
        for name, value in values.items()
    )
    (path / "yarn-site.xml").write_text(f"<configuration>{''.join(entries)}</configuration>")
    (path / "fairshare.toml").write_text(toml)
    return path


TABLES = '[labels]\ngpu = "exclusive"\nspot = "shared"\n[node_labels]\n"local-2" = "gpu"\n'


def test_fairshare_toml_names_labels_and_the_nodes_of_each(tmp_path):
    capacity = read_directory(directory_of(tmp_path, TABLES)).settings
    assert capacity is not None
    assert capacity.labels == {"gpu": True, "spot": False}
    assert capacity.label_of_node == {"local-2": "gpu"}


def test_all_mistakes_in_the_tables_are_reported_with_their_lines(tmp_path):
    toml = '[labels]\ngpu = "sometimes"\n[node_labels]\nn1 = "typo"\n'
    with pytest.raises(ConfigurationError) as error:
        read_directory(directory_of(tmp_path, toml))
    reported = [
        (problem.line, problem.message)
        for problem in error.value.problems
        if problem.severity == "error"
    ]
    assert [line for line, _ in reported] == [2, 4]
    assert "exclusive" in reported[0][1]
    assert "no label 'typo'" in reported[1][1]


def test_labels_need_to_be_switched_on(tmp_path):
    with pytest.raises(ConfigurationError, match=r"yarn\.node-labels\.enabled"):
        read_directory(directory_of(tmp_path, TABLES, enabled="false"))
