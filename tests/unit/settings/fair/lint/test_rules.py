"""Each lint rule has a configuration that it finds, at its line, and one that it leaves alone."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import pytest

from fairshare.documents.problems import Problem, Problems
from fairshare.settings.fair.lint import RULES
from fairshare.settings.fair.lint.subject import Subject, find_elements
from fairshare.settings.fair.reading import collect_fair
from fairshare.settings.lint_rules import apply_rules
from fairshare.settings.site import Site

FAIR = "yarn.scheduler.fair."


class Sample(NamedTuple):
    """A file, line by line, and properties; `line` is where the rule points, 0: nowhere."""

    rule: str
    line: int
    xml: str = ""
    properties: Mapping[str, Any] = {}
    cluster: tuple[int, ...] | None = None


def one(name: str, inside: str) -> str:
    return f"<queue name='{name}'>\n{inside}\n</queue>"


CHILDREN = (
    "<queue name='a'>\n{}\n<queue name='b'><minResources>3000 mb, 3 vcores</minResources></queue>"
    "<queue name='c'><minResources>2000 mb, 1 vcores</minResources></queue></queue>"
)
TIMEOUT = "<fairSharePreemptionTimeout>60</fairSharePreemptionTimeout>"
TIMEOUT_OF_ALL = "<defaultFairSharePreemptionTimeout>2</defaultFairSharePreemptionTimeout>"
RULES_OF = "<queuePlacementPolicy>\n{}\n</queuePlacementPolicy>"

SAMPLES = (
    Sample(
        "minimum-above-maximum",
        3,
        one(
            "a",
            "<minResources>6000 mb, 1 vcores</minResources><maxResources>50%</maxResources>",
        ),
        cluster=(10000, 10),
    ),
    Sample(
        "minimums-above-bound", 3, CHILDREN.format("<maxResources>4 vcores,4000 mb</maxResources>")
    ),
    Sample("minimums-above-bound", 2, CHILDREN.format(""), cluster=(10000, 3)),
    Sample(
        "minimums-above-parents-minimum",
        3,
        CHILDREN.format("<minResources>5000 mb,3 vcores</minResources>"),
    ),
    Sample("weight-zero", 3, one("a", "<weight>0.0</weight>")),
    Sample("maximum-zero", 3, one("a", "<maxResources>4096 mb, 0 vcores</maxResources>")),
    Sample(
        "maximum-zero",
        3,
        one("a", "<maxResources>memory-mb=50%,vcores=50%,gpu=0%</maxResources>"),
        {"yarn.resource-types": "gpu"},
    ),
    Sample("maximum-zero", 2, "<queueMaxResourcesDefault>0%</queueMaxResourcesDefault>"),
    Sample("maximum-without-vcores", 3, one("a", "<maxResources>memory-mb=4096</maxResources>")),
    Sample("maximum-below-container", 3, one("a", "<maxResources>512 mb, 1 vcores</maxResources>")),
    Sample(
        "maximum-below-container",
        3,
        one("a", "<maxResources>1%</maxResources>"),
        cluster=(10000, 400),
    ),
    Sample(
        "maximum-of-one-container", 3, one("a", "<maxResources>9000 mb,1 vcores</maxResources>")
    ),
    Sample(
        "default-maximum-binds-root",
        2,
        "<queueMaxResourcesDefault>4096 mb, 4 vcores</queueMaxResourcesDefault>",
    ),
    Sample(
        "utilization-needs-other-queues",
        3,
        "<queue name='a'>\n<maxResources>50%</maxResources><queue name='b'/></queue>"
        + TIMEOUT_OF_ALL,
        {FAIR + "preemption": True},
        cluster=(10000, 10),
    ),
    Sample("variable-in-list", 3, one("a", "<aclSubmitApps>ann,${user.name}</aclSubmitApps>")),
    Sample("child-maximum-of-leaf", 3, one("a", "<maxChildResources>50%</maxChildResources>")),
    Sample(
        "master-share-too-small",
        4,
        one("a", "<maxResources>8192 mb, 4 vcores</maxResources>\n<maxAMShare>0.1</maxAMShare>"),
    ),
    Sample(
        "master-share-too-small",
        2,
        "<queueMaxAMShareDefault>0.1</queueMaxAMShareDefault>" + one("a", ""),
        cluster=(8192, 4),
    ),
    Sample("master-share-too-small", 3, one("a", "<maxAMShare>0</maxAMShare>")),
    Sample("master-share-too-small", 3, one("a", "<maxAMShare>-0.5</maxAMShare>")),
    Sample(
        "container-maximum-above-schedulers",
        3,
        one("a", "<maxContainerAllocation>9000 mb, 2 vcores</maxContainerAllocation>"),
    ),
    Sample(
        "container-maximum-below-minimum",
        3,
        one("a", "<maxContainerAllocation>vcores=0</maxContainerAllocation>"),
    ),
    Sample(
        "increment-does-not-divide-maximum",
        0,
        properties={"yarn.scheduler.increment-allocation-mb": 3000},
    ),
    Sample("preemption-cannot-fire", 0, properties={FAIR + "preemption": True}),
    Sample(
        "preemption-cannot-fire",
        0,
        one("a", "<minSharePreemptionTimeout>9</minSharePreemptionTimeout>"),
        {FAIR + "preemption": True},
    ),
    Sample("timeouts-without-preemption", 3, one("a", TIMEOUT)),
    Sample(
        "timeout-without-minimum",
        3,
        one("a", "<minSharePreemptionTimeout>9</minSharePreemptionTimeout>"),
    ),
    Sample(
        "threshold-above-one",
        3,
        one("a", "<fairSharePreemptionThreshold>60</fairSharePreemptionThreshold>"),
    ),
    Sample(
        "threshold-zero",
        3,
        one("a", "<fairSharePreemptionThreshold>0</fairSharePreemptionThreshold>"),
    ),
    Sample(
        "preemption-overridden",
        5,
        one(
            "a",
            "<allowPreemptionFrom>false</allowPreemptionFrom>\n"
            + one("b", "<allowPreemptionFrom>true</allowPreemptionFrom>"),
        ),
    ),
    Sample(
        "nothing-to-preempt",
        3,
        one("root", "<allowPreemptionFrom>false</allowPreemptionFrom>" + one("a", "")),
        {FAIR + "preemption": True},
    ),
    Sample(
        "utilization-out-of-reach",
        0,
        properties={
            FAIR + "preemption": True,
            FAIR + "preemption.cluster-utilization-threshold": "1.0",
        },
    ),
    Sample(
        "rule-never-reached",
        4,
        RULES_OF.format(
            "<rule name='specified'/>\n<rule name='specified' create='false'/><rule name='reject'/>"
        ),
    ),
    Sample(
        "rule-finds-no-queue",
        3,
        RULES_OF.format("<rule name='user' create='false'/><rule name='reject'/>"),
    ),
    Sample(
        "rule-finds-no-queue",
        3,
        RULES_OF.format(
            "<rule name='nestedUserQueue' create='false'><rule name='default' queue='a'/></rule>"
            "<rule name='reject'/>"
        )
        + one("a", ""),
    ),
    Sample(
        "default-queue-is-parent",
        3,
        RULES_OF.format("<rule name='default' queue='a'/>") + one("a", one("b", "")),
    ),
    Sample(
        "placement-properties-overridden",
        0,
        RULES_OF.format("<rule name='reject'/>"),
        {FAIR + "allow-undeclared-pools": True},
    ),
    Sample("user-queues-not-created", 0, properties={FAIR + "allow-undeclared-pools": False}),
    Sample("default-queue-undeclared", 0, one("a", ""), {FAIR + "allow-undeclared-pools": False}),
    Sample(
        "nobody-may-submit",
        6,
        one(
            "root",
            "<aclSubmitApps> </aclSubmitApps>\n<aclAdministerApps> </aclAdministerApps>\n"
            + one("a", "<aclSubmitApps> , </aclSubmitApps>"),
        ),
    ),
    Sample(
        "administration-opens-submission",
        3,
        one("root", "<aclSubmitApps>ann</aclSubmitApps>" + one("a", "")),
    ),
    Sample("restriction-void", 3, one("a", "<aclSubmitApps>ann</aclSubmitApps>")),
    Sample("administration-unchecked", 3, one("a", "<aclAdministerApps>ann</aclAdministerApps>")),
    Sample("all-administer", 0, properties={"yarn.acl.enable": True}),
    Sample(
        "default-policy-forbidden",
        4,
        "<defaultQueueSchedulingPolicy>drf</defaultQueueSchedulingPolicy>\n"
        + one("root", "<schedulingPolicy>fair</schedulingPolicy>"),
    ),
    Sample("assigns-one", 0, properties={FAIR + "max.assign": 3}),
    Sample(
        "assigns-by-free-room",
        0,
        properties={FAIR + "assignmultiple": True, FAIR + "max.assign": 3},
    ),
    Sample("locality-half-set", 0, properties={FAIR + "locality.threshold.rack": 0.5}),
    Sample(
        "locality-half-set",
        0,
        properties={
            FAIR + "locality-delay-node-ms": 5,
            FAIR + "continuous-scheduling-enabled": True,
        },
    ),
    Sample("locality-of-other-mode", 0, properties={FAIR + "locality-delay-node-ms": 5}),
    Sample(
        "locality-of-other-mode",
        0,
        properties={
            FAIR + "locality.threshold.node": 0.5,
            FAIR + "continuous-scheduling-enabled": True,
        },
    ),
    Sample("sleep-not-honoured", 0, properties={FAIR + "continuous-scheduling-sleep-ms": 9}),
    Sample("master-preemption-of-no-leaf", 0, one("a", ""), {FAIR + "am.preemption.a": False}),
    Sample(
        "master-preemption-of-no-leaf",
        0,
        one("a", one("b", "")),
        {FAIR + "am.preemption.root.a": False},
    ),
    Sample(
        "property-of-other-scheduler", 0, properties={"yarn.scheduler.capacity.root.queues": "a"}
    ),
)
"""What each rule finds."""

HARMLESS = (
    Sample(
        "maximum-of-one-container", 0, one("a", "<maxResources>9000 mb,2 vcores</maxResources>")
    ),
    Sample(
        "default-maximum-binds-root",
        0,
        "<queueMaxResourcesDefault>4096 mb, 4 vcores</queueMaxResourcesDefault>"
        + one("root", "<maxResources>100%</maxResources>"),
    ),
    Sample(
        "default-maximum-binds-root",
        0,
        "<queueMaxResourcesDefault>4096 mb, 4 vcores</queueMaxResourcesDefault>",
        cluster=(4096, 4),
    ),
    Sample(
        "utilization-needs-other-queues",
        0,
        "<queue name='a'>\n<maxResources>50%</maxResources><queue name='b'/></queue>"
        + TIMEOUT_OF_ALL,
        {FAIR + "preemption": True, FAIR + "preemption.cluster-utilization-threshold": 0.4},
        cluster=(10000, 10),
    ),
    Sample("variable-in-list", 0, one("a", "<aclSubmitApps>ann staff</aclSubmitApps>")),
    Sample(
        "minimum-above-maximum",
        0,
        one(
            "a",
            "<minResources>5000 mb, 1 vcores</minResources><maxResources>50%</maxResources>",
        ),
        cluster=(10000, 10),
    ),
    Sample(
        "minimums-above-bound", 0, CHILDREN.format("<maxResources>5000 mb,4 vcores</maxResources>")
    ),
    Sample("minimums-above-bound", 0, CHILDREN.format(""), cluster=(5000, 4)),
    Sample(
        "minimums-above-parents-minimum",
        0,
        CHILDREN.format("<minResources>5000 mb,4 vcores</minResources>"),
    ),
    Sample("weight-zero", 0, one("a", "<weight>0.1</weight>")),
    Sample("maximum-zero", 0, one("a", "<maxResources>4096 mb, 1 vcores</maxResources>")),
    Sample(
        "maximum-zero",
        0,
        one("a", "<maxResources>4096 mb, 1 vcores</maxResources>"),
        {"yarn.resource-types": "gpu"},
    ),
    Sample("maximum-without-vcores", 0, one("a", "<maxResources>vcores=4</maxResources>")),
    Sample("maximum-below-container", 0, one("a", "<maxResources>1024 mb,1 vcores</maxResources>")),
    Sample(
        "child-maximum-of-leaf",
        0,
        one("a", "<maxChildResources>50%</maxChildResources>" + one("b", "")),
    ),
    Sample(
        "master-share-too-small",
        0,
        one("a", "<maxResources>8192 mb, 4 vcores</maxResources><maxAMShare>0.125</maxAMShare>"),
    ),
    Sample(
        "master-share-too-small", 0, one("a", "<maxAMShare>-1.0</maxAMShare>"), cluster=(1024, 1)
    ),
    Sample("master-share-too-small", 0, one("a", "<maxResources>0 mb, 0 vcores</maxResources>")),
    Sample(
        "container-maximum-above-schedulers",
        0,
        one("a", "<maxContainerAllocation>memory-mb=8192</maxContainerAllocation>"),
    ),
    Sample(
        "container-maximum-below-minimum",
        0,
        one("a", "<maxContainerAllocation>1024 mb, 1 vcores</maxContainerAllocation>"),
    ),
    Sample(
        "increment-does-not-divide-maximum",
        0,
        properties={"yarn.scheduler.increment-allocation-mb": 512},
    ),
    Sample("preemption-cannot-fire", 0, one("a", TIMEOUT), {FAIR + "preemption": True}),
    Sample(
        "preemption-cannot-fire",
        0,
        "<defaultMinSharePreemptionTimeout>9</defaultMinSharePreemptionTimeout>"
        + one("a", "<minResources>1 mb, 1 vcores</minResources>"),
        {FAIR + "preemption": True},
    ),
    Sample("preemption-cannot-fire", 0),
    Sample("timeouts-without-preemption", 0, one("a", TIMEOUT), {FAIR + "preemption": True}),
    Sample(
        "timeout-without-minimum",
        0,
        one(
            "a",
            "<minSharePreemptionTimeout>9</minSharePreemptionTimeout>"
            "<minResources>1 mb, 1 vcores</minResources>",
        ),
    ),
    Sample(
        "threshold-above-one",
        0,
        one("a", "<fairSharePreemptionThreshold>1</fairSharePreemptionThreshold>"),
    ),
    Sample(
        "threshold-zero",
        0,
        one("a", "<fairSharePreemptionThreshold>.1</fairSharePreemptionThreshold>"),
    ),
    Sample(
        "preemption-overridden",
        0,
        one("a", one("b", "<allowPreemptionFrom>true</allowPreemptionFrom>")),
    ),
    Sample(
        "nothing-to-preempt",
        0,
        one("a", "<allowPreemptionFrom>false</allowPreemptionFrom>"),
        {FAIR + "preemption": True},
    ),
    Sample(
        "utilization-out-of-reach",
        0,
        properties={
            FAIR + "preemption": True,
            FAIR + "preemption.cluster-utilization-threshold": "0.99",
        },
    ),
    Sample(
        "rule-never-reached",
        0,
        RULES_OF.format(
            "<rule name='user' create='false'/><rule name='specified'/><rule name='user'/>"
        ),
    ),
    Sample(
        "rule-finds-no-queue",
        0,
        RULES_OF.format(
            "<rule name='nestedUserQueue' create='false'><rule name='default' queue='a'/></rule>"
            "<rule name='specified' create='false'/><rule name='reject'/>"
        )
        + one("a", one("b", "")),
    ),
    Sample(
        "default-queue-is-parent",
        0,
        RULES_OF.format("<rule name='default' queue='a.b'/>") + one("a", one("b", "")),
    ),
    Sample("placement-properties-overridden", 0, "", {FAIR + "allow-undeclared-pools": False}),
    Sample(
        "user-queues-not-created",
        0,
        properties={FAIR + "allow-undeclared-pools": False, FAIR + "user-as-default-queue": False},
    ),
    Sample(
        "default-queue-undeclared", 0, one("default", ""), {FAIR + "allow-undeclared-pools": False}
    ),
    Sample(
        "nobody-may-submit",
        0,
        one(
            "root",
            "<aclSubmitApps> </aclSubmitApps><aclAdministerApps> </aclAdministerApps>"
            + one("a", "<aclSubmitApps> staff</aclSubmitApps>"),
        ),
    ),
    Sample(
        "administration-opens-submission",
        0,
        one(
            "root",
            "<aclSubmitApps>ann</aclSubmitApps><aclAdministerApps>ann</aclAdministerApps>",
        ),
    ),
    Sample(
        "restriction-void",
        0,
        one(
            "root",
            "<aclSubmitApps>ann</aclSubmitApps><aclAdministerApps>ann</aclAdministerApps>"
            + one("a", "<aclSubmitApps>bob</aclSubmitApps>"),
        ),
    ),
    Sample(
        "administration-unchecked",
        0,
        one("a", "<aclAdministerApps>ann</aclAdministerApps>"),
        {"yarn.acl.enable": True},
    ),
    Sample("all-administer", 0, properties={"yarn.acl.enable": True, "yarn.admin.acl": "root"}),
    Sample(
        "default-policy-forbidden",
        0,
        "<defaultQueueSchedulingPolicy>drf</defaultQueueSchedulingPolicy>" + one("root", ""),
    ),
    Sample("assigns-one", 0, properties={FAIR + "assignmultiple": True, FAIR + "max.assign": 3}),
    Sample(
        "assigns-by-free-room",
        0,
        properties={
            FAIR + "assignmultiple": True,
            FAIR + "dynamic.max.assign": False,
            FAIR + "max.assign": 3,
        },
    ),
    Sample(
        "locality-half-set",
        0,
        properties={
            FAIR + "locality.threshold.rack": 0.5,
            FAIR + "locality.threshold.node": 0.5,
        },
    ),
    Sample("locality-of-other-mode", 0, properties={FAIR + "locality.threshold.node": 0.5}),
    Sample("sleep-not-honoured", 0, properties={FAIR + "continuous-scheduling-enabled": True}),
    Sample("master-preemption-of-no-leaf", 0, "", {FAIR + "am.preemption.root.a": False}),
    Sample(
        "property-of-other-scheduler",
        0,
        properties={"yarn.nodemanager.resource.memory-mb": 8192, "dfs.replication": 3},
    ),
)
"""What each rule leaves alone."""


def found_in(sample: Sample) -> list[Problem]:
    """All that the rules say of a sample, whose first line is `<allocations>`."""
    document = f"<allocations>\n{sample.xml}\n</allocations>".encode()
    site = Site.of(sample.properties)
    problems = Problems()
    settings = collect_fair(site, document, "fair-scheduler.xml", problems)
    assert problems.errors == ()
    elements = find_elements(document, "fair-scheduler.xml", settings.types)
    said = Problems()
    apply_rules(RULES, Subject(settings, site, elements, sample.cluster), said)
    return list(said.all)


def name_of(sample: Sample) -> str:
    return sample.rule


@pytest.mark.parametrize("sample", SAMPLES, ids=name_of)
def test_a_rule_finds_what_it_is_for_at_its_line(sample: Sample) -> None:
    found = [problem for problem in found_in(sample) if problem.rule == sample.rule]
    assert [problem.line for problem in found] == [sample.line]
    (problem,) = found
    assert problem.file == ("fair-scheduler.xml" if sample.line else "properties")
    assert problem.severity in ("trap", "warning")
    assert problem.message
    assert problem.hadoop


@pytest.mark.parametrize("sample", HARMLESS, ids=name_of)
def test_a_rule_leaves_alone_what_is_meant(sample: Sample) -> None:
    assert [problem for problem in found_in(sample) if problem.rule == sample.rule] == []


def test_every_rule_has_a_file_that_it_finds_and_one_that_it_leaves_alone() -> None:
    assert {sample.rule for sample in SAMPLES} == set(RULES)
    assert {sample.rule for sample in HARMLESS} == set(RULES)


def test_an_allocation_file_alone_says_nothing_of_preemption_being_off() -> None:
    document = f"<allocations>{one('a', TIMEOUT)}</allocations>".encode()
    settings = collect_fair(Site.of({}), document, "f", Problems())
    elements = find_elements(document, "f", settings.types)
    said = Problems()
    apply_rules(RULES, Subject(settings, Site.of({}), elements, has_site=False), said)
    assert said.all == ()
