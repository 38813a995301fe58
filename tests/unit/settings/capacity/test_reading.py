"""The properties of the Capacity Scheduler are read as Hadoop reads them."""

from pathlib import Path

import msgspec
import pytest
from tests.unit.settings.capacity.conftest import P, queue, read, refused, reported, site_of

from fairshare.core.schedulers.capacity.settings import (
    CapacitySettings,
    LabelCapacity,
    Percentage,
    PriorityRule,
    QueueSettings,
    Weight,
)
from fairshare.documents.problems import Problems
from fairshare.errors import ConfigurationError
from fairshare.settings.capacity.reading import SHIPPED, read_capacity
from fairshare.settings.site import Site
from fairshare.settings.site_files import read_site

DOMINANT = "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator"


def test_without_properties_hadoops_defaults_hold() -> None:
    settings = read({})
    assert settings == CapacitySettings(
        queues={
            "root": QueueSettings(children=("a", "b")),
            "root.a": QueueSettings(capacity=Percentage(40.0)),
            "root.b": QueueSettings(capacity=Percentage(60.0)),
        }
    )


def test_settings_survive_the_journal() -> None:
    settings = read({P + "queue-mappings": "u:%user:a", P + "root.a.capacity": 40})
    encoded = msgspec.json.encode(settings)
    assert msgspec.json.decode(encoded, type=CapacitySettings) == settings


def test_everything_global_is_read() -> None:
    settings = read(
        {
            P + "maximum-applications": 7,
            P + "global-queue-max-application": 6,
            P + "maximum-am-resource-percent": 0.5,
            P + "max-parallel-apps": 5,
            P + "user.max-parallel-apps": 4,
            P + "user.j.doe.max-parallel-apps": 3,
            P + "minimum-user-limit-percent": 25,
            P + "user-limit-factor": 2,
            P + "resource-calculator": DOMINANT,
            P + "node-locality-delay": -1,
            P + "rack-locality-additional-delay": 2,
            P + "rack-locality-full-reset": False,
            P + "reservations-continue-look-all-nodes": False,
            P + "per-node-heartbeat.multiple-assignments-enabled": False,
            P + "per-node-heartbeat.maximum-container-assignments": -1,
            P + "per-node-heartbeat.maximum-offswitch-assignments": 9,
            P + "queue-mappings-override.enable": True,
            P + "workflow-priority-mappings": "w:root.a:1",
            P + "workflow-priority-mappings-override.enable": True,
            P + "lazy-preemption-enabled": True,
            P + "application.fail-fast": True,
            P + "user-metrics.enable": True,
            P + "auto-queue-creation-v2.maximum-queue-depth": 4,
            P + "auto-queue-creation-v2.queue-expiration-time": 10,
            "yarn.cluster.max-application-priority": 10,
            "yarn.acl.enable": True,
            "yarn.admin.acl": "root admins",
            "yarn.scheduler.minimum-allocation-mb": 512,
            "yarn.scheduler.maximum-allocation-vcores": 8,
            "yarn.resourcemanager.am.max-attempts": 3,
            "yarn.workflow-id.tag-prefix": "wf:",
            "yarn.resourcemanager.application-tag-based-placement.enable": True,
            "yarn.resourcemanager.application-tag-based-placement.username.whitelist": "hive",
            "yarn.node-labels.enabled": True,
            "yarn.node-labels.configuration-type": "distributed",
            "yarn.resourcemanager.node-labels.am.default-node-label-expression": "gpu",
            "yarn.resourcemanager.node-labels.am.allow-non-exclusive-allocation": True,
        }
    )
    defaults = CapacitySettings()
    changed = {
        name
        for name in CapacitySettings.__struct_fields__
        if getattr(settings, name) != getattr(defaults, name)
    }
    unchanged = set(CapacitySettings.__struct_fields__) - changed
    assert unchanged == {
        "types", "templates", "maximum_override_delay_ms", "heartbeat_interval_ms", "monitor",
        "mappings", "legacy_queue_mode", "labels", "label_of_node", "reservations",
        "fairness",
        "time_limits",
        "bookings",
    }  # fmt: skip
    assert settings.users_maximum_parallel_applications == {"j.doe": 3}
    assert settings.queue_expiration_ms == 10_000
    assert settings.minimum_allocation == (512, 1)
    assert settings.maximum_allocation == (8192, 8)


