"""Every list in every format, from one place."""

import csv
import json

import pytest

from .conftest import application, application_name

LISTS = (("apps", "application"), ("nodes", "node"), ("queues", "queue"))


def test_columns_are_chosen_by_name_in_the_order_that_is_named(run, cluster):
    result = run("apps", "--format", "state, application,USER", width=None)
    lines = [line.split() for line in result.stdout.splitlines()]
    assert lines[0] == ["State", "Application", "User"]
    assert lines[1:] == [
        ["PENDING", application_name(9), "ann"],
        ["RUNNING", application_name(7), "ann"],
        ["RUNNING", application_name(3), "bob"],
    ]


def test_fields_that_are_not_columns_can_be_chosen_too(run, cluster):
    one = application(7, "RUNNING", tags=["nightly", "ml"], priority=4)
    cluster.answers["/applications"] = {"applications": [one]}
    result = run("apps", "--format", "tags,priority,used,submitted", width=None)
    lines = result.stdout.splitlines()
    assert lines[0].split() == ["Tags", "Priority", "Used", "Submitted"]
    assert lines[1].startswith("nightly ml 4        1G 2c 20")


@pytest.mark.parametrize(("verb", "column"), LISTS)
def test_an_unknown_column_is_refused_with_those_that_there_are(run, verb, column):
    result = run(verb, "--format", f"{column}s")
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"there is no column '{column}s': did you mean {column}?" in result.stderr
    assert f"table, csv, json, or some of {column}, " in result.stderr


@pytest.mark.parametrize(("verb", "column"), LISTS)
def test_csv_has_all_fields_of_each_row(run, cluster, verb, column):
    rows = list(csv.DictReader(run(verb, "--format", "csv").stdout.splitlines()))
    (answered,) = cluster.answers[{"apps": "/applications"}.get(verb, f"/{verb}")].values()
    assert len(rows) == len(answered)
    assert {"used", "containers"} <= rows[0].keys()
    assert rows[0]["used"].startswith("memory-mb=")


@pytest.mark.parametrize("verb", ["apps", "nodes", "queues"])
def test_json_is_the_same_by_either_option(run, verb):
    one = run(verb, "--json").stdout
    assert run(verb, "--format", "json").stdout == one
    assert json.loads(one)


@pytest.mark.parametrize("form", ["csv", "application,user", "table"])
def test_a_list_without_rows_is_a_list_in_every_format(run, cluster, form):
    cluster.answers["/applications"] = {"applications": []}
    result = run("apps", "--format", form)
    assert result.exit_code == 0
    head = {"csv": "user,", "table": "Nothing runs or waits."}.get(form, "Application")
    assert head in result.stdout
    assert len(result.stdout.splitlines()) == 1
