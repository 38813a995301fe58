"""Resource types, their units, and the sizes of containers come from properties."""

import pytest

from fairshare.core.model.resources import UNBOUNDED, Resource, ResourceTypes
from fairshare.documents.problems import Problems
from fairshare.documents.units import convert, read_amount
from fairshare.settings.resource_types import (
    AllocationLimits,
    read_increments,
    read_limits,
    read_types,
)
from fairshare.settings.site import Site


def types_of(**values: object) -> tuple[ResourceTypes, list[str]]:
    problems = Problems()
    site = Site.of({"yarn.resource-types" + key: value for key, value in values.items()})
    return read_types(site, problems), [str(problem) for problem in problems.all]


def test_memory_and_vcores_are_always_there() -> None:
    assert types_of() == (ResourceTypes(), [])


def test_further_types_are_in_the_order_of_the_list_with_their_units() -> None:
    types, problems = types_of(**{"": "gpu\nyarn.io/fpga", ".gpu.units": "G"})
    assert types.names == ("memory-mb", "vcores", "gpu", "yarn.io/fpga")
    assert types.units == ("Mi", "", "G", "")
    assert problems == []


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"": "memory"}, "Attempt to re-define mandatory resource 'memory'"),
        ({"": "memory-mb,gpu"}, "Attempt to re-define mandatory resource 'memory-mb'"),
        ({"": "gpu,vcores"}, "Attempt to re-define mandatory resource 'vcores'"),
        ({"": "gpu,gpu"}, "'gpu' specified twice"),
        ({"": "gpu,,fpga"}, "a part of the list is empty"),
        ({"": "gpu", ".gpu.units": " G"}, "' G' is not a unit"),
        ({"": "gpu", ".gpu.type": "countable"}, "only COUNTABLE is known"),
        ({"": "yarn.io/gpu", ".yarn.io/gpu.units": "k"}, "yarn.io/gpu is counted in whole devices"),
        ({"": "1gpu"}, "'1gpu' is not a name"),
        ({"": "a b"}, "'a b' is not a name"),
        ({"": "/gpu"}, "'/gpu' is not a name"),
        ({"": "gpu", ".gpu.units": "Xi"}, "'Xi' is not a unit"),
        ({"": "gpu", ".gpu.type": "SCALAR"}, "only COUNTABLE is known"),
    ],
)
def test_bad_types_are_errors(values: dict[str, str], reason: str) -> None:
    problems = types_of(**values)[1]
    assert len(problems) == 1
    assert ": error: " in problems[0]
    assert reason in problems[0]


@pytest.mark.parametrize("name", [".memory-mb.units", ".vcores.type"])
def test_nothing_is_said_of_memory_and_vcores_but_their_sizes(name: str) -> None:
    types, problems = types_of(**{name: "Gi"})
    assert types == ResourceTypes()
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


def test_minus_one_for_memory_and_vcores_means_the_schedulers_property() -> None:
    assert limits(
        {
            "yarn.scheduler.minimum-allocation-mb": 256,
            "yarn.resource-types.memory-mb.minimum-allocation": -1,
            "yarn.resource-types.vcores.maximum-allocation": -1,
        }
    ) == AllocationLimits((256, 1, 0), (8192, 4, UNBOUNDED))


def test_a_smallest_container_above_the_largest_counts_as_the_largest() -> None:
    problems = Problems()
    values = {f"yarn.resource-types.gpu.{bound}-allocation": n for bound, n in
              (("minimum", 9), ("maximum", 4))}  # fmt: skip
    assert read_limits(Site.of(values), GPU, problems).minimum == (1024, 1, 4)
    assert "counts as 4" in str(problems.all[0])


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
