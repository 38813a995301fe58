"""One grammar of sizes for all files and options that are ours."""

import pytest

from fairshare.documents.sizes import parse_memory_mb, parse_size


@pytest.mark.parametrize(
    ("text", "memory_mb"),
    [
        ("512m", 512),
        ("512M", 512),
        ("512MB", 512),
        ("512 MiB", 512),
        ("1g", 1024),
        ("1.5g", 1536),
        (".5g", 512),
        ("2t", 2 * 1024 * 1024),
        ("2048k", 2),
        ("2048", 2048),
        (" 1 ", 1),
    ],
)
def test_memory_is_read_in_binary_units(text, memory_mb):
    assert parse_memory_mb(text) == memory_mb


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("lots", "'lots' is not a size: write 512m, 1g or a number of MB"),
        ("-1g", "write 512m"),
        ("1x", "write 512m"),
        ("1g512m", "write 512m"),
        ("", "write 512m"),
        ("\u0665g", "write 512m"),
        ("0.3m", "not a whole number of MB: write it in MB, such as 512m"),
        ("512k", "not a whole number of MB"),
        ("0g", "at least 1m"),
        ("9" * 30 + "g", "more than can be counted"),
        ("9" * 5_000, "at most 100 characters, and this one has 5000"),
    ],
)
def test_a_wrong_amount_of_memory_says_what_to_write(text, advice):
    with pytest.raises(ValueError, match=advice):
        parse_memory_mb(text)


def test_a_size_is_of_the_unit_that_the_reader_says():
    assert parse_size("1m", "KB") == 1024
    assert parse_size("32", "KB") == 32
    assert parse_size("0") == 0
    with pytest.raises(ValueError, match=r"'0\.5k' is not a whole number of KB: write it in KB"):
        parse_size("0.5k", "KB")
