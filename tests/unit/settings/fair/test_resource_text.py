"""The allocation file writes resources in three styles."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairshare.core.model.resources import UNBOUNDED, Resource, ResourceTypes
from fairshare.settings.fair.element_values import forbids_further_types, read_resources

TWO = ResourceTypes()
GPU = ResourceTypes(("memory-mb", "vcores", "gpu"), ("Mi", "", ""))


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("5120 mb 2 vcores", (5120, 2)),
        ("2vcores,5120mb", (5120, 2)),
        ("5120 MB, 2 VCores", (5120, 2)),
        ("5120.9 mb, 2.9 vcores", (5120, 2)),
        ("5120mb   mb, 2    vcores", (5120, 2)),
        ("1024 mb 1 vcores extra", (1024, 1)),
        ("10000 mb,0vcores", (10000, 0)),
        ("1024 mb, 1 vcores,", (1024, 1)),
        ("memory-mb=1024, vcores=2", (1024, 2)),
        ("vcores = +2 , memory-mb = 1024,", (1024, 2)),
    ],
)
def test_absolute_amounts_in_the_old_and_the_new_style(text: str, amount: Resource) -> None:
    found = read_resources(text, TWO, UNBOUNDED)
    assert (found.absolute, found.fractions) == (amount, None)


def test_what_a_new_style_text_does_not_name_is_missing_as_the_setting_says() -> None:
    assert read_resources("vcores=2", GPU, 0).absolute == (0, 2, 0)
    assert read_resources("vcores=2", GPU, UNBOUNDED).absolute == (UNBOUNDED, 2, UNBOUNDED)


def test_the_last_of_two_amounts_of_one_type_counts() -> None:
    assert read_resources("gpu=1,gpu=3", GPU, 0).absolute == (0, 0, 3)


def test_an_old_style_text_gives_nothing_of_further_types() -> None:
    assert read_resources("1024 mb, 2 vcores", GPU, UNBOUNDED).absolute == (1024, 2, 0)
    assert read_resources("50% memory, 25% cpu", GPU, UNBOUNDED).fractions == (0.5, 0.25, 0.0)


@pytest.mark.parametrize(
    ("text", "fractions"),
    [
        ("50%", (0.5, 0.5, 0.5)),
        (" 50.5 % ", (0.505, 0.505, 0.505)),
        ("200%", (2.0, 2.0, 2.0)),
        ("25% CPU, 50% Memory", (0.5, 0.25, 0.0)),
        ("vcores=75%, memory-mb=40.%", (0.4, 0.75, 1.0)),
    ],
)
def test_percentages_become_fractions(text: str, fractions: tuple[float, ...]) -> None:
    found = read_resources(text, GPU, UNBOUNDED)
    assert (found.absolute, found.fractions) == (None, fractions)


@pytest.mark.parametrize(
    "text",
    [
        "", "  ", "1024", "1024mb", "lots", "95%, 50% memory", "50% cpu, 1024 mb", "50% memory",
        "1024 mb, 2 4 vcores", "2 vcores 5120 mb 555 mb", "vcores=2.5", "memory-mb=1g",
        "vcores=-1", "-1 mb, 2 vcores", "1 mb, -2 vcores", "-5% memory, 5% cpu", "vcores=1=2",
        "Memory-mb=1", "vcores=50%, memory-mb=1024", "=5", "vcores=", "%", ".5%", "50%%",
        "99999999999 mb, 1 vcores", "9" * 400 + "%", "1 mb, 1 mb", "9" * 1999 + "  ", "\u0665%",
    ],
)  # fmt: skip
def test_bad_texts_are_refused(text: str) -> None:
    with pytest.raises(ValueError):
        read_resources(text, TWO, UNBOUNDED)


def test_the_reason_names_the_types_that_there_are() -> None:
    with pytest.raises(ValueError, match=r"no resource type 'fpga' \(there are memory-mb, vcores"):
        read_resources("fpga=1", TWO, 0)


@pytest.mark.parametrize(
    ("text", "forbids"),
    [("1 mb, 1 vcores", True), ("5% memory, 5% cpu", True), ("5%", False), ("vcores=1", False)],
)
def test_old_styles_forbid_further_types_if_there_are_any(text: str, forbids: bool) -> None:
    assert forbids_further_types(text, GPU) is forbids
    assert forbids_further_types(text, TWO) is False


@given(st.text("0123456789 .,%=-mbvcoresuy\n", max_size=40))
def test_any_text_is_read_or_refused_with_a_reason(text: str) -> None:
    reason = ""
    try:
        resources = read_resources(text, GPU, 0).resolve((1000, 10, 1))
    except ValueError as error:
        reason = str(error)
    else:
        assert len(resources) == 3
        assert min(resources) >= 0
        return
    assert reason


@given(st.integers(0, 2**31 - 1), st.integers(0, 2**31 - 1))
def test_both_styles_mean_the_same(memory: int, vcores: int) -> None:
    old = read_resources(f"{memory} mb, {vcores} vcores", TWO, 0)
    assert old == read_resources(f"vcores={vcores}, memory-mb={memory}", TWO, 0)
    assert old.absolute == (memory, vcores)
