"""Each lint rule of the Capacity Scheduler has a configuration that it finds, at its line, and one
that it leaves alone."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from fairshare.documents.problems import Problem
from fairshare.settings.capacity.lint import RULES
from fairshare.settings.linting import lint

P = "yarn.scheduler.capacity."
PREEMPTION = "yarn.resourcemanager.monitor.capacity.preemption."
MONITOR = "yarn.resourcemanager.scheduler.monitor."
PACKAGE = "org.apache.hadoop.yarn.server.resourcemanager."
SCHEDULER = {
    "yarn.resourcemanager.scheduler.class": PACKAGE + "scheduler.capacity.CapacityScheduler"
}
BASE = {"root.queues": "default,a", "root.default.capacity": 40, "root.a.capacity": 60}
POLICY = PACKAGE + "monitor.capacity.ProportionalCapacityPreemptionPolicy"
ON = {f"{MONITOR}enable": "true", f"{MONITOR}policies": POLICY}
INTRA = {**ON, f"{PREEMPTION}intra-queue-preemption.enabled": "true"}
BELOW_A = {"root.a.queues": "x,y", "root.a.x.capacity": 50, "root.a.y.capacity": 50}


class Sample(NamedTuple):
    """Properties of queues (without prefix) over BASE, and those of yarn-site.xml; `at` is the one
    that the rule points at. `good` are changes that it leaves alone."""

    rule: str
    at: str
    queues: Mapping[str, Any] = {}
    site: Mapping[str, Any] = {}
    good: Mapping[str, Any] = {}
    good_site: Mapping[str, Any] | None = None
    cluster: dict[str, int] | None = None


MAX, MULP, ULF = "maximum-capacity", "minimum-user-limit-percent", "user-limit-factor"
AM = "maximum-am-resource-percent"
RULES_ACL = "[user=ann max_priority=3]"
MAPPINGS = "queue-mappings"
V2 = "auto-queue-creation-v2.enabled"
REMOVAL = PACKAGE + "scheduler.capacity.AutoCreatedQueueDeletionPolicy"
EDIT = PACKAGE + "scheduler.capacity.QueueManagementDynamicEditPolicy"
ACL = {"yarn.acl.enable": "true"}
UNDER = "ordering-policy.priority-utilization.underutilized-preemption.enabled"

SAMPLES = (
    Sample(
        "maximum-below-capacity", f"root.a.{MAX}", {f"root.a.{MAX}": 50}, good={f"root.a.{MAX}": 60}
    ),
    Sample("maximum-of-root", f"root.{MAX}", {f"root.{MAX}": 60}, good={f"root.{MAX}": 100}),
    Sample(
        "maximum-of-one-container",
        f"root.a.{MAX}",
        {f"root.a.{MAX}": "[memory=1024,vcores=1]"},
        good={f"root.a.{MAX}": "[memory=2048,vcores=1]"},
    ),
    Sample(
        "variable-in-list",
        "root.a.acl_submit_applications",
        {"root.a.acl_submit_applications": "ann,%user"},
        good={"root.a.acl_submit_applications": "ann"},
    ),
    Sample("maximum-zero", f"root.a.{MAX}", {f"root.a.{MAX}": 0}, good={f"root.a.{MAX}": 100}),
    Sample(
        "maximum-out-of-range", f"root.a.{MAX}", {f"root.a.{MAX}": 150}, good={f"root.a.{MAX}": -1}
    ),
    Sample("maximum-out-of-range", f"root.a.{MAX}", {f"root.a.{MAX}": -5}),
    Sample(
        "capacity-zero",
        "root.a.capacity",
        {"root.a.capacity": 0, "root.default.capacity": 100},
        good={"root.a.maximum-applications": 5},
    ),
    Sample(
        "capacity-zero",
        "root.queues",
        {"root.a.capacity": None, "root.default.capacity": 100},
        good={"global-queue-max-application": 5},
    ),
    Sample(
        "capacity-zero", "root.a.capacity", {"root.a.capacity": "0w", "root.default.capacity": "1w"}
    ),
    Sample(
        "fraction-as-percentage",
        "root.default.capacity",
        {"root.a.capacity": 0.6, "root.default.capacity": 0.4},
        good={"root.a.capacity": 60, "root.default.capacity": 40},
    ),
    Sample("fraction-as-percentage", f"root.a.{MAX}", {f"root.a.{MAX}": 0.8}),
    Sample("fraction-as-percentage", f"root.a.{MULP}", {f"root.a.{MULP}": 0.5}),
    Sample(
        "percentage-as-fraction", f"root.a.{AM}", {f"root.a.{AM}": 20}, good={f"root.a.{AM}": 1}
    ),
    Sample("percentage-as-fraction", AM, {AM: 10}, good={AM: 0.1}),
    Sample(
        "amounts-above-cluster",
        "root.default.capacity",
        {"root.a.capacity": "[memory=6000]", "root.default.capacity": "[memory=3000]"},
        good={"root.default.capacity": "[memory=2000]"},
        cluster={"memory-mb": 8000, "vcores": 8},
    ),
    Sample(
        "vcores-not-looked-at",
        "root.a.maximum-allocation-vcores",
        {"root.a.maximum-allocation-vcores": 2},
        good={
            "resource-calculator": "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator"
        },
    ),
    Sample(
        "vcores-not-looked-at",
        "root.a.capacity",
        {
            "root.a.capacity": "[memory=6000,vcores=3]",
            "root.default.capacity": "[memory=3000]",
        },
        good={"root.a.capacity": "[memory=6000]"},
    ),
    Sample(
        "user-percent-above-100",
        f"root.a.{MULP}",
        {f"root.a.{MULP}": 120},
        good={f"root.a.{MULP}": 100},
    ),
    Sample(
        "no-applications-per-user",
        f"root.a.{MULP}",
        {f"root.a.{MULP}": 0},
        good={f"root.a.{ULF}": -1},
    ),
    Sample(
        "no-applications-per-user",
        f"root.a.{ULF}",
        {f"root.a.{ULF}": 0.1, "root.a.maximum-applications": 9},
        good={"root.a.maximum-applications": 10},
    ),
    Sample("user-factor-zero", f"root.a.{ULF}", {f"root.a.{ULF}": 0}, good={f"root.a.{ULF}": 0.5}),
    Sample(
        "one-user-cannot-grow", f"root.a.{MAX}", {f"root.a.{MAX}": 90}, good={f"root.a.{ULF}": 1.5}
    ),
    Sample(
        "user-weight-zero",
        "root.a.user-settings.ann.weight",
        {"root.a.user-settings.ann.weight": 0},
        good={"root.a.user-settings.ann.weight": 0.5},
    ),
    Sample("masters-get-nothing", f"root.a.{AM}", {f"root.a.{AM}": 0}, good={f"root.a.{AM}": 0.1}),
    Sample("masters-get-nothing", AM, {AM: 0}),
    Sample(
        "no-applications",
        "root.a.maximum-applications",
        {"root.a.maximum-applications": 0},
        good={"root.a.maximum-applications": 1},
    ),
    Sample(
        "no-applications",
        "root.max-parallel-apps",
        {"root.max-parallel-apps": 0},
        good={"root.max-parallel-apps": 1},
    ),
    Sample(
        "leaf-setting-of-parent",
        f"root.a.{ULF}",
        {**BELOW_A, f"root.a.{ULF}": 2},
        good={f"root.a.{ULF}": None, f"root.a.x.{ULF}": 2},
    ),
    Sample(
        "parent-setting-of-leaf",
        "root.a.allow-zero-capacity-sum",
        {"root.a.allow-zero-capacity-sum": "true"},
        good=BELOW_A,
    ),
    Sample(
        "creation-is-off",
        "root.a.leaf-queue-template.capacity",
        {"root.a.leaf-queue-template.capacity": 5},
        good={"root.a.auto-create-child-queue.enabled": "true"},
    ),
    Sample(
        "creation-is-off",
        "root.a.auto-queue-creation-v2.max-queues",
        {"root.a.auto-queue-creation-v2.max-queues": 5},
        good={f"root.a.{V2}": "true"},
    ),
    Sample(
        "queue-stopped",
        "root.a.state",
        {"root.a.state": "stopped"},
        good={"root.a.state": "running"},
    ),
    Sample(
        "no-default-queue",
        "root.queues",
        {"root.queues": "a,b", "root.b.capacity": 40, "root.default.capacity": None},
        good={MAPPINGS: "u:%user:a"},
    ),
    Sample(
        "short-name-twice",
        "root.a.capacity",
        {"root.default.queues": "a", "root.default.a.capacity": 100},
        INTRA,
        good_site=ON,
    ),
    Sample(
        "mapping-never-reached",
        MAPPINGS,
        {MAPPINGS: "u:%user:a,g:dev:default"},
        good={MAPPINGS: "g:dev:default,u:%user:a"},
    ),
    Sample(
        "mapping-never-reached",
        MAPPINGS,
        {MAPPINGS: "u:ann:a,u:ann:default"},
        good={MAPPINGS: "u:ann:a,u:bob:default"},
    ),
    Sample(
        "mapping-to-stopped-queue",
        MAPPINGS,
        {MAPPINGS: "u:ann:a", "root.a.state": "STOPPED"},
        good={"root.a.state": "RUNNING"},
    ),
    Sample(
        "fallback-missing",
        MAPPINGS,
        {
            "root.queues": "a,b",
            "root.b.capacity": 40,
            "root.default.capacity": None,
            **BELOW_A,
            MAPPINGS: "u:%user:root.a.%user",
        },
        good={"root.queues": "a,default", "root.b.capacity": None, "root.default.capacity": 40},
    ),
    Sample(
        "override-without-mappings",
        "queue-mappings-override.enable",
        {"queue-mappings-override.enable": "true"},
        good={MAPPINGS: "u:ann:a"},
    ),
    Sample(
        "preemption-is-off",
        f"{PREEMPTION}observe_only",
        site={f"{PREEMPTION}observe_only": "false"},
        good_site={**ON, f"{PREEMPTION}observe_only": "false"},
    ),
    Sample(
        "preemption-is-off",
        "root.a.disable_preemption",
        {"root.a.disable_preemption": "false"},
        good_site=ON,
    ),
    Sample(
        "intra-queue-preemption-is-off",
        "root.a.intra-queue-preemption.disable_preemption",
        {"root.a.intra-queue-preemption.disable_preemption": "true"},
        ON,
        good_site=INTRA,
    ),
    Sample(
        "preemption-observes",
        f"{PREEMPTION}total_preemption_per_round",
        site={**ON, f"{PREEMPTION}total_preemption_per_round": 0},
        good_site=ON,
    ),
    Sample(
        "preemption-disabled-everywhere",
        "root.disable_preemption",
        {"root.disable_preemption": "true"},
        ON,
        good={"root.a.disable_preemption": "false"},
    ),
    Sample(
        "underutilized-without-priorities",
        UNDER,
        {UNDER: "true"},
        good={"root.ordering-policy": "priority-utilization"},
    ),
    Sample(
        "queue-priority-not-looked-at",
        "root.a.priority",
        {"root.a.priority": 3},
        good={"root.ordering-policy": "priority-utilization"},
    ),
    Sample(
        "application-priority-capped",
        "root.a.default-application-priority",
        {"root.a.default-application-priority": 3},
        good_site={"yarn.cluster.max-application-priority": 3},
    ),
    Sample(
        "priority-under-fair",
        "root.a.default-application-priority",
        {"root.a.default-application-priority": 3, "root.a.ordering-policy": "fair"},
        good={"root.a.ordering-policy": "fifo"},
    ),
    Sample(
        "priority-rules-not-checked",
        "root.a.acl_application_max_priority",
        {"root.a.acl_application_max_priority": RULES_ACL},
        good_site=ACL,
    ),
    Sample(
        "priority-group-read-as-user",
        "root.a.acl_application_max_priority",
        {"root.a.acl_application_max_priority": "[group=dev max_priority=3]"},
        good={"root.a.acl_application_max_priority": "[user=ann group=dev max_priority=3]"},
    ),
    Sample(
        "workflows-not-mapped",
        "workflow-priority-mappings",
        {"workflow-priority-mappings": "w:root.a:3"},
        good={"workflow-priority-mappings-override.enable": "true"},
    ),
    Sample(
        "container-size-overridden",
        "root.a.maximum-allocation-mb",
        {"root.a.maximum-allocation": "memory-mb=4096", "root.a.maximum-allocation-mb": 4096},
        good={"root.a.maximum-allocation": None},
    ),
    Sample(
        "container-size-below-minimum",
        "root.a.maximum-allocation-mb",
        {"root.a.maximum-allocation-mb": 512},
        good={"root.a.maximum-allocation-mb": 1024},
    ),
    Sample(
        "container-size-without-a-type",
        "root.a.maximum-allocation",
        {"root.a.maximum-allocation": "memory-mb=6144"},
        good={"root.a.maximum-allocation": "memory-mb=6144,vcores=2"},
    ),
    Sample(
        "assigns-one",
        "per-node-heartbeat.maximum-container-assignments",
        {
            "per-node-heartbeat.maximum-container-assignments": 5,
            "per-node-heartbeat.multiple-assignments-enabled": "false",
        },
        good={"per-node-heartbeat.multiple-assignments-enabled": "true"},
    ),
    Sample(
        "rack-delay-without-node-delay",
        "node-locality-delay",
        {"node-locality-delay": -1, "rack-locality-additional-delay": 5},
        good={"node-locality-delay": -1, "rack-locality-additional-delay": 0},
    ),
    Sample(
        "lists-not-checked",
        "root.acl_submit_applications",
        {"root.acl_submit_applications": "ann"},
        good_site=ACL,
    ),
    Sample(
        "all-administer",
        "yarn.acl.enable",
        site=ACL,
        good_site={**ACL, "yarn.admin.acl": "root"},
    ),
    Sample(
        "restriction-void",
        "root.a.acl_submit_applications",
        {"root.a.acl_submit_applications": "ann"},
        ACL,
        good={"root.acl_submit_applications": " ", "root.acl_administer_queue": " "},
    ),
    Sample(
        "nobody-may-submit",
        "root.queues",
        {
            "root.acl_submit_applications": " ",
            "root.acl_administer_queue": " ",
            "root.default.acl_submit_applications": "ann",
        },
        ACL,
        good={"root.a.acl_submit_applications": "bob"},
    ),
    Sample(
        "creation-needs-weights",
        f"root.{V2}",
        {f"root.{V2}": "true"},
        good={"root.a.capacity": "1w", "root.default.capacity": "1w"},
    ),
    Sample(
        "made-queues-stay",
        f"root.a.{V2}",
        {f"root.a.{V2}": "true"},
        good_site={f"{MONITOR}enable": "true", f"{MONITOR}policies": REMOVAL},
    ),
    Sample(
        "legacy-creation-unmanaged",
        "root.a.auto-create-child-queue.enabled",
        {"root.a.auto-create-child-queue.enabled": "true"},
        good_site={f"{MONITOR}enable": "true", f"{MONITOR}policies": EDIT},
    ),
)


SAMPLES += (
    Sample(
        "property-of-other-scheduler",
        "yarn.scheduler.fair.preemption",
        site={"yarn.scheduler.fair.preemption": "true"},
        good_site={},
    ),
)


def write(path: Path, properties: Mapping[str, Any]) -> list[str]:
    """One property on each line from line 2 on; their names."""
    written = {name: value for name, value in properties.items() if value is not None}
    rows = [
        f"<property><name>{name}</name><value>{value}</value></property>"
        for name, value in written.items()
    ]
    path.write_text("<configuration>\n" + "\n".join(rows) + "\n</configuration>\n")
    return list(written)


def problems_of(
    directory: Path,
    queues: Mapping[str, Any],
    site: Mapping[str, Any],
    cluster: dict[str, int] | None = None,
) -> tuple[list[Problem], dict[str, tuple[str, int]]]:
    """What lint finds, and the file and line of each property."""
    lines: dict[str, tuple[str, int]] = {}
    for file, properties in (
        ("capacity-scheduler.xml", {P + k: v for k, v in {**BASE, **queues}.items()}),
        ("yarn-site.xml", {**SCHEDULER, **site}),
    ):
        for number, name in enumerate(write(directory / file, properties), 2):
            lines[name.removeprefix(P)] = (file, number)
    return list(lint(directory, cluster)), lines


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda s: f"{s.rule}-{s.at}")
def test_a_rule_finds_what_it_is_for_at_its_line(sample: Sample, tmp_path: Path) -> None:
    found, lines = problems_of(tmp_path, sample.queues, sample.site, sample.cluster)
    places = [(Path(p.file).name, p.line) for p in found if p.rule == sample.rule]
    assert lines[sample.at] in places
    mine = [problem for problem in found if problem.rule == sample.rule]
    assert all(problem.message and problem.hadoop for problem in mine)


@pytest.mark.parametrize(
    "sample",
    [s for s in SAMPLES if s.good or s.good_site is not None],
    ids=lambda s: f"{s.rule}-{s.at}",
)
def test_a_rule_leaves_alone_what_is_well_meant(sample: Sample, tmp_path: Path) -> None:
    site = sample.site if sample.good_site is None else sample.good_site
    queues = {**sample.queues, **sample.good}
    found, _ = problems_of(tmp_path, queues, site, sample.cluster)
    assert [str(problem) for problem in found if problem.rule == sample.rule] == []


def test_every_rule_has_a_sample_of_both_kinds() -> None:
    assert {sample.rule for sample in SAMPLES} == set(RULES)
    good = {sample.rule for sample in SAMPLES if sample.good or sample.good_site is not None}
    assert good == set(RULES)


def test_a_plain_configuration_has_nothing_to_say(tmp_path: Path) -> None:
    assert problems_of(tmp_path, {}, {})[0] == []
