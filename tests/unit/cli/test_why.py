"""`why` shows what the server says of an application that waits."""

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
