"""yarn-site.xml and the allocation file together are the Fair Scheduler's settings."""

import msgspec
import pytest

from fairshare.core.model.resources import UNBOUNDED, ResourceTypes
from fairshare.core.schedulers.fair.settings import AllocationSettings, FairSettings, QueueSettings
from fairshare.documents.problems import Problem
from fairshare.errors import ConfigurationError
from fairshare.settings.fair.reading import read_fair
from fairshare.settings.site import Site

F = "yarn.scheduler.fair."


def read(**properties: object) -> tuple[FairSettings, tuple[Problem, ...]]:
    return read_fair(Site.of({F + name: value for name, value in properties.items()}), None)


def refused(properties: dict[str, object], allocations: str | None = None) -> list[str]:
    with pytest.raises(ConfigurationError) as error:
        read_fair(Site.of(properties), allocations)
    return [str(problem) for problem in error.value.problems]


def test_without_any_file_everything_has_hadoops_default() -> None:
    settings, problems = read()
    assert settings == FairSettings(
        preemption_utilization_threshold=0.800000011920929,
        reservable_nodes=0.05000000074505806,
    )
    assert settings.allocations == AllocationSettings(from_file=False)
    assert problems == ()


def test_every_property_of_the_scheduler_is_read() -> None:
    settings, problems = read_fair(
        Site.of(
            {
                F + "user-as-default-queue": False,
                F + "allow-undeclared-pools": False,
                F + "preemption": True,
                F + "preemption.cluster-utilization-threshold": 0.7,
                F + "am.preemption": False,
                F + "am.preemption.root.c": True,
                F + "waitTimeBeforeKill": 1,
                F + "waitTimeBeforeNextStarvationCheck": 2,
                F + "sizebasedweight": True,
                F + "assignmultiple": True,
                F + "dynamic.max.assign": False,
                F + "max.assign": 3,
                F + "locality.threshold.node": 0.25,
                F + "locality.threshold.rack": 0.5,
                F + "continuous-scheduling-enabled": True,
                F + "continuous-scheduling-sleep-ms": 4,
                F + "locality-delay-node-ms": 5,
                F + "locality-delay-rack-ms": 6,
                F + "update-interval-ms": 7,
                F + "reservable-nodes": 0.5,
                F + "allocation.file": "fair.xml",
                "yarn.scheduler.reservation-threshold.increment-multiple": 1.5,
                "yarn.scheduler.include-port-in-node-name": False,
                "yarn.acl.enable": True,
                "yarn.admin.acl": "ann staff",
                "yarn.resourcemanager.application-tag-based-placement.enable": True,
                "yarn.resourcemanager.application-tag-based-placement.username.whitelist": "hive",
                "yarn.resourcemanager.nodemanagers.heartbeat-interval-ms": 8,
                "yarn.resourcemanager.am.max-attempts": 9,
                "yarn.resourcemanager.work-preserving-recovery.scheduling-wait-ms": 10,
                "yarn.resource-types": "gpu",
                "yarn.scheduler.minimum-allocation-mb": 256,
                "yarn.scheduler.maximum-allocation-vcores": 16,
                "yarn.scheduler.increment-allocation-mb": 128,
            }
        ),
        '<allocations><queue name="a"/></allocations>',
    )
    assert problems == ()
    assert settings == FairSettings(
        types=ResourceTypes(("memory-mb", "vcores", "gpu"), ("Mi", "", "")),
        minimum_allocation=(256, 1, 0),
        maximum_allocation=(8192, 16, UNBOUNDED),
        increment_allocation=(128, 1, 0),
        maximum_override_delay_ms=10,
        user_as_default_queue=False,
        allow_undeclared_pools=False,
        preemption=True,
        preemption_utilization_threshold=0.699999988079071,
        master_preemption=False,
        master_preemption_queues={"root.c": True},
        wait_before_kill_ms=1,
        wait_before_next_starvation_check_ms=2,
        size_based_weight=True,
        assign_multiple=True,
        dynamic_max_assign=False,
        max_assign=3,
        locality_threshold_node=0.25,
        locality_threshold_rack=0.5,
        continuous_scheduling=True,
        continuous_scheduling_sleep_ms=4,
        locality_delay_node_ms=5,
        locality_delay_rack_ms=6,
        update_interval_ms=7,
        reservable_nodes=0.5,
        reservation_threshold_multiple=1.5,
        acl_enabled=True,
        administrators="ann staff",
        heartbeat_interval_ms=8,
        master_max_attempts=9,
        allocations=AllocationSettings(queues={"root.a": QueueSettings("root.a")}, from_file=True),
        tag_users=("hive",),
    )


