"""`why` shows what the server says of an application that waits."""

import json

from .conftest import application_name

REASONS = {
    "reasons": [
        {
            "cause": "queue-maximum",
            "group": "map",
            "containers": 12,
            "wanted": {"memory-mb": 1024, "vcores": 1},
            "queue": "root.ml",
            "sentence": "root.ml is full.",
            "remedy": "It starts when something ends.",
        },
        {
            "cause": "groups-ahead",
            "group": "reduce",
            "sentence": "The group waits.",
            "remedy": "Others first.",
        },
        {
            "cause": "tasks-paused",
            "group": "clean",
            "containers": 2,
            "wanted": {},
            "sentence": "Two tasks failed at once.",
            "remedy": "They are tried again.",
        },
    ]
}


def path(number):
    return f"/applications/{application_name(number)}/reasons"


def test_each_reason_has_what_waits_its_sentence_and_its_remedy(cluster, run):
    cluster.answers[path(7)] = REASONS
    lines = run("why", application_name(7)).output.splitlines()
    assert [line.rstrip() for line in lines] == [
        "map: 12 containers of 1G 1c",
        "  root.ml is full.",
        "  It starts when something ends.",
        "reduce:",
        "  The group waits.",
        "  Others first.",
        "clean: 2 containers",
        "  Two tasks failed at once.",
        "  They are tried again.",
    ]


PROVED = {
    "cause": "queue-maximum",
    "horizon_ms": 3_600_000,
    "starts_after_ms": 300_000,
    "remedies": [],
    "branches": 1,
    "complete": True,
}


def test_what_is_proved_within_a_second_is_added(cluster, run):
    cluster.answers[path(7)] = REASONS
    cluster.answers[path(7).replace("reasons", "proof")] = PROVED
    lines = run("why", application_name(7)).output.splitlines()
    assert lines[0] == "map: 12 containers of 1G 1c"
    assert lines[-1].startswith("If nothing is done, it starts in about 5m 00s")


def test_actions_are_named_in_their_order_and_settings_that_one_reload_brings_together(
    cluster, run
):
    actions = [
        {"words": "a is raised to 2", "price": 2, "setting": "a", "value": "2"},
        {"words": "b is raised to 3", "price": 2, "setting": "b", "value": "3"},
        {"words": "one more node joins", "price": 10},
        {"words": "seven ends", "price": 20, "command": "fairshare kill 7"},
    ]
    remedy = {"actions": actions, "starts_after_ms": 0}
    cluster.answers[path(7)] = REASONS
    cluster.answers[path(7).replace("reasons", "proof")] = {**PROVED, "remedies": [remedy]}
    said = " ".join(run("why", application_name(7), "--prove").output.split())
    assert (
        "a is raised to 2 and b is raised to 3, then one more node joins,"
        " then seven ends (`fairshare kill 7`): it starts within a second."
    ) in said


def test_a_proof_that_finds_nothing_is_shown_with_prove_alone(cluster, run):
    cluster.answers[path(7)] = REASONS
    cluster.answers[path(7).replace("reasons", "proof")] = {**PROVED, "starts_after_ms": None}
    assert "Nothing that was tried" not in run("why", application_name(7)).output
    assert "Nothing that was tried" in run("why", application_name(7), "--prove").output


def test_with_prove_a_proof_that_is_refused_is_an_error(cluster, run):
    cluster.answers[path(7)] = REASONS
    assert run("why", application_name(7)).exit_code == 0
    assert run("why", application_name(7), "--prove").exit_code != 0


