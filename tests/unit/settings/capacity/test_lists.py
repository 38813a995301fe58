"""Lists of properties are divided as Hadoop divides each of them: some by line ends, too."""

import pytest
from tests.unit.settings.capacity.conftest import P, queue, read, refused, reported

from fairshare.errors import ConfigurationError
from fairshare.settings.capacity.mappings import APPLICATION_MAPPINGS, ENGINES, MAPPINGS

PROPORTIONAL = (
    "org.apache.hadoop.yarn.server.resourcemanager.monitor.capacity"
    ".ProportionalCapacityPreemptionPolicy"
)
REMOVAL = (
    "org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity"
    ".AutoCreatedQueueDeletionPolicy"
)
MONITOR = "yarn.resourcemanager.scheduler.monitor."


@pytest.mark.parametrize("between", [",", "\n", "\r\n", " ,\n\t", ",,"])
def test_mappings_are_divided_by_commas_and_line_ends(between: str) -> None:
    rules = read({MAPPINGS: f"\n u:ann:a{between}g:dev:b\n"}).mappings
    assert [rule.source for rule in rules] == ["u:ann:a", "g:dev:b"]
    rules = read({APPLICATION_MAPPINGS: f"x:a{between}y:b{between}x:a"}).mappings
    assert [rule.source for rule in rules] == ["x:a", "y:b"]


def test_workflow_priorities_are_divided_by_line_ends_too() -> None:
    found = read({P + "workflow-priority-mappings": "w:a:1\n v:b:2\n"}).workflow_priorities
    assert [one.workflow for one in found] == ["w", "v"]


@pytest.mark.parametrize("between", [",", "\n", " \n "])
def test_monitors_are_divided_by_line_ends_too(between: str) -> None:
    policies = f"{PROPORTIONAL}{between}{REMOVAL}"
    monitor = read({MONITOR + "enable": True, MONITOR + "policies": policies}).monitor
    assert monitor.enabled
    assert monitor.auto_removal


def test_an_empty_part_is_a_monitor_that_there_is_not() -> None:
    (problem,) = refused(
        {MONITOR + "enable": True, MONITOR + "policies": f"{REMOVAL},,\n{REMOVAL}"}
    )
    assert "there is no policy ''" in problem


@pytest.mark.parametrize("value", ["a\nb", "a b", "a;b"])
def test_queues_are_divided_by_commas_alone(value: str) -> None:
    assert any("there is no queue root.a:" in one for one in refused({P + "root.queues": value}))


def test_labels_are_divided_by_commas_alone() -> None:
    assert queue({"accessible-node-labels": "gpu\nssd, x,"}).accessible_labels == ("gpu\nssd", "x")


def test_the_blank_of_a_placement_engine_belongs_to_its_name() -> None:
    assert any("there is no placement rule ' app-name'" in one for one in refused(
        {ENGINES: "user-group, app-name"}
    ))  # fmt: skip


def test_a_queue_that_is_listed_twice_is_refused_without_a_claim_about_hadoops_start() -> None:
    assert "'a' is given twice" in refused({P + "root.queues": "a,b,a"})[0]
    with pytest.raises(ConfigurationError) as error:
        read({P + "root.queues": "q" * 5_000})
    claims = {p.hadoop for p in error.value.problems if "may have" in p.message}
    assert claims == {"takes names of any length"}


def test_a_blank_part_of_a_list_of_queues_is_passed_over() -> None:
    (problem,) = reported({P + "root.queues": "a,b, \n"})
    assert "a part of the list is blank" in problem


def test_a_blank_list_of_queues_is_refused() -> None:
    assert "the list is blank" in refused({P + "root.a.queues": " "})[0]
