"""Resource types, their units, and the sizes of containers come from properties."""

import pytest

from fairshare.config.problems import Problems
from fairshare.config.resource_types import (
    AllocationLimits,
    read_increments,
    read_limits,
    read_types,
)
from fairshare.config.site import Site
from fairshare.config.units import convert, read_amount
from fairshare.model.resources import UNBOUNDED, Resource, ResourceTypes


def types_of(**values: object) -> tuple[ResourceTypes, list[str]]:
    problems = Problems()
    site = Site.of({"yarn.resource-types" + key: value for key, value in values.items()})
    return read_types(site, problems), [str(problem) for problem in problems.all]


def test_memory_and_vcores_are_always_there() -> None:
    assert types_of() == (ResourceTypes(), [])


def test_further_types_are_in_the_order_of_the_list_with_their_units() -> None:
    types, problems = types_of(
        **{"": "gpu, vcores, yarn.io/fpga", ".gpu.units": "G", ".memory-mb.units": "Mi"}
    )
    assert types.names == ("memory-mb", "vcores", "gpu", "yarn.io/fpga")
    assert types.units == ("Mi", "", "G", "")
    assert problems == []


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"": "memory"}, "must not be called 'memory'"),
        ({"": "1gpu"}, "'1gpu' is not a name"),
        ({"": "a b"}, "'a b' is not a name"),
        ({"": "/gpu"}, "'/gpu' is not a name"),
        ({"": "gpu", ".gpu.units": "Xi"}, "'Xi' is not a unit"),
        ({".memory-mb.units": "Gi"}, "memory-mb must be 'Mi', not 'Gi'"),
        ({".vcores.units": "k"}, "vcores must have no unit, not 'k'"),
        ({"": "gpu", ".gpu.type": "SCALAR"}, "only COUNTABLE is known"),
    ],
)
def test_bad_types_are_errors(values: dict[str, str], reason: str) -> None:
    problems = types_of(**values)[1]
    assert len(problems) == 1
    assert ": error: " in problems[0]
    assert reason in problems[0]


def test_a_type_that_is_listed_twice_counts_once() -> None:
    types, problems = types_of(**{"": "gpu,gpu"})
    assert types.names == ("memory-mb", "vcores", "gpu")
    assert len(problems) == 1
    assert ": warning: " in problems[0]


GPU = ResourceTypes(("memory-mb", "vcores", "gpu"), ("Mi", "", ""))


def limits(values: dict[str, object]) -> AllocationLimits:
    problems = Problems()
    found = read_limits(Site.of(values), GPU, problems)
    assert problems.all == ()
    return found


def test_sizes_have_hadoops_defaults() -> None:
    assert limits({}) == AllocationLimits((1024, 1, 0), (8192, 4, UNBOUNDED))


def test_a_types_own_property_wins_over_the_scheduler_wide_one() -> None:
    assert limits(
        {
            "yarn.scheduler.minimum-allocation-mb": 256,
            "yarn.scheduler.maximum-allocation-vcores": 32,
            "yarn.resource-types.memory-mb.minimum-allocation": 512,
            "yarn.resource-types.vcores.minimum-allocation": 2,
            "yarn.resource-types.gpu.maximum-allocation": 4,
        }
    ) == AllocationLimits((512, 2, 0), (8192, 32, 4))


def increments(values: dict[str, object]) -> tuple[Resource, list[str]]:
    problems = Problems()
    found = read_increments(Site.of(values), GPU, problems)
    return found, [str(problem) for problem in problems.all]


def test_increments_have_hadoops_defaults() -> None:
    assert increments({}) == ((1024, 1, 0), [])


def test_increments_may_have_units_that_are_converted() -> None:
    assert increments(
        {
            "yarn.resource-types.memory-mb.increment-allocation": "1 Gi",
            "yarn.resource-types.vcores.increment-allocation": "1k",
            "yarn.resource-types.gpu.increment-allocation": "2",
        }
    ) == ((1024, 1000, 2), [])


def test_the_new_increment_wins_over_the_old_one_with_a_warning() -> None:
    found, problems = increments(
        {
            "yarn.scheduler.increment-allocation-mb": 512,
            "yarn.resource-types.memory-mb.increment-allocation": "256",
        }
    )
    assert found == (256, 1, 0)
    assert len(problems) == 1
    assert "yarn.scheduler.increment-allocation-mb has no effect" in problems[0]


@pytest.mark.parametrize("text", ["1 Xi", "1  Gi", "-1", "Gi", "1.5", "99999999999999999999"])
def test_bad_increments_are_errors(text: str) -> None:
    found, problems = increments({"yarn.resource-types.gpu.increment-allocation": text})
    assert found == (1024, 1, 0)
    assert len(problems) == 1
    assert ": error: " in problems[0]


def test_conversion_cuts_fractions_off() -> None:
    assert convert(1, "Gi", "Mi") == 1024
    assert convert(1536, "Ki", "Mi") == 1
    assert convert(3, "", "m") == 3000
    assert read_amount("1 Gi", "Mi") == 1024
    assert read_amount("7", "Mi") == 7
