"""The example that is demonstrated: plain Hadoop files, without a word that has no effect."""

from pathlib import Path

import pytest

from fairshare.demonstration.entitlement import read_entitlements
from fairshare.demonstration.errors import DemonstrationFailed
from fairshare.demonstration.server import configuration_directory
from fairshare.demonstration.teams import SETTINGS, TEAMS
from fairshare.families.directory import read_directory
from fairshare.families.fifo.reading import read_fifo
from fairshare.families.linting import lint


@pytest.mark.parametrize(
    ("scheduler", "memory_mb"), [("fair", 12 * 256), ("capacity", 12 * 256), ("pools", 12 * 128)]
)
def test_an_example_has_no_problems_and_room_for_twelve_tasks(
    scheduler: str, memory_mb: int
) -> None:
    configuration = read_directory(configuration_directory(scheduler))
    assert configuration.scheduler == scheduler
    assert configuration.problems == lint(configuration.directory) == ()
    engine, container = configuration.shell.engine, SETTINGS[scheduler].container
    assert engine.memory_mb == memory_mb >= 12 * container["memory-mb"]
    assert engine.vcores == 12 * container["vcores"]


def test_fifo_reads_the_example_of_the_fair_scheduler_without_problems() -> None:
    _, problems = read_fifo(read_directory(configuration_directory("fifo")).site)
    assert problems == ()


def test_the_example_promises_a_half_a_third_and_a_sixth() -> None:
    owed = read_entitlements(configuration_directory(), TEAMS, 3072)
    assert owed == pytest.approx({"production": 1 / 2, "research": 1 / 3, "adhoc": 1 / 6})


def test_the_capacity_scheduler_guarantees_about_as_much_and_knows_the_users_weights() -> None:
    owed = read_entitlements(configuration_directory("capacity"), TEAMS, 3072)
    expected = {"production": 1 / 2, "research": 1 / 3, "adhoc": 1 / 6}
    assert owed == pytest.approx(expected, abs=0.001)
    capacity = read_directory(configuration_directory("capacity")).settings
    assert capacity is not None
    weights = capacity.queues["root.research"].user_weights
    assert {user: weights.get(user, 1) for user in SETTINGS["capacity"].researchers} == {
        "bob": 1,
        "ann": 2,
    }


def test_a_minimum_above_the_weight_is_owed() -> None:
    owed = read_entitlements(
        configuration_directory(), TEAMS, 1536
    )  # production has a minimum of 1024 MB
    assert owed["production"] == pytest.approx(2 / 3)
    assert sum(owed.values()) == pytest.approx(1.0, abs=0.01)


def test_a_team_without_a_queue_is_named() -> None:
    with pytest.raises(DemonstrationFailed, match="no queue nobody"):
        read_entitlements(configuration_directory(), ["nobody"], 3072)


def test_a_configuration_without_shares_is_refused(tmp_path: Path) -> None:
    (tmp_path / "yarn-site.xml").write_text(
        "<configuration><property><name>yarn.resourcemanager.scheduler.class</name><value>"
        "org.apache.hadoop.yarn.server.resourcemanager.scheduler.fifo.FifoScheduler"
        "</value></property></configuration>"
    )
    with pytest.raises(DemonstrationFailed, match="not for the Fair Scheduler"):
        read_entitlements(tmp_path, TEAMS, 3072)
