"""What one user hands in has an end, live and finished together, and names are names."""

import pytest

from .conftest import resident_kb

SMALL = {"memory-mb": 64}


def task(megabytes=0, **more):
    """A task with that much environment, in variables that the system would take."""
    environment = {f"V{number}": "x" * 100_000 for number in range(int(megabytes * 10))}
    return {"command": "sleep 99", "resources": SMALL, "environment": environment, **more}


def groups(megabytes, per_group=0.2):
    """Groups of tasks with that much environment together."""
    number = round(megabytes / per_group)
    return [task(per_group, name=f"g{one}") for one in range(number)]


def test_submissions_above_the_limit_are_refused_and_finished_ones_make_room(attacked):
    with attacked.client("greedy") as http, attacked.client("ann") as other:
        names = []
        for _ in range(3):
            answer = http.post("/api/v1/applications", json={"queue": "a", "tasks": groups(4.8)})
            assert answer.status_code == 201, answer.text
            names.append(answer.json()["id"])
        answer = http.post("/api/v1/applications", json={"queue": "a", "tasks": groups(4.8)})
        assert (answer.status_code, answer.json()["code"]) == (429, "too-much-handed-in")
        assert other.post("/api/v1/applications", json={"tasks": [task(0)], "queue": "a"})
        for name in names:
            http.post(f"/api/v1/applications/{name}/kill", json={})
        for _ in range(2):
            answer = http.post("/api/v1/applications", json={"queue": "a", "tasks": groups(4.8)})
            assert answer.status_code == 201, answer.text
            http.post(f"/api/v1/applications/{answer.json()['id']}/kill", json={})
        found = [http.get(f"/api/v1/applications/{name}").status_code for name in names]
        assert found == [404, 404, 200]


def test_what_was_refused_or_is_forgotten_stays_nowhere_in_memory(attacked):
    with attacked.client("refused") as http:
        too_large = [{**one, "resources": {"memory-mb": 10**9}} for one in groups(4.8)]
        sizes = []
        for _ in range(25):
            answer = http.post("/api/v1/applications", json={"queue": "a", "tasks": too_large})
            assert answer.status_code == 409, answer.text
            sizes.append(resident_kb(attacked.server))
    # Three fit into user_mb, and are known; from the fifth on each takes the place of another one.
    assert sizes[-1] - sizes[4] < 50 * 1024, sizes


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"environment": {"V": "x" * 131_072}}, "the variable V has 131074 bytes"),
        ({"command": "x" * 131_072}, "an argument has 131072 bytes"),
        (task(0.3), "arguments and environment have"),
    ],
)
def test_what_the_system_would_not_start_is_refused_with_the_reason(attacked, more, words):
    with attacked.client("ann") as http:
        body = {"queue": "a", "tasks": [{"command": "true", "resources": SMALL, **more}]}
        answer = http.post("/api/v1/applications", json=body)
        assert answer.status_code == 400
        assert words in answer.json()["message"]
        assert "tasks[0]" in answer.json()["message"]
        name = http.post("/ws/v1/cluster/apps/new-application").json()["application-id"]
        entries = [
            {"key": key, "value": value} for key, value in more.get("environment", {}).items()
        ]
        container = {
            "commands": {"command": more.get("command", "true")},
            "environment": {"entry": entries},
        }
        body = {"application-id": name, "queue": "a", "am-container-spec": container}
        answer = http.post("/ws/v1/cluster/apps", json=body)
        assert answer.status_code == 400
        assert words in answer.text


BAD = ["a\0b", "a\nb", "a\x1b[31mb", "a\x7f", "a\u2028b", "a\n"]


@pytest.mark.parametrize("text", BAD)
@pytest.mark.parametrize("field", ["name", "queue", "tags", "label", "group"])
def test_names_with_control_characters_are_refused(attacked, field, text):
    body = {"queue": "a", "tasks": [{"command": "true", "resources": SMALL}]}
    if field == "group":
        body["tasks"][0]["name"] = text
    else:
        body[field] = [text] if field == "tags" else text
    with attacked.client("ann") as http:
        answer = http.post("/api/v1/applications", json=body)
        assert (answer.status_code, answer.json()["code"]) == (400, "bad-request")
        assert "`$." in answer.json()["message"]


@pytest.mark.parametrize("text", [*BAD, "a" * 1_001, ".a" * 100_000])
@pytest.mark.parametrize("field", ["queue", "application-name", "application-type"])
def test_yarns_interface_takes_no_such_names_either(attacked, field, text):
    with attacked.client("ann") as http:
        name = http.post("/ws/v1/cluster/apps/new-application").json()["application-id"]
        body = {"application-id": name, "queue": "a", field: text}
        assert http.post("/ws/v1/cluster/apps", json=body).status_code == 400
        body = {"queue": "a", "tasks": [{"command": "true", "resources": SMALL}]}
        name = http.post("/api/v1/applications", json=body).json()["id"]
        answer = http.put(f"/ws/v1/cluster/apps/{name}/queue", json={"queue": text})
        assert answer.status_code == 400
