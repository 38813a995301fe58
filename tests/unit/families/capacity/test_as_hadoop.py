"""What is taken and what is refused, as recorded of Hadoop 3.4.1 with the same properties."""

import pytest

from fairshare.config.site import Site
from fairshare.errors import ConfigurationError
from fairshare.families.capacity.reading import read_capacity

P = "yarn.scheduler.capacity."
BASE = {"root.queues": "a,b", "root.a.capacity": 50, "root.b.capacity": 50}
BELOW = {"root.a.queues": "c,d", "root.a.c.capacity": 50, "root.a.d.capacity": 50}
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
