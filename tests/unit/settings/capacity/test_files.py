"""Each property counts only in the file from which Hadoop reads it."""

from pathlib import Path

import pytest

from fairshare.core.schedulers.capacity.settings import CapacitySettings
from fairshare.errors import ConfigurationError
from fairshare.settings.directory import read_directory

QUEUES = {
    "yarn.scheduler.capacity.root.queues": "a",
    "yarn.scheduler.capacity.root.a.capacity": "100",
}
SITE_ONLY = {
    "yarn.resourcemanager.scheduler.monitor.enable": "true",
    "yarn.scheduler.minimum-allocation-mb": "512",
    "yarn.scheduler.maximum-allocation-vcores": "2",
    "yarn.cluster.max-application-priority": "5",
    "yarn.acl.enable": "true",
    "yarn.node-labels.enabled": "true",
    "yarn.resourcemanager.am.max-attempts": "7",
}


def written(directory: Path, file: str, values: dict[str, str]) -> None:
    lines = [f"<property><name>{n}</name><value>{v}</value></property>" for n, v in values.items()]
    (directory / file).write_text("\n".join(["<configuration>", *lines, "</configuration>"]))


def settings_of(
    directory: Path, own: dict[str, str], site: dict[str, str]
) -> tuple[CapacitySettings, list[str]]:
    written(directory, "capacity-scheduler.xml", QUEUES | own)
    written(directory, "yarn-site.xml", site)
    found = read_directory(directory)
    assert isinstance(found.settings, CapacitySettings)
    return found.settings, [
        f"{problem.line}: {problem.message}"
        for problem in found.problems
        if problem.rule == "misplaced-property"
    ]


@pytest.mark.parametrize("name", SITE_ONLY)
def test_a_property_of_yarn_site_has_no_effect_in_the_file_of_queues(
    tmp_path: Path, name: str
) -> None:
    plain, _ = settings_of(tmp_path, {}, {})
    found, (problem,) = settings_of(tmp_path, {name: SITE_ONLY[name]}, {})
    assert found == plain
    assert problem.startswith(f"4: {name} has no effect in capacity-scheduler.xml")
    found, problems = settings_of(tmp_path, {}, {name: SITE_ONLY[name]})
    assert found != plain
    assert problems == []
    same, _ = settings_of(tmp_path, {name: "false" if "true" in SITE_ONLY[name] else "1"},
                          {name: SITE_ONLY[name]})  # fmt: skip
    assert same == found


@pytest.mark.parametrize(
    "values",
    [
        {"yarn.scheduler.capacity.maximum-applications": "5"},
        {"yarn.resourcemanager.monitor.capacity.preemption.max_wait_before_kill": "5"},
        {"yarn.scheduler.queue-placement-rules.app-name": "x:a"},
    ],
)
def test_a_property_of_the_scheduler_counts_in_both_files(
    tmp_path: Path, values: dict[str, str]
) -> None:
    plain, _ = settings_of(tmp_path, {}, {})
    own, problems = settings_of(tmp_path, values, {})
    assert (own != plain, problems) == (True, [])
    assert settings_of(tmp_path, {}, values)[0] == own


def test_the_file_of_queues_may_have_variables(tmp_path: Path) -> None:
    own = {"most": "7", "yarn.scheduler.capacity.maximum-applications": "${most}"}
    assert settings_of(tmp_path, own, {})[0].maximum_applications == 7


@pytest.mark.parametrize(
    ("own", "site", "reason"),
    [
        ({"yarn.resource-types": "gpu"}, {}, "names gpu, which no file declares"),
        (
            {"yarn.scheduler.minimum-allocation-mb": "2048"},
            {"yarn.scheduler.maximum-allocation-mb": "1024"},
            "above the maximum allocation 1024",
        ),
    ],
)
def test_what_stops_hadoop_in_the_wrong_file_is_refused(
    tmp_path: Path, own: dict[str, str], site: dict[str, str], reason: str
) -> None:
    with pytest.raises(ConfigurationError, match=reason):
        settings_of(tmp_path, own, site)
