"""A refresh takes over what Hadoop's refreshQueues takes over."""

from pathlib import Path

import pytest

from fairshare.core.schedulers.capacity.settings import CapacitySettings, Percentage
from fairshare.errors import ConfigurationError
from fairshare.settings.capacity.changes import is_refreshed
from fairshare.settings.directory import Refreshed, read_directory, refresh

P = "yarn.scheduler.capacity."
DOMINANT = "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator"
PREEMPTION = "yarn.resourcemanager.monitor.capacity.preemption."


def write(directory: Path, capacity: dict[str, object], site: dict[str, object]) -> None:
    queues = {P + "root.queues": "a", P + "root.a.capacity": 100}
    for name, values in (
        ("capacity-scheduler.xml", queues | capacity),
        ("yarn-site.xml", site),
    ):
        lines = [
            f"<property><name>{key}</name><value>{value}</value></property>"
            for key, value in values.items()
        ]
        (directory / name).write_text("\n".join(["<configuration>", *lines, "</configuration>"]))


def refreshed(
    directory: Path, capacity: dict[str, object], site: dict[str, object]
) -> tuple[CapacitySettings, Refreshed]:
    """The settings after a refresh, when the files have become these."""
    write(directory, {}, {})
    started = read_directory(directory)
    write(directory, capacity, site)
    found = refresh(started, started.settings)
    assert isinstance(found.settings, CapacitySettings)
    return found.settings, found


def test_queues_and_global_settings_are_taken_over(tmp_path: Path) -> None:
    capacity = {P + "root.a.maximum-capacity": 50, P + "maximum-applications": 7}
    settings, found = refreshed(tmp_path, capacity, {PREEMPTION + "max_wait_before_kill": 5})
    assert settings.queues["root.a"].maximum_capacity == Percentage(50.0)
    assert settings.maximum_applications == 7
    assert settings.monitor.wait_before_kill_ms == 5
    assert found.needs_restart == ()


def test_the_largest_container_is_taken_over(tmp_path: Path) -> None:
    settings, found = refreshed(tmp_path, {}, {"yarn.scheduler.maximum-allocation-mb": 9000})
    assert settings.maximum_allocation == (9000, 4)
    assert found.needs_restart == ()


def test_what_is_read_at_the_start_alone_needs_a_restart(tmp_path: Path) -> None:
    capacity: dict[str, object] = {P + "resource-calculator": DOMINANT}
    site: dict[str, object] = {
        "yarn.acl.enable": True,
        "yarn.scheduler.minimum-allocation-mb": 512,
        "yarn.resourcemanager.scheduler.monitor.enable": True,
    }
    settings, found = refreshed(tmp_path, capacity, site)
    assert not settings.dominant
    assert not settings.acl_enabled
    assert settings.minimum_allocation == (1024, 1)
    assert not settings.monitor.enabled
    assert set(found.needs_restart) == {*capacity, *site}


def test_files_that_cannot_be_read_change_nothing(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="Illegal capacity of 101"):
        refreshed(tmp_path, {P + "root.a.capacity": 101}, {})


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (P + "root.a.capacity", True),
        ("yarn.scheduler.queue-placement-rules.app-name", True),
        (P + "resource-calculator", False),
        ("yarn.acl.enable", False),
    ],
)
def test_names_say_whether_they_are_refreshed(name: str, expected: bool) -> None:
    assert is_refreshed(name) is expected
