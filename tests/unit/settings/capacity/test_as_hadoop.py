"""What is taken and what is refused, as recorded of Hadoop 3.4.1 with the same properties."""

import pytest

from fairshare.errors import ConfigurationError
from fairshare.settings.capacity.reading import read_capacity
from fairshare.settings.site import Site

P = "yarn.scheduler.capacity."
BASE = {"root.queues": "a,b", "root.a.capacity": 50, "root.b.capacity": 50}
BELOW = {"root.a.queues": "c,d", "root.a.c.capacity": 50, "root.a.d.capacity": 50}
MANAGED = "root.a.auto-create-child-queue.enabled"
LABEL = "accessible-node-labels.x.capacity"

TAKEN: dict[str, dict[str, object]] = {
    "a maximum above 100": {"root.a.maximum-capacity": 150},
    "a maximum below 0": {"root.a.maximum-capacity": -5},
    "any weight where the least share of a user is 0": {
        "root.a.minimum-user-limit-percent": 0,
        "root.a.user-settings.u.weight": 500,
    },
    "a factor below -1": {"root.a.user-limit-factor": -2},
    "a label that is accessible, without a capacity": {"root.a.accessible-node-labels": "x"},
    "a label of which one child has all": {f"root.a.{LABEL}": 100},
    "a largest container for all below root": {"root.maximum-allocation-mb": 2048},
    "-1 for the largest container": {"root.a.maximum-allocation-mb": -1},
    "a largest container that another setting hides": {
        "root.a.maximum-allocation": "memory-mb=2048,vcores=2",
        "root.a.maximum-allocation-mb": "much",
    },
    "labels below a queue that has all": {"root.a.accessible-node-labels": "x,y"},
    "a default label of a parent that only a child below may not use": {
        **BELOW,
        "root.a.accessible-node-labels": "x",
        "root.a.default-node-label-expression": "x",
        "root.a.c.accessible-node-labels": "",
    },
    "a template of the older creation that is wrong in what is read later": {
        MANAGED: True,
        "root.a.leaf-queue-template.ordering-policy": "best",
        "root.a.leaf-queue-template.user-settings.u.weight": "heavy",
        "root.a.leaf-queue-template.state": "off",
    },
    "a weight in a template below a percentage": {
        MANAGED: True,
        "root.a.leaf-queue-template.capacity": "1w",
    },
    "a template that no queue can be made of": {
        "root.a.auto-queue-creation-v2.enabled": True,
        "root.a.auto-queue-creation-v2.template.capacity": "much",
        "root.a.auto-queue-creation-v2.leaf-template.maximum-allocation-mb": 99_999,
    },
}
REFUSED: dict[str, tuple[dict[str, object], str]] = {
    "a weight where the least share of a user is negative": (
        {"root.a.minimum-user-limit-percent": -3, "root.a.user-settings.u.weight": 1},
        r'Weight \(1\) for user "u" must be between 0 and 100 / -3 \(= -33\.3333\)',
    ),
    "a largest container of root above the cluster's": (
        {"root.maximum-allocation-mb": 20480},
        "cannot be larger than the cluster setting for queue root",
    ),
    "children that have 60 percent of a label": (
        {f"root.a.{LABEL}": 30, f"root.b.{LABEL}": 30},
        r"sum of 0\.6 for children of queue root for label=x",
    ),
    "one child that has 40 percent of a label": (
        {f"root.a.{LABEL}": 40},
        r"sum of 0\.4 for children of queue root for label=x",
    ),
    "more labels than the parent has": (
        {**BELOW, "root.a.accessible-node-labels": "x", "root.a.c.accessible-node-labels": "x,y,z"},
        r"Some labels of child queue is not a subset of parent queue, these labels=\[y,z\]",
    ),
    "all labels below a queue that has one": (
        {**BELOW, "root.a.accessible-node-labels": "x", "root.a.c.accessible-node-labels": "*"},
        r"Parent's accessible queue is not ANY\(\*\), but child's accessible queue is \*",
    ),
    "a default label that the leaf may not use": (
        {
            "root.a.accessible-node-labels": "x",
            "root.a.default-node-label-expression": "x && y",
        },
        "Invalid default label expression of queue=root.a",
    ),
    "a default label that a leaf inherits, and may not use": (
        {
            **BELOW,
            "root.a.accessible-node-labels": "x",
            "root.default-node-label-expression": "y",
            "root.a.default-node-label-expression": "y",
        },
        r"Invalid default label expression of queue=root\.a\.c",
    ),
    "amounts in a template below a percentage": (
        {MANAGED: True, "root.a.leaf-queue-template.capacity": "[memory=1024,vcores=1]"},
        "Managed Parent Queue root.a config type is different from leaf queue template",
    ),
    "amounts of a label in a template below a percentage": (
        {
            MANAGED: True,
            "root.a.accessible-node-labels": "x",
            f"root.a.leaf-queue-template.{LABEL}": "[memory=1024,vcores=1]",
        },
        "Managed Parent Queue root.a config type is different from leaf queue template",
    ),
    "a label of a template that its parent may not use": (
        {
            MANAGED: True,
            "root.a.accessible-node-labels": "y",
            f"root.a.leaf-queue-template.{LABEL}": 100,
        },
        "Invalid node label x on configured leaf template on parent queue root.a",
    ),
    "a class for the capacities of created leaves that there is not": (
        {MANAGED: True, "root.a.auto-create-child-queue.management-policy": "com.example.Policy"},
        "Could not instantiate AutoCreatedQueueManagementPolicy: com.example.Policy",
    ),
    "a label of which a child has nothing": (
        {f"root.a.{LABEL}": 0},
        "sum of 0 for children of queue root for label=x",
    ),
    "a label that root alone has": (
        {f"root.{LABEL}": 100},
        "sum of 0 for children of queue root for label=x",
    ),
    "a label that a parent alone has": (
        {**BELOW, f"root.a.{LABEL}": 100},
        r"sum of 0 for children of queue root\.a for label=x",
    ),
    "a label that only a grandchild has": (
        {**BELOW, f"root.a.c.{LABEL}": 100},
        "sum of 0 for children of queue root for label=x",
    ),
}


def site(values: dict[str, object]) -> Site:
    return Site.of({P + name: value for name, value in {**BASE, **values}.items()})


@pytest.mark.parametrize("case", TAKEN)
def test_hadoop_takes_it(case: str) -> None:
    read_capacity(site(TAKEN[case]))


@pytest.mark.parametrize("case", REFUSED)
def test_hadoop_refuses_it(case: str) -> None:
    values, reported = REFUSED[case]
    with pytest.raises(ConfigurationError, match=reported):
        read_capacity(site(values))


@pytest.mark.parametrize("value", [" 2", "2 ", "0x2", "2.0"])
def test_max_parallel_apps_is_read_without_removing_blanks(value: str) -> None:
    with pytest.raises(ConfigurationError, match="is not a whole number"):
        read_capacity(site({"root.a.max-parallel-apps": value}))
