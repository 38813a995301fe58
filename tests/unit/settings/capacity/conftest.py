"""Sites of the Capacity Scheduler as their properties, read with all that is told of them."""

import pytest

from fairshare.core.schedulers.capacity.settings import CapacitySettings, QueueSettings
from fairshare.errors import ConfigurationError
from fairshare.settings.capacity.reading import read_capacity
from fairshare.settings.site import Site

P = "yarn.scheduler.capacity."
QUEUES: dict[str, object] = {
    P + "root.queues": "a, b",
    P + "root.a.capacity": 40,
    P + "root.b.capacity": 60,
}


def site_of(values: dict[str, object]) -> Site:
    return Site.of(QUEUES | values)


def read(values: dict[str, object]) -> CapacitySettings:
    """Settings of which nothing is said but that a property is not honoured."""
    settings, problems = read_capacity(site_of(values))
    assert [problem for problem in problems if problem.rule != "unsupported"] == []
    return settings


def queue(suffixes: dict[str, object], path: str = "root.a") -> QueueSettings:
    return read({f"{P}{path}.{suffix}": value for suffix, value in suffixes.items()}).queues[path]


def reported(values: dict[str, object]) -> list[str]:
    """Warnings and traps of settings that can be read."""
    _, problems = read_capacity(site_of(values))
    return [f"{problem.severity}: {problem.message}" for problem in problems]


def refused(values: dict[str, object]) -> list[str]:
    with pytest.raises(ConfigurationError) as error:
        read_capacity(site_of(values))
    return [str(problem) for problem in error.value.problems]
