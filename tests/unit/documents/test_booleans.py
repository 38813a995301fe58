"""One set of words for truth values in all YAML and JSON files that are ours."""

import pytest

from fairshare.documents.values import parse_boolean


@pytest.mark.parametrize("text", ["true", "TRUE", "yes", "Yes", "on", " on "])
def test_words_for_true(text):
    assert parse_boolean(text) is True


@pytest.mark.parametrize("text", ["false", "False", "no", "off", "OFF"])
def test_words_for_false(text):
    assert parse_boolean(text) is False


@pytest.mark.parametrize("text", ["", "1", "y", "maybe", "wahr" * 1000])
def test_other_words_are_refused_with_what_to_write(text):
    with pytest.raises(ValueError, match="is neither true nor false: write true or false"):
        parse_boolean(text)
