"""What a configuration may change while a server runs."""

from pathlib import Path

import pytest

from fairshare.errors import ConfigurationError
from fairshare.settings.configuration import Configuration
from fairshare.settings.directory import read_directory
from fairshare.settings.registry import family_of
from fairshare.settings.reload import refresh

FAIR = "org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.FairScheduler"
FIFO = "org.apache.hadoop.yarn.server.resourcemanager.scheduler.fifo.FifoScheduler"
SCHEDULER = "yarn.resourcemanager.scheduler.class"


def write_site(directory: Path, **properties: object) -> None:
    properties = {SCHEDULER: FAIR, **properties}
    rows = "\n".join(
        f"<property><name>{name}</name><value>{value}</value></property>"
        for name, value in properties.items()
    )
    (directory / "yarn-site.xml").write_text(f"<configuration>\n{rows}\n</configuration>")


def write_queues(directory: Path, *names: str, more: str = "") -> Path:
    path = directory / "fair-scheduler.xml"
    queues = "".join(f'<queue name="{name}"/>' for name in names)
    path.write_text(f"<allocations>\n{queues}\n{more}</allocations>")
    return path


@pytest.fixture
def started(tmp_path: Path) -> Configuration:
    write_site(tmp_path)
    write_queues(tmp_path, "a")
    return read_directory(tmp_path)


def queues_of(settings) -> list[str]:
    return list(settings.allocations.queues)


def test_the_allocation_file_alone_changes_when_it_is_read_again(started, tmp_path):
    path = write_queues(tmp_path, "a", "b")
    write_site(tmp_path, **{"yarn.scheduler.maximum-allocation-mb": 16384})
    settings, problems = family_of("fair").reread_file(path, started.settings)
    assert queues_of(settings) == ["root.a", "root.b"]
    assert settings.maximum_allocation == started.settings.maximum_allocation
    assert problems == ()


def test_all_problems_of_a_bad_allocation_file_are_reported(started, tmp_path):
    path = write_queues(tmp_path, more="<userMaxAppsDefault>x</userMaxAppsDefault>\n<a>")
    path.write_text(
        "<allocations>\n<userMaxAppsDefault>x</userMaxAppsDefault>\n"
        '<queue name="a"><weight>heavy</weight></queue></allocations>'
    )
    with pytest.raises(ConfigurationError) as caught:
        family_of("fair").reread_file(path, started.settings)
    assert [problem.line for problem in caught.value.problems] == [2, 3]


def test_a_file_that_cannot_be_read_is_an_error_with_its_name(started, tmp_path):
    with pytest.raises(ConfigurationError, match=r"gone\.xml: error: cannot be read"):
        family_of("fair").reread_file(tmp_path / "gone.xml", started.settings)


def test_a_refresh_takes_queues_and_maximum_allocation_over(started, tmp_path):
    write_queues(tmp_path, "a", "b")
    write_site(tmp_path, **{"yarn.scheduler.maximum-allocation-mb": 16384})
    found = refresh(started, started.settings)
    assert queues_of(found.settings) == ["root.a", "root.b"]
    assert found.settings.maximum_allocation == (16384, 4)
    assert found.needs_restart == ()


def test_a_refresh_names_what_needs_a_restart_and_leaves_it_as_it_was(started, tmp_path):
    write_site(
        tmp_path,
        **{
            "yarn.scheduler.minimum-allocation-mb": 512,
            "yarn.scheduler.fair.preemption": "true",
            "somebody.elses.property": 1,
        },
    )
    (tmp_path / "fairshare.toml").write_text("[engine]\nnodes = 3\n")
    found = refresh(started, started.settings)
    assert found.settings == started.settings
    assert found.needs_restart == (
        "yarn.scheduler.fair.preemption",
        "yarn.scheduler.minimum-allocation-mb",
        "fairshare.toml: nodes below [engine]",
    )


def test_a_maximum_below_the_minimum_in_force_is_refused_at_its_line(started, tmp_path):
    write_site(
        tmp_path,
        **{
            "yarn.scheduler.minimum-allocation-mb": 128,
            "yarn.scheduler.maximum-allocation-mb": 256,
        },
    )
    with pytest.raises(ConfigurationError, match=r"yarn-site.xml:4:\d+: .* in force"):
        refresh(started, started.settings)


def test_resource_types_cannot_change(started, tmp_path):
    write_site(tmp_path, **{"yarn.resource-types": "yarn.io/gpu"})
    with pytest.raises(ConfigurationError, match="cannot change while the server runs"):
        refresh(started, started.settings)


def test_an_allocation_file_that_was_deleted_is_an_error(started, tmp_path):
    (tmp_path / "fair-scheduler.xml").unlink()
    with pytest.raises(ConfigurationError, match="cannot be read"):
        refresh(started, started.settings)


def test_another_name_for_the_allocation_file_needs_a_restart(started, tmp_path):
    write_site(tmp_path, **{"yarn.scheduler.fair.allocation.file": "other.xml"})
    write_queues(tmp_path, "other").rename(tmp_path / "other.xml")
    write_queues(tmp_path, "a", "b")
    found = refresh(started, started.settings)
    assert queues_of(found.settings) == ["root.a", "root.b"]
    assert found.needs_restart == ("yarn.scheduler.fair.allocation.file",)


def test_an_allocation_file_that_appears_is_taken_over(tmp_path):
    write_site(tmp_path)
    started = read_directory(tmp_path)
    write_queues(tmp_path, "a")
    assert queues_of(refresh(started, started.settings).settings) == ["root.a"]


def test_fifo_takes_its_maximum_allocation_over(tmp_path):
    write_site(tmp_path, **{SCHEDULER: FIFO})
    started = read_directory(tmp_path)
    write_site(tmp_path, **{SCHEDULER: FIFO, "yarn.scheduler.maximum-allocation-vcores": 7})
    assert refresh(started, started.settings).settings.maximum_allocation == (8192, 7)


def test_time_limits_are_in_force_after_a_reload(started, tmp_path):
    toml = tmp_path / "fairshare.toml"
    toml.write_text('[time_limits]\ndefault_s = "1h"\n[time_limits.queues.a]\nmaximum_s = 60\n')
    refreshed = refresh(started, started.settings)
    limits = refreshed.settings.time_limits
    assert {name: (one.default_ms, one.maximum_ms) for name, one in limits.items()} == {
        "root": (3_600_000, None),
        "root.a": (None, 60_000),
    }
    assert refreshed.needs_restart == ()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("default_s = 61\nmaximum_s = 60", "time_limits.default_s is longer than maximum_s"),
        ("default_s = 0", "default_s"),
        ("[time_limits.queues.root]\nmaximum_s = 60", r"belong to \[time_limits\]"),
        (
            '[time_limits.queues.a]\nmaximum_s = 60\n[time_limits.queues."root.a"]\nmaximum_s = 9',
            "are the same",
        ),
    ],
)
def test_time_limits_that_contradict_each_other_are_refused(started, tmp_path, text, words):
    (tmp_path / "fairshare.toml").write_text(f"[time_limits]\n{text}\n")
    with pytest.raises(ConfigurationError, match=words):
        refresh(started, started.settings)
