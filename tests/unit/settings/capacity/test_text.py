"""Amounts are read as Hadoop's Capacity Scheduler writes them."""

import pytest

from fairshare.core.model.resources import ResourceTypes
from fairshare.core.schedulers.capacity.settings import Amount, Percentage, Unit, Vector, Weight
from fairshare.settings.capacity.text import (
    read_capacity_text,
    read_largest_container,
    read_maximum_text,
)

TYPES = ResourceTypes(("memory-mb", "vcores", "yarn.io/gpu"), ("Mi", "", ""))


def nothing_skipped(message: str) -> None:
    raise AssertionError(message)


def absolute(text: str, legacy: bool = True) -> tuple[int, ...] | None:
    found = read_capacity_text(text, TYPES, nothing_skipped, legacy=legacy)
    assert isinstance(found, Vector)
    return found.absolute


@pytest.mark.parametrize(
    ("text", "percent"), [("12.5", 12.5), (" 0 ", 0.0), ("100", 100.0), ("70", 70.0), ("5f", 5.0)]
)
def test_a_plain_number_is_a_percentage(text: str, percent: float) -> None:
    assert read_capacity_text(text, TYPES, nothing_skipped) == Percentage(percent)


def test_percentages_have_32_bits() -> None:
    assert read_capacity_text("8.1", TYPES, nothing_skipped) == Percentage(8.100000381469727)


@pytest.mark.parametrize("text", ["-3", "150", "100.001"])
def test_a_percentage_is_0_to_100(text: str) -> None:
    with pytest.raises(ValueError, match="Illegal capacity of"):
        read_capacity_text(text, TYPES, nothing_skipped)


@pytest.mark.parametrize("text", ["50%", "", "abc", "[memory=1024", "2w ", "w"])
def test_an_invalid_capacity_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a number"):
        read_capacity_text(text, TYPES, nothing_skipped)


def test_a_number_with_w_is_a_weight() -> None:
    assert read_capacity_text("3w", TYPES, nothing_skipped) == Weight(3.0)
    assert read_capacity_text("0.5w", TYPES, nothing_skipped) == Weight(0.5)
    assert read_capacity_text("0w", TYPES, nothing_skipped) == Weight(0.0)


def test_the_weight_minus_one_is_none_at_all() -> None:
    assert read_capacity_text("-1w", TYPES, nothing_skipped) is None


@pytest.mark.parametrize("text", ["-0.5w", "10001w"])
def test_a_weight_is_0_to_10000(text: str) -> None:
    with pytest.raises(ValueError, match="Illegal weight="):
        read_capacity_text(text, TYPES, nothing_skipped)


@pytest.mark.parametrize(
    ("text", "amounts"),
    [
        ("[memory=10240,vcores=12]", (10240, 12, 0)),
        ("[memory=10Gi,vcores=4]", (10240, 4, 0)),
        ("[memory-mb=1024]", (1024, 0, 0)),
        ("[ memory=1024, vcores=2, yarn.io/gpu=3]", (1024, 2, 3)),
        ("[memory=-5]", (-5, 0, 0)),
        ("[memory=1024]\n", (1024, 0, 0)),
        ("[memory=2097152Ki]", (2048, 0, 0)),
    ],
)
def test_amounts_in_brackets_are_absolute(text: str, amounts: tuple[int, ...]) -> None:
    assert absolute(text) == amounts


@pytest.mark.parametrize("text", ["[memory= 1024]", "[memory=1024 ]", "[memory=10.5]"])
def test_an_absolute_amount_is_a_bare_whole_number(text: str) -> None:
    with pytest.raises(ValueError, match="is not a whole number"):
        absolute(text)


@pytest.mark.parametrize(
    ("text", "amounts", "reported"),
    [
        ("[memory=1024,disk=5]", (1024, 0, 0), "there is no resource type 'disk'"),
        ("[memory=1024MB,vcores=2]", (0, 2, 0), "'1024MB' has the unknown unit 'MB'"),
        ("[vcores=2]", (0, 2, 0), "'[vcores=2]' has no memory"),
    ],
)
def test_text_that_hadoop_ignores_is_reported(
    text: str, amounts: tuple[int, ...], reported: str
) -> None:
    messages: list[str] = []
    found = read_capacity_text(text, TYPES, messages.append)
    assert isinstance(found, Vector)
    assert found.absolute == amounts
    assert messages[0].startswith(reported)


def test_percentages_in_brackets_need_the_newer_mode() -> None:
    messages: list[str] = []
    text = "[memory=50%,vcores=2]"
    assert read_capacity_text(text, TYPES, messages.append) == Percentage(0.0)
    assert read_maximum_text(text, TYPES, messages.append) == Percentage(100.0)
    assert all("legacy-queue-mode.enabled=false" in message for message in messages)
    assert len(messages) == 2


def test_in_the_newer_mode_each_amount_has_a_unit_of_its_own() -> None:
    found = read_capacity_text(
        "[memory=50%, vcores=4,yarn.io/gpu=2w]", TYPES, nothing_skipped, legacy=False
    )
    assert found == Vector(
        (Amount(50.0, Unit.PERCENTAGE), Amount(4, Unit.ABSOLUTE), Amount(2.0, Unit.WEIGHT))
    )
    assert absolute("[memory=2Gi,vcores=1]", legacy=False) == (2048, 1, 0)


def test_a_maximum_may_be_minus_one_for_all() -> None:
    assert read_maximum_text("-1", TYPES, nothing_skipped) == Percentage(100.0)
    assert read_maximum_text("150", TYPES, nothing_skipped) == Percentage(150.0)


@pytest.mark.parametrize(("text", "legacy"), [("2w", True), ("2w", False), ("[memory=2w]", False)])
def test_a_weight_is_not_a_maximum(text: str, legacy: bool) -> None:
    with pytest.raises(ValueError, match="cannot be a maximum"):
        read_maximum_text(text, TYPES, nothing_skipped, legacy=legacy)


@pytest.mark.parametrize(
    ("text", "amounts"),
    [
        ("memory-mb=4096,vcores=2", {"memory-mb": 4096, "vcores": 2}),
        (" vcores=1 , memory-mb=4 G ", {"vcores": 1, "memory-mb": 4096}),
        ("memory=512M,gpu=1", {"memory-mb": 512, "yarn.io/gpu": 1}),
        ("vcores=4G", {"vcores": 4}),
    ],
)
def test_a_largest_container_names_its_types(text: str, amounts: dict[str, int]) -> None:
    assert read_largest_container(text, TYPES, nothing_skipped) == amounts


def test_memory_without_a_unit_counts_bytes() -> None:
    messages: list[str] = []
    assert read_largest_container("memory=4096", TYPES, messages.append) == {"memory-mb": 0}
    assert messages == ["'memory=4096' counts bytes: write memory-mb, or a unit"]


@pytest.mark.parametrize(
    ("text", "reported"),
    [
        ("4096", "not of the form type=amount"),
        ("memory-mb=4Ti", "the units are M and G"),
        ("disk=1", "there is no resource type 'disk'"),
        ("memory-mb=-1", "not of the form type=amount"),
    ],
)
def test_a_bad_largest_container_is_refused(text: str, reported: str) -> None:
    with pytest.raises(ValueError, match=reported):
        read_largest_container(text, TYPES, nothing_skipped)
