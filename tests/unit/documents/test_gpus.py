"""What the setting of GPUs may be."""

import re

import pytest

from fairshare.documents.gpus import parse_gpus, wrong_gpus


def test_an_option_is_a_word_a_number_or_names():
    assert [parse_gpus(text) for text in ("auto", "none", "4", "0,1", "3,", "GPU-a, MIG-b")] == [
        "auto", "none", 4, ("0", "1"), ("3",), ("GPU-a", "MIG-b")
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("all", "write auto, none"),
        ("0.5", "write auto, none"),
        ("0", "1 to 1024"),
        ("5000", "1 to 1024"),
        (",", "not the name of a GPU"),
        ("0,,1", "not the name"),
        ("0,0", "twice"),
        ("0,$(reboot)", "not the name"),
        ("-1", "write auto"),
        ("", "write auto"),
        ("9" * 400, "write auto"),
    ],
)
def test_a_wrong_option_is_refused_with_what_to_write(text, words):
    with pytest.raises(ValueError, match=words):
        parse_gpus(text)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (0.5, "0.5 is not a number of GPUs: a GPU is assigned whole"),
        (True, "not True"),
        ([], r"not \[\]"),
        ([0, 1], "0 is not the name"),
        (["0", "0"], "twice"),
        ({}, "not {}"),
        (0, "1 to 1024"),
        ("yes", "not 'yes'"),
    ],
)
def test_a_wrong_value_of_a_file_is_named(value, words):
    assert re.search(words, wrong_gpus(value))


@pytest.mark.parametrize("value", ["auto", "none", 1, ["0"], ["0", "GPU-12/3:4"]])
def test_a_right_value_is_taken(value):
    assert wrong_gpus(value) == ""
