"""The example that is demonstrated: plain Hadoop files, without a word that has no effect."""

from pathlib import Path

import pytest

from fairshare.demonstration.entitlement import read_entitlements
from fairshare.demonstration.errors import DemonstrationFailed
from fairshare.demonstration.server import configuration_directory
from fairshare.demonstration.teams import SETTINGS, TEAMS
from fairshare.families.directory import read_directory
from fairshare.families.fifo.reading import read_fifo


def test_the_example_has_no_problems_with_either_scheduler() -> None:
    configuration = read_directory(configuration_directory())
    assert configuration.scheduler == "fair"
    assert configuration.problems == ()
    _, problems = read_fifo(configuration.site)
    assert problems == ()


def test_the_example_offers_room_for_twelve_containers_of_the_demonstration() -> None:
    engine = read_directory(configuration_directory()).shell.engine
    assert engine.memory_mb == 12 * SETTINGS["fair"].container["memory-mb"]
    assert engine.vcores == 12 * SETTINGS["fair"].container["vcores"]


def test_the_example_promises_a_half_a_third_and_a_sixth() -> None:
    owed = read_entitlements(configuration_directory(), TEAMS, 3072)
    assert owed == pytest.approx({"production": 1 / 2, "research": 1 / 3, "adhoc": 1 / 6})


def test_the_example_of_the_capacity_scheduler_has_no_problems_and_the_same_places() -> None:
    configuration = read_directory(configuration_directory("capacity"))
    assert configuration.scheduler == "capacity"
    assert configuration.problems == ()
    engine = configuration.shell.engine
    assert engine.memory_mb == 12 * SETTINGS["capacity"].container["memory-mb"]
    assert engine.vcores == 12 * SETTINGS["capacity"].container["vcores"]


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