def test_everything_of_a_queue_is_read() -> None:
    found = queue(
        {
            "maximum-capacity": 70,
            "minimum-user-limit-percent": 12.5,
            "user-limit-factor": -1,
            "user-settings.j.doe.weight": 0.5,
            "user-settings.ann.weight": 1,
            "maximum-applications": 3,
            "max-parallel-apps": 2,
            "maximum-am-resource-percent": 0.25,
            "ordering-policy": "fair",
            "ordering-policy.fair.enable-size-based-weight": True,
            "ordering-policy.exclusive-enforced-partitions": "x,y",
            "priority": 4,
            "default-application-priority": 3,
            "state": "running",
            "acl_submit_applications": " ",
            "acl_administer_queue": "ann dev",
            "maximum-allocation-mb": 2048,
            "maximum-allocation-vcores": 2,
            "maximum-allocation": "memory-mb=4096",
            "disable_preemption": True,
            "intra-queue-preemption.disable_preemption": False,
            "maximum-application-lifetime": 60,
            "default-application-lifetime": 30,
            "allow-zero-capacity-sum": True,
            "accessible-node-labels": "gpu,*",
            "default-node-label-expression": " gpu ",
        }
    )
    assert found == QueueSettings(
        capacity=Percentage(40.0),
        maximum_capacity=Percentage(70.0),
        minimum_user_limit_percent=12.5,
        user_limit_factor=-1.0,
        user_weights={"j.doe": 0.5, "ann": 1.0},
        maximum_applications=3,
        maximum_parallel_applications=2,
        maximum_master_share=0.25,
        ordering_policy="fair",
        size_based_weight=True,
        enforced_partitions=("x", "y"),
        priority=4,
        default_application_priority=3,
        state="RUNNING",
        submit_acl=" ",
        administer_acl="ann dev",
        maximum_allocation_mb=2048,
        maximum_allocation_vcores=2,
        maximum_allocation={"memory-mb": 4096},
        preemption_disabled=True,
        intra_queue_preemption_disabled=False,
        maximum_lifetime_s=60,
        default_lifetime_s=30,
        allow_zero_capacity_sum=True,
        accessible_labels=("*",),
        default_label_expression="gpu",
    )


def test_priority_lists_are_cut_to_the_clusters_maximum() -> None:
    acl = P + "root.a.acl_application_max_priority"
    values: dict[str, object] = {
        acl: "[user=ann max_priority=7]",
        "yarn.cluster.max-application-priority": 5,
    }
    settings, problems = read_capacity(site_of(values))
    assert settings.queues["root.a"].priority_rules == (PriorityRule("ann", 5, 0),)
    assert [problem.severity for problem in problems] == ["warning"]
    assert read({acl: "*"}).queues["root.a"].priority_rules is None


def test_labels_have_capacities_of_their_own() -> None:
    settings, _ = read_capacity(
        site_of(
            {
                P + "root.accessible-node-labels.gpu.capacity": -1,
                P + "root.a.accessible-node-labels.gpu.capacity": 100,
                P + "root.a.accessible-node-labels.gpu.maximum-am-resource-percent": 0.5,
            }
        )
    )
    whole = Percentage(100.0)
    assert settings.queues["root"].label_capacities == {"gpu": LabelCapacity(whole, whole)}
    found = settings.queues["root.a"].label_capacities
    assert found == {"gpu": LabelCapacity(whole, None, 0.5)}


def test_the_class_of_an_ordering_policy_is_its_word() -> None:
    package = "org.apache.hadoop.yarn.server.resourcemanager.scheduler.policy."
    found = queue({"ordering-policy": package + "FifoOrderingPolicyForPendingApps"})
    assert found.ordering_policy == "fifo-for-pending-apps"


