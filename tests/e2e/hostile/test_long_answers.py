"""While one caller is served something long, all others are served too."""

import os
import threading
from pathlib import Path

import pytest

SMALL = {"memory-mb": 64}


def answers_meanwhile(http, busy):
    """How many small answers come while `busy` goes on: one or two, if it holds the server up."""
    answered = 0
    while busy.is_alive():
        assert http.get("/healthz").status_code == 200
        answered += 1
        busy.join(0.005)
    return answered


def processor_s(pid):
    """What a process has had of the processors; other processes do not make it longer."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_a_list_of_many_tasks_blocks_no_client_and_has_pages(attacked):
    with attacked.client("ann") as http, attacked.client() as other:
        group = {"command": "sleep 99", "count": 200_000, "resources": SMALL}
        body = {"queue": "b", "tasks": [group, {**group, "name": "more", "count": 5}]}
        name = http.post("/api/v1/applications", json=body).json()["id"]
        path = f"/api/v1/applications/{name}/tasks"
        found = {}
        asking = threading.Thread(target=lambda: found.update(http.get(path).json()))
        asking.start()
        assert answers_meanwhile(other, asking) >= 5
        assert len(found["tasks"]) == 200_005
        page = http.get(path, params={"offset": 199_999, "limit": 3}).json()["tasks"]
        assert [(task["group"], task["index"]) for task in page] == [
            ("tasks", 199_999),
            ("more", 0),
            ("more", 1),
        ]
        assert http.get(path, params={"offset": 200_005}).json() == {"tasks": []}
        http.post(f"/api/v1/applications/{name}/kill", json={})


HOSTS = [f"h{number}" for number in range(100_000)]
GROUPS = [
    {"command": "true", "name": f"g{number}", "after": [f"g{one}" for one in range(number)]}
    for number in range(300)
]


@pytest.mark.parametrize(
    "tasks",
    [[{"command": "true", "hosts": HOSTS}], [{"command": "true", "racks": HOSTS}], GROUPS],
    ids=["hosts", "racks", "groups"],
)
def test_more_names_than_one_request_may_look_up_are_refused(attacked, tasks):
    with attacked.client("ann") as http:
        answer = http.post("/api/v1/applications", json={"queue": "b", "tasks": tasks})
    assert (answer.status_code, answer.json()["code"]) == (413, "too-many-places")


def test_as_many_names_as_allowed_are_looked_up_at_once(attacked):
    tasks = [
        {"command": "true", "resources": SMALL, "hosts": HOSTS[:4000]},
        {"command": "true", "resources": SMALL, "name": "late", "after": ["tasks"]},
    ]
    tasks += [{**group, "resources": SMALL, "after": group["after"][:30]} for group in GROUPS[:100]]
    body = {"queue": "b", "tasks": tasks}
    pid = attacked.server.process.pid
    with attacked.client("ann") as http:
        before_s = processor_s(pid)
        assert http.post("/api/v1/applications", json=body).status_code == 201
        assert processor_s(pid) - before_s < 0.5
