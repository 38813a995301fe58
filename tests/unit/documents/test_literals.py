"""Numbers and words are read as Java reads them."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairshare.documents import literals


@pytest.mark.parametrize(
    ("text", "value"), [("7", 7), (" +7\n", 7), ("-0", 0), ("0012", 12), ("-2147483648", -(2**31))]
)
def test_whole_numbers_may_have_a_sign_and_blanks_around(text: str, value: int) -> None:
    assert literals.integer(text) == value


@pytest.mark.parametrize(
    "text", ["", "1.0", "1e3", "0x10", "1_000", "\u0661", "2147483648", "9" * 9999]
)
def test_what_32_bits_cannot_hold_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"whole number|too large"):
        literals.integer(text)


def test_long_holds_64_bits_and_no_more() -> None:
    assert literals.long("9223372036854775807") == 2**63 - 1
    with pytest.raises(ValueError, match="64 bits"):
        literals.long("9223372036854775808")


def test_properties_may_be_hexadecimal() -> None:
    assert literals.property_integer(" 0x7F ", 32) == 127
    assert literals.property_integer("-0x10", 32) == -16
    assert literals.property_integer("12", 32) == 12
    with pytest.raises(ValueError, match="too large"):
        literals.property_integer("0x80000000", 32)


@pytest.mark.parametrize(
    ("text", "value"), [("1.0f", 1.0), ("0.5", 0.5), (".5D", 0.5), ("-1.", -1.0), ("1e3", 1000.0)]
)
def test_decimal_numbers_may_have_javas_suffix(text: str, value: float) -> None:
    assert literals.double(text) == value


@pytest.mark.parametrize("text", ["", "two", "1,5", "NaN", "Infinity", "1e999", "0.5ff", "."])
def test_a_number_that_is_not_finite_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"not a number|too large"):
        literals.double(text)


def test_singles_have_32_bits() -> None:
    assert literals.single("0.2") == 0.20000000298023224
    with pytest.raises(ValueError, match="too large"):
        literals.single("1e39")


@pytest.mark.slow
@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_a_single_is_read_as_it_was_written(value: float) -> None:
    assert literals.single(repr(value)) == value


@given(st.floats(-1e30, 1e30))
def test_to_single_rounds_to_what_32_bits_hold(value: float) -> None:
    rounded = literals.to_single(value)
    assert struct.pack("<f", rounded) == struct.pack("<f", value)
    assert literals.to_single(rounded) == rounded


@pytest.mark.parametrize(("text", "value"), [(" TRUE ", True), ("False", False), ("yes", None)])
def test_only_true_and_false_are_booleans(text: str, value: bool | None) -> None:
    assert literals.boolean(text) is value


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [("10s", 10_000), ("5M", 300_000), ("2 h", 7_200_000), ("1d", 86_400_000), ("7", 7),
     ("1500us", 1), ("-1500us", -1), ("999ns", 0), ("500ms", 500), ("-1", -1)],
)  # fmt: skip
def test_times_have_suffixes(text: str, milliseconds: int) -> None:
    assert literals.duration_ms(text) == milliseconds


def test_a_time_without_suffix_counts_in_the_given_unit() -> None:
    assert literals.duration_ms("3", "s") == 3000


@pytest.mark.parametrize("text", ["", "s", "1.5s", "1 week"])
def test_other_times_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a time"):
        literals.duration_ms(text)