@pytest.mark.parametrize(("path", "policy"), [("root", "fair"), ("root.a", "utilization")])
def test_leaves_and_parents_have_policies_of_their_own(path: str, policy: str) -> None:
    (only,) = refused({f"{P}{path}.ordering-policy": policy})
    assert f"Unable to construct the ordering policy '{policy}'" in only


def test_a_queue_that_makes_queues_is_a_parent() -> None:
    found = queue(
        {"auto-queue-creation-v2.enabled": True, "ordering-policy": "priority-utilization"}
    )
    assert found.dynamic_children
    assert found.ordering_policy == "priority-utilization"


def test_templates_are_by_owner_and_kind() -> None:
    v2 = P + "root.a.*.auto-queue-creation-v2."
    settings = read(
        {
            P + "root.a.auto-queue-creation-v2.enabled": True,
            P + "root.a.auto-queue-creation-v2.max-queues": 9,
            P + "root.a.auto-queue-creation-v2.maximum-queue-depth": 3,
            P + "root.a.auto-queue-creation-v2.queue-auto-removal.enable": False,
            v2 + "template.capacity": "2w",
            v2 + "leaf-template.user-limit-factor": 3,
            v2 + "parent-template.ordering-policy": "priority-utilization",
        }
    )
    template = settings.templates["root.a.*"]
    assert template.common == QueueSettings(capacity=Weight(2.0))
    assert template.leaf == QueueSettings(user_limit_factor=3.0)
    assert template.parent == QueueSettings(ordering_policy="priority-utilization")
    assert template.legacy_leaf == QueueSettings()
    own = settings.queues["root.a"]
    assert (own.maximum_dynamic_children, own.maximum_queue_depth) == (9, 3)
    assert own.remove_dynamic is False


def test_the_older_template_is_one_of_a_kind() -> None:
    settings = read(
        {
            P + "root.a.auto-create-child-queue.enabled": True,
            P + "root.a.auto-create-child-queue.max-queues": 5,
            P + "root.a.auto-create-child-queue.fail-on-exceeding-parent-capacity": True,
            P + "root.a.leaf-queue-template.capacity": 10,
        }
    )
    template = settings.templates["root.a"].legacy_leaf
    assert template == QueueSettings(capacity=Percentage(10.0))
    own = settings.queues["root.a"]
    assert own.legacy_dynamic_leaves
    assert own.legacy_fail_on_exceeding
    assert own.legacy_maximum_leaves == 5


def test_a_bad_value_in_a_template_is_refused_only_if_hadoop_reads_it_at_its_start() -> None:
    on: dict[str, object] = {P + "root.a.auto-queue-creation-v2.enabled": True}
    (trap,) = reported(on | {P + "root.a.auto-queue-creation-v2.template.capacity": "much"})
    assert trap.startswith("trap: ")
    assert "'much' is not a number" in trap
    (only,) = refused({P + "root.a.leaf-queue-template.capacity": "much"})
    assert "'much' is not a number" in only
    (trap,) = reported({P + "root.a.leaf-queue-template.ordering-policy": "best"})
    assert trap.startswith("trap: ")


@pytest.mark.parametrize(
    ("suffix", "value", "kept"),
    [
        ("template.capacity", "much", ["leaf", "parent"]),
        ("template.user-limit-factor", "much", ["leaf"]),
        ("template.auto-queue-creation-v2.maximum-queue-depth", "much", ["parent"]),
        ("template.ordering-policy", "fair", ["parent"]),
        ("leaf-template.state", "off", ["leaf"]),
        ("parent-template.priority", "high", ["parent"]),
        ("template.max-parallel-apps", "-1", []),
    ],
)
def test_a_template_knows_which_queues_cannot_be_made_of_it(
    suffix: str, value: str, kept: list[str]
) -> None:
    v2 = P + "root.a.auto-queue-creation-v2."
    settings, _ = read_capacity(site_of({v2 + "enabled": True, v2 + suffix: value}))
    template = settings.templates["root.a"]
    found = {**template.common.unreadable, **template.leaf.unreadable, **template.parent.unreadable}
    assert [key.partition(":")[0] for key in found] == kept


