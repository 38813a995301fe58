import pytest
from click.testing import CliRunner

from fairshare.cli.units import parse_amount, parse_duration_ms, parse_lifetime_s, parse_variable
from fairshare.cli.verbs import fairshare


@pytest.mark.parametrize(
    ("text", "advice"),
    [("600", "write 600s or 600m"), ("soon", "write 500ms"), ("0s", "at least 1ms"), ("0", "1ms")],
)
def test_a_duration_of_an_option_is_at_least_a_millisecond_and_has_a_unit(text, advice):
    with pytest.raises(ValueError, match=advice):
        parse_duration_ms(text)


def test_a_lifetime_is_of_whole_seconds():
    assert parse_lifetime_s("1h30m") == 5_400
    with pytest.raises(ValueError, match="not a whole number of seconds: write 90s"):
        parse_lifetime_s("1.5s")


@pytest.mark.parametrize("text", ["gpu", "gpu=", "=1", "gpu=-1", "gpu=x", "gpu=1.5"])
def test_an_amount_of_a_resource_needs_a_name_and_a_whole_number(text):
    with pytest.raises(ValueError, match="write NAME=N"):
        parse_amount(text)


def test_a_variable_may_be_empty_or_hold_equal_signs():
    assert parse_variable("A=") == ("A", "")
    assert parse_variable("A=b=c") == ("A", "b=c")


@pytest.mark.parametrize("text", ["A", "=b", ""])
def test_a_variable_needs_a_name_and_an_equal_sign(text):
    with pytest.raises(ValueError, match="write NAME=VALUE"):
        parse_variable(text)


@pytest.mark.parametrize(
    ("option", "value", "reported"),
    [
        ("--memory", "99999999999999999999999g", "more than can be counted"),
        ("--lifetime", "99999999999999999999d", "longer than can be counted"),
        ("--time-limit", "99999999999999999999d", "longer than can be counted"),
        ("--resource", "gpu=99999999999999999999999", "more than can be counted"),
        ("--priority", "99999999999999999999999", "is too large: 2147483647 is the most"),
        ("--vcores", "99999999999999999999999", "is too large: no machine has so much"),
        ("--vcores", "1" * 5000, "is not a whole number"),
        ("--tag", "", "a tag has 1 to 100 characters"),
    ],
)
def test_what_cannot_be_counted_is_refused_by_the_name_of_its_option(option, value, reported):
    done = CliRunner().invoke(fairshare, ["submit", option, value, "--", "true"])
    assert done.exit_code == 2
    assert f"'{option}'" in done.stderr
    assert reported in done.stderr


@pytest.mark.parametrize(
    ("option", "value", "reported"),
    [
        ("--memory", "0", "a container needs at least 1m"),
        ("--vcores", "0", "0 is too small: write 1 or more"),
        ("--vcores", "-1", "-1 is too small: write 1 or more"),
        ("--count", "0", "0 is too small: write 1 or more"),
        ("--max-attempts", "0", "0 is too small: write 1 or more"),
        ("--resource", "gpu=0", "'gpu=0' is zero: write 1 or more"),
        ("--resource", "gpu=-1", "write NAME=N"),
        ("--resource", "vcores=2", "vcores has an option of its own: write --vcores 2"),
        ("--time-limit", "0s", "no time at all"),
        ("--grace", "2h", "more than an hour"),
        ("--signal", "KILL", "not a signal before the end"),
        ("--signal", "USR1@", "not a signal before the end"),
        ("--lifetime", "0s", "no time at all"),
    ],
)
def test_an_amount_of_nothing_or_less_is_refused(option, value, reported):
    done = CliRunner().invoke(fairshare, ["submit", f"{option}={value}", "--", "true"])
    assert done.exit_code == 2
    assert reported in done.stderr


def test_the_help_says_what_a_value_is_and_not_how_it_is_parsed():
    for words in (["admin", "decommission"], ["serve"], ["submit"], ["mapreduce"], ["simulate"]):
        assert "PARSE_" not in CliRunner().invoke(fairshare, [*words, "--help"]).output


@pytest.mark.parametrize("verb", ["serve", "simulate"])
def test_nodes_beyond_all_measure_are_a_slip_of_the_finger(verb):
    done = CliRunner().invoke(fairshare, [verb, "--conf", ".", "--nodes", "1000000"])
    assert done.exit_code == 2
    assert "10000 is the most" in done.stderr