def test_no_field_of_the_settings_is_forgotten_by_the_test_above() -> None:
    assert len(FairSettings.__struct_fields__) == 36  # three are of fairshare.toml


def test_settings_survive_being_written_and_read() -> None:
    settings, _ = read_fair(
        Site.of({}),
        '<allocations><queue name="a"><maxResources>5%</maxResources></queue></allocations>',
    )
    assert msgspec.json.decode(msgspec.json.encode(settings), type=FairSettings) == settings


def test_unknown_properties_of_the_scheduler_are_reported_by_name() -> None:
    _, problems = read(**{"preemptoin": True, "am.preemption.root.x": False})
    assert [str(problem) for problem in problems] == [
        f"properties: warning: {F}preemptoin is unknown and has no effect: is {F}preemption meant?"
        " [unknown-property]"
    ]


def test_properties_of_undeclared_types_are_reported() -> None:
    _, problems = read_fair(Site.of({"yarn.resource-types.gpu.minimum-allocation": 1}), None)
    assert [problem.rule for problem in problems] == ["unknown-property"]


@pytest.mark.parametrize(
    "name",
    [
        F + "migration.mode",
        F + "no-terminal-rule.check",
        "yarn.scheduler.include-port-in-node-name",
    ],
)
def test_an_unsupported_property_is_reported(name: str) -> None:
    _, problems = read_fair(Site.of({name: True}), None)
    assert [(problem.rule, problem.severity) for problem in problems] == [
        ("unsupported", "warning")
    ]


def test_a_negative_update_interval_becomes_500_with_a_warning() -> None:
    settings, problems = read(**{"update-interval-ms": -1})
    assert settings.update_interval_ms == 500
    assert [problem.severity for problem in problems] == ["warning"]


@pytest.mark.parametrize(
    ("properties", "reason"),
    [
        ({"yarn.scheduler.minimum-allocation-mb": 9000}, "Invalid resource scheduler memory"),
        ({"yarn.scheduler.minimum-allocation-mb": -1}, "Invalid resource scheduler memory"),
        ({"yarn.scheduler.maximum-allocation-mb": 512}, "Invalid resource scheduler memory"),
        ({"yarn.scheduler.minimum-allocation-vcores": 5}, "Invalid resource scheduler vcores"),
        ({"yarn.scheduler.increment-allocation-mb": 0}, "Invalid resource scheduler memory"),
        ({"yarn.scheduler.increment-allocation-vcores": -1}, "Invalid resource scheduler vcores"),
        ({"yarn.resource-types.vcores.increment-allocation": "0"}, "scheduler vcores"),
        ({"yarn.resource-types.memory-mb.increment-allocation": "1 Xi"}, "unknown unit 'Xi'"),
        ({F + "max.assign": "all"}, "'all' is not a whole number"),
        ({"yarn.resourcemanager.am.max-attempts": 0}, "it must be at least 1"),
    ],
)
def test_what_stops_hadoop_at_its_start_is_an_error(
    properties: dict[str, object], reason: str
) -> None:
    problems = refused(properties)
    assert len(problems) == 1
    assert reason in problems[0]


def test_errors_of_the_properties_and_of_the_file_are_reported_together() -> None:
    problems = refused({F + "max.assign": "all"}, "<allocations><queue/></allocations>")
    assert [problem.split(": error: ")[0] for problem in problems] == [
        "properties",
        "fair-scheduler.xml:1:14",
    ]