def test_of_one_task_it_has_the_reasons_of_its_group_or_its_state(cluster, run):
    cluster.answers[path(7)] = REASONS
    states = ("WAITING", "RUNNING")
    rows = [{"group": "map", "index": index, "state": state} for index, state in enumerate(states)]
    cluster.answers[path(7).replace("reasons", "tasks")] = {"tasks": rows}
    name = application_name(7)
    assert "root.ml is full." in run("why", f"{name}/0").output
    assert "The group waits." not in run("why", f"{name}/map/0").output
    assert run("why", f"{name}/1").output == "It is not waiting: map/1 is RUNNING.\n"
    found = json.loads(run("why", f"{name}/0", "--json").output)["reasons"]
    assert [one["group"] for one in found] == ["map"]
    assert json.loads(run("why", f"{name}/1", "--json").output)["reasons"] == []


def test_what_waits_for_nothing_says_so(cluster, run):
    cluster.answers[path(7)] = {"reasons": []}
    assert run("why", application_name(7)).output == "It is not waiting: it is RUNNING.\n"


def test_json_is_what_the_server_said(cluster, run):
    cluster.answers[path(7)] = REASONS
    assert '"cause": "queue-maximum"' in run("why", application_name(7), "--json").output


def test_what_was_refused_says_why(cluster, run):
    found = cluster.answers[f"/applications/{application_name(7)}"]
    found.update(state="REJECTED", diagnostics="root.ml is stopped")
    cluster.answers[path(7)] = {"reasons": []}
    assert run("why", application_name(7)).output == "It was refused: root.ml is stopped\n"


def test_no_line_ends_with_blanks(cluster, run):
    cluster.answers[path(7)] = REASONS
    lines = run("why", application_name(7)).output.splitlines()
    assert lines == [line.rstrip() for line in lines]


OWED = {
    "queue": "root.ml",
    "type": "memory-mb",
    "owed": 3072,
    "unasked": 0,
    "waiting": 2,
    "looked": 2,
    "parts": [
        {
            "kind": "held",
            "words": "held by others",
            "amount": 2048,
            "applications": 2,
            "first": application_name(7),
            "sentence": "No node has room.",
            "remedy": "It starts when one has.",
        },
        {
            "kind": "other",
            "words": "not looked at",
            "amount": 1024,
            "applications": 0,
            "first": None,
            "sentence": "",
            "remedy": "",
        },
    ],
    "sentence": "Receives 1 GiB of the 4 GiB it is entitled to; 3 GiB are owed.",
    "since_ms": 0,
    "holders": [{"queue": "root.adhoc", "amount": 2048}, {"queue": "root.b", "amount": 1024}],
}


def test_a_queue_has_what_it_is_owed_since_when_and_which_queues_have_it(cluster, run):
    cluster.answers["/queues/root.ml/owed"] = OWED
    lines = run("why", "root.ml", width=200).output.splitlines()
    assert lines[0].startswith(f"{OWED['sentence']} That has been so since 1970-01-01")
    assert lines[0].endswith("Above their shares: root.adhoc by 2G, root.b by 1G.")
    assert [line.rstrip() for line in lines[1:]] == [
        "2G: held by others (2 applications)",
        f"  {application_name(7)}:",
        "  No node has room.",
        "  It starts when one has.",
        "1G: not looked at",
    ]


def test_the_reasons_of_a_user_are_said_once_each_the_most_frequent_first(cluster, run):
    row = cluster.answers[f"/applications/{application_name(7)}"]
    names = [application_name(number) for number in (7, 8)]
    cluster.answers["/applications"] = {"applications": [{**row, "id": name} for name in names]}
    cluster.answers[path(7)] = REASONS
    cluster.answers[path(8)] = {"reasons": REASONS["reasons"][1:2]}
    lines = run("why", "--user", "ann").output.splitlines()
    assert lines[:3] == [
        f"2 applications, such as {application_name(7)}:",
        "  The group waits.",
        "  Others first.",
    ]
    assert sum("root.ml is full." in line for line in lines) == 1


def test_an_application_or_a_queue_or_a_user_is_needed(run):
    for arguments in ((), ("7", "--user", "ann"), ("--user", "")):
        result = run("why", *arguments)
        assert result.exit_code == 2
        assert "Name an application, a queue, or --user USER." in result.stderr
