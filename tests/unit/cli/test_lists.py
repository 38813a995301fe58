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


def test_timeouts_of_queues_are_durations_and_no_instants(run, cluster):
    never = 2**63 - 1
    root = {"name": "root", "min_share_timeout_ms": never, "fair_share_timeout_ms": 5_000}
    cluster.answers["/queues"] = {"queues": [root]}
    (row,) = csv.DictReader(run("queues", "--format", "csv").stdout.splitlines())
    assert (row["min_share_timeout_ms"], row["fair_share_timeout_ms"]) == (str(never), "5000")
    chosen = run("queues", "--format", "queue,fair_share_timeout_ms", width=None)
    assert [line.split()[-1] for line in chosen.stdout.splitlines()] == ["ms", "5000"]


def test_hours_of_budgets_are_written_without_exponents(cluster, run):
    budget = {"name": "night", "user": "ann", "resource": "vcores", "hours": 50_000.0}
    budget |= {"used_hours": 0.0000175, "left_hours": 49_999.99998, "when_used_up": "refuse"}
    cluster.answers["/accounting/report"] = {"rows": [], "budgets": [budget]}
    *_, shown = run("report").stdout.splitlines()
    assert shown.split() == [
        "night",
        "-",
        "ann",
        "vcores",
        "50,000.00",
        "0.00",
        "50,000.00",
        "refuse",
    ]