def test_weights_of_users_in_a_template_have_no_effect() -> None:
    name = P + "root.a.auto-queue-creation-v2.leaf-template.user-settings.j.doe.weight"
    (warning,) = reported({P + "root.a.auto-queue-creation-v2.enabled": True, name: "heavy"})
    assert f"{name} has no effect" in warning


@pytest.mark.parametrize(
    "name",
    [
        "root.user-limit-factor",
        "root.maximum-applications",
        "root.a.auto-queue-creation-v2.maximum-queue-depth",
        "root.a.auto-queue-creation-v2.max-queues",
    ],
)
def test_a_bad_value_that_hadoop_ignores_is_only_a_trap(name: str) -> None:
    (trap,) = reported({P + name: "x"})
    assert trap.startswith(f"trap: {P}{name}: 'x' is not a")
    (only,) = refused({P + "root.a.user-limit-factor": "x"})
    assert "'x' is not a number" in only


def test_an_ordering_policy_is_not_blank() -> None:
    (only,) = refused({P + "root.a.ordering-policy": " "})
    assert "Unable to construct the ordering policy ''" in only


def test_what_is_written_of_a_queue_that_may_be_made_is_kept() -> None:
    settings = read(
        {
            P + "root.a.auto-queue-creation-v2.enabled": True,
            P + "root.a.team.ann.capacity": "3w",
        }
    )
    assert settings.queues["root.a.team.ann"] == QueueSettings(capacity=Weight(3.0))


def test_a_queue_in_no_list_is_reported_once() -> None:
    values: dict[str, object] = {
        P + "root.c.capacity": "not looked at",
        P + "root.c.state": "RUNNING",
    }
    settings, problems = read_capacity(site_of(values))
    assert "root.c" not in settings.queues
    (problem,) = problems
    assert problem.rule == "unlisted-queue"
    assert problem.message.startswith("there is no queue root.c: ")


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("root.a.maximum-capactiy", "root.a.maximum-capacity"),
        ("a.user-limit-factor", "root.a.user-limit-factor"),
        ("node-locality-dely", "node-locality-delay"),
        ("rack-locality-delay", "rack-locality-additional-delay"),
        ("preempt.on", None),
    ],
)
def test_the_warning_for_an_unknown_property_suggests_a_similar_one(
    name: str, meant: str | None
) -> None:
    hint = f": is {P}{meant} meant?" if meant else ""
    assert reported({P + name: 1}) == [f"warning: {P}{name} is unknown and has no effect{hint}"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        (P + "schedule-asynchronously.enable", True),
        (P + "schedule-asynchronously.maximum-threads", 2),
        (P + "multi-node-placement-enabled", True),
        (P + "multi-node-sorting.policy", "default"),
        (P + "multi-node-sorting.policy.default.class", "X"),
        (P + "root.a.multi-node-sorting.policy", "default"),
        (P + "skip-allocate-on-nodes-with-reserved-containers", True),
        (P + "root.a.reservable", True),
        (P + "root.a.acl_submit_reservations", "*"),
        ("yarn.scheduler.include-port-in-node-name", True),
    ],
)
def test_a_property_without_effect_is_reported_by_name(name: str, value: object) -> None:
    (message,) = reported({name: value})
    assert message.startswith(f"warning: {name} ")


@pytest.mark.parametrize("name", ["schedule-asynchronously.enable", "multi-node-placement-enabled"])
def test_what_is_not_honoured_may_be_off(name: str) -> None:
    assert reported({P + name: False}) == []


def test_a_capacity_of_root_has_no_effect() -> None:
    (message,) = reported({P + "root.capacity": "90"})
    assert "root always has 100 percent" in message
    assert reported({P + "root.capacity": "100"}) == []


def test_an_assignment_limit_below_one_counts_as_one() -> None:
    name = P + "per-node-heartbeat.maximum-offswitch-assignments"
    settings, problems = read_capacity(site_of({name: 0}))
    assert settings.maximum_off_switch_assignments == 1
    assert [problem.severity for problem in problems] == ["warning"]


def test_all_problems_are_reported_at_their_places() -> None:
    text = f"""<configuration>
<property><name>{P}root.queues</name><value>a,b,b</value></property>
<property><name>{P}root.a.capacity</name><value>-3</value></property>
<property><name>{P}root.b.capacity</name>
          <value>2w2</value></property>
<property><name>{P}root.a.state</name><value>DRAINING</value></property>
<property><name>{P}resource-calculator</name><value>com.example.Calculator</value></property>
<property><name>{P}maximum-applications</name><value>many</value></property>
</configuration>"""
    site = read_site([("capacity-scheduler.xml", text)], Problems())
    with pytest.raises(ConfigurationError) as error:
        read_capacity(site)
    lines = [str(problem) for problem in error.value.problems]
    assert [line.split(":")[1] for line in lines] == ["2", "3", "5", "6", "7", "8"]
    assert f"{P}root.a.capacity: Illegal capacity of -3" in lines[1]
    assert "'DRAINING' is not a state that can be set: RUNNING or STOPPED" in lines[3]


def test_a_tree_that_cannot_be_is_refused_at_its_place() -> None:
    text = f"""<configuration>
<property><name>{P}root.queues</name><value>a,b</value></property>
<property><name>{P}root.a.capacity</name><value>40</value></property>
<property><name>{P}root.b.capacity</name><value>50</value></property>
<property><name>{P}root.user-settings.ann.weight</name><value>1.5</value></property>
<property><name>{P}root.b.maximum-allocation-mb</name><value>999999</value></property>
<property><name>{P}queue-mappings</name><value>u:ann:root.c</value></property>
</configuration>"""
    site = read_site([("capacity-scheduler.xml", text)], Problems())
    with pytest.raises(ConfigurationError) as error:
        read_capacity(site)
    lines = [str(problem) for problem in error.value.problems]
    assert {line.split(":")[1] for line in lines} == {"2", "5", "6", "7"}
    assert any("Illegal capacity sum of 0.9" in line for line in lines)
    assert any("'u:ann:root.c'" in line for line in lines)


def test_a_site_without_queues_is_refused_with_the_file_to_blame() -> None:
    with pytest.raises(ConfigurationError) as error:
        read_capacity(Site.of({}), "c.xml")
    (only,) = error.value.problems
    assert str(only).startswith("c.xml:1:1: error: Queue configuration missing child queue names")


def test_the_memory_calculator_refuses_further_types() -> None:
    (only,) = refused({"yarn.resource-types": "yarn.io/gpu"})
    assert "RM uses DefaultResourceCalculator" in only
    assert "yarn.io/gpu" in only
    settings = read({"yarn.resource-types": "yarn.io/gpu", P + "resource-calculator": DOMINANT})
    assert settings.dominant


@pytest.mark.parametrize("name", ["minimum-allocation-mb", "minimum-allocation-vcores"])
def test_the_smallest_container_is_not_empty(name: str) -> None:
    (only,) = refused({f"yarn.scheduler.{name}": 0})
    assert "allocation configuration" in only


def test_what_hadoop_ships_can_be_read() -> None:
    settings, problems = read_capacity(Site.of(SHIPPED))
    assert problems == ()
    assert list(settings.queues) == ["root", "root.default"]


def test_the_documents_example_needs_a_percent_of_fifty(tmp_path: Path) -> None:
    values: dict[str, object] = {
        P + "root.queues": "default,swords",
        P + "root.default.capacity": 10,
        P + "root.swords.capacity": 90,
        P + "root.swords.queues": "glamdring",
        P + "root.swords.glamdring.capacity": 100,
        P + "root.user-settings.hadoop1.weight": 0.5,
        P + "root.swords.glamdring.user-settings.hadoop1.weight": 2.0,
    }
    with pytest.raises(ConfigurationError, match="hadoop1"):
        read_capacity(Site.of(values))
    values[P + "root.swords.glamdring.minimum-user-limit-percent"] = 50
    settings, problems = read_capacity(Site.of(values))
    assert problems == ()
    assert settings.queues["root"].user_weights == {"hadoop1": 0.5}
    assert settings.queues["root.swords.glamdring"].user_weights == {"hadoop1": 2.0}
