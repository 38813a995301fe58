"""Applications: submit, look, kill, move, change the priority."""

import pytest

from fairshare.server.web import requests

pytestmark = pytest.mark.anyio

TASK = {"command": "work", "resources": {"memory-mb": 512, "vcores": 1}}


@pytest.mark.slow
async def test_a_submitted_application_can_be_looked_at_while_it_runs_and_after(page):
    answer = await page.post(
        "/applications",
        json={"user": "ann", "queue": "a", "name": "count", "tasks": [{**TASK, "count": 2}]},
    )
    assert answer.status_code == 201
    name = answer.json()["id"]
    first, second = await page.launched(2)
    shown = (await page.get(f"/applications/{name}")).json()
    assert (shown["id"], shown["user"], shown["queue"]) == (name, "ann", "root.a")
    assert (shown["name"], shown["kind"], shown["state"]) == ("count", "tasks", "RUNNING")
    assert shown["progress"] == {
        "total": 2, "succeeded": 0, "running": 2, "waiting": 0, "failed": 0,
    }  # fmt: skip
    assert shown["used"] == {"memory-mb": 1024, "vcores": 2}
    assert len(shown["containers"]) == 2

    page.engine.end(first)
    page.engine.end(second, 3, "bad luck")
    third = (await page.launched(3))[2]
    tasks = (await page.get(f"/applications/{name}/tasks")).json()["tasks"]
    assert [(task["state"], task["attempts"]) for task in tasks] == [
        ("SUCCEEDED", 1),
        ("RUNNING", 2),
    ]
    assert tasks[0]["exit_code"] == 0
    page.engine.end(third)
    state = page.server.service.state
    await page.until(lambda: state.applications[1].over)

    shown = (await page.get("/applications/1")).json()
    assert (shown["state"], shown["containers"]) == ("FINISHED", [])
    assert shown["groups"] == [
        {
            "name": "tasks",
            "count": 2,
            "succeeded": 2,
            "running": 0,
            "waiting": 0,
            "failed": 0,
            "time_limit_ms": None,
        }
    ]
    containers = (await page.get(f"/applications/{name}/containers")).json()["containers"]
    assert [(c["state"], c["exit_code"], c["task"]) for c in containers] == [
        ("COMPLETE", 0, 0),
        ("COMPLETE", 3, 1),
        ("COMPLETE", 0, 1),
    ]
    assert containers[1]["diagnostics"] == "bad luck"
    assert containers[0]["resources"] == {"memory-mb": 512, "vcores": 1}


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("name", "a\u202eb", "one line without control characters and marks that are not seen"),
        ("queue", "a\nb", "one line without control characters and marks that are not seen"),
        ("user", "\uff41nn", "marks that are not seen and full-width letters"),
    ],
)
async def test_a_name_that_is_refused_is_refused_in_words(page, field, value, words):
    body = {"user": "ann", "queue": "a", "tasks": [TASK], field: value}
    answer = await page.post("/applications", json=body)
    assert answer.status_code == 400
    assert f"{words} - at `$.{field}`" in answer.json()["message"]
    assert "regex" not in answer.text


async def test_what_is_not_said_has_defaults(page):
    name = await page.submit(tasks=[{"command": "sort -u"}], queue="a")
    (container,) = await page.launched()
    order = page.engine.orders[container]
    assert (order.memory_mb, order.vcores) == (1024, 1)
    assert order.command.arguments == ("/bin/sh", "-c", "sort -u")
    shown = (await page.get(f"/applications/{name}")).json()
    assert shown["name"] == "sort"
    assert shown["user"]


async def test_every_field_of_a_task_reaches_the_manager(page):
    await page.submit(
        queue="a",
        tags=["nightly"],
        priority=3,
        groups=["staff"],
        tasks=[
            {
                "name": "map",
                "count": 3,
                "resources": {"memory-mb": 256, "vcores": 2},
                "arguments": ["map", "--fast"],
                "environment": {"LEVEL": "9"},
                "directory": "/tmp",
                "priority": 5,
                "hosts": ["n1"],
                "racks": ["/r1"],
                "relax": False,
                "max_attempts": 2,
                "time_limit_ms": 60_000,
            },
            {"name": "reduce", "callable": "aGk=", "after": ["map"], "slow_start": 0.5},
        ],
    )
    submission = page.server.service.state.applications[1].submission
    assert (submission.tags, submission.groups, submission.priority) == (
        ("nightly",),
        ("staff",),
        3,
    )
    first, second = submission.tasks
    assert (first.name, first.count, first.resource) == ("map", 3, (256, 2))
    assert first.command.arguments == ("map", "--fast")
    assert (first.command.environment, first.command.directory) == ({"LEVEL": "9"}, "/tmp")
    assert (first.priority, first.hosts, first.racks, first.relax) == (5, ("n1",), ("/r1",), False)
    assert (first.max_attempts, first.time_limit_ms) == (2, 60_000)
    assert (second.after, second.slow_start) == (("map",), 0.5)
    payload = second.command.payload
    assert (page.server.directory.path / payload.file).read_bytes() == b"hi"


async def test_a_refused_application_has_its_reason_and_stays_known(page):
    answer = await page.post("/applications", json={"queue": "root", "tasks": [TASK]})
    assert answer.status_code == 409
    refusal = answer.json()
    assert refusal["code"]
    assert refusal["message"]
    shown = (await page.get(f"/applications/{refusal['id']}")).json()
    assert (shown["state"], shown["diagnostics"]) == ("REJECTED", refusal["message"])


BAD_BODIES = [
    ("not json", "not JSON"),
    ("[]", "Expected `object`"),
    ("{}", "either tasks or driver"),
    ('{"tasks": [{"command": "x"}], "driver": {"command": "x"}}', "either tasks or driver"),
    ('{"tasks": [{"command": "x", "count": 0}]}', "$.tasks[0].count"),
    ('{"tasks": [{"command": "x", "cuont": 1}]}', "unknown field `cuont`"),
    ('{"tasks": [{"command": "x", "arguments": ["y"]}]}', "not arguments and command"),
    ('{"tasks": [{"count": 2}]}', "not none of them"),
    ('{"tasks": [{"arguments": [""]}]}', "tasks[0].arguments[0]: names no program"),
    ('{"tasks": [{"arguments": ["a\\u0000b"]}]}', "NUL"),
    ('{"tasks": [{"command": "x", "environment": {"A=B": "1"}}]}', "'A=B' cannot be set"),
    ('{"tasks": [{"command": "x", "directory": "here"}]}', "not an absolute path"),
    ('{"tasks": [{"command": "x", "resources": {"gpu": 1}}]}', "no resource type 'gpu'"),
    ('{"tasks": [{"command": "x", "resources": {"yarn.io/gpu": 1}}]}', "set gpus in [engine]"),
    ('{"tasks": [{"command": "x", "resources": {"vcores": -1}}]}', ">= 0"),
    ('{"tasks": [{"command": "x", "after": ["y"]}]}', "waits for y"),
    ('{"tasks": [{"command": "x"}, {"command": "y"}]}', "two groups"),
    ('{"tasks": [{"command": "x", "slow_start": 1.5}]}', "<= 1.0"),
    ('{"tasks": [{"callable": "%%%"}]}', "base64"),
    ('{"tasks": [{"command": "x"}], "master": {}}', "master: only"),
    ('{"tasks": [{"command": "x"}], "user": ""}', "$.user"),
]


@pytest.mark.parametrize(
    ("body", "reported"), BAD_BODIES, ids=[body[:60] for body, _ in BAD_BODIES]
)
async def test_a_bad_body_is_refused_and_changes_nothing(page, body, reported):
    version = page.server.service.version
    answer = await page.post("/applications", content=body)
    assert answer.status_code == 400
    assert answer.json()["code"] == "bad-request"
    assert reported in answer.json()["message"]
    assert page.server.service.version == version


async def test_all_problems_of_a_body_are_reported_together(page):
    tasks = [{"count": 2, "resources": {"gpu": 1}}, {"command": "x", "directory": "y"}]
    message = (await page.post("/applications", json={"tasks": tasks})).json()["message"]
    for reported in ("gpu", "none of them", "absolute path", "two groups"):
        assert reported in message


async def test_a_body_that_is_too_large_is_refused(page, monkeypatch):
    monkeypatch.setattr(requests, "body_limit_bytes", lambda request: 1_000)
    answer = await page.post("/applications", content=b" " * 1_001)
    assert (answer.status_code, answer.json()["code"]) == (413, "too-large")


async def test_the_list_has_the_newest_first_and_filters(page):
    for number, (user, queue) in enumerate([("ann", "a"), ("bob", "b"), ("ann", "b")]):
        await page.submit(user=user, queue=queue, name=str(number), tasks=[TASK])
    await page.post("/applications/1/kill")

    async def names(**parameters: object) -> list[str]:
        rows = (await page.get("/applications", params=parameters)).json()["applications"]
        return [row["name"] for row in rows]

    assert await names() == ["2", "1", "0"]
    assert await names(user="ann") == ["2", "0"]
    assert await names(queue="b") == await names(queue="root.b") == ["2", "1"]
    assert await names(state="KILLED") == ["0"]
    assert await names(state="running,killed", user="ann") == ["2", "0"]
    assert await names(limit=1) == ["2"]
    assert (await page.get("/applications?state=LOST")).status_code == 400


async def test_killing_twice_is_refused_the_second_time(page):
    name = await page.submit(queue="a", tasks=[TASK])
    answer = await page.post(f"/applications/{name}/kill", json={"diagnostics": "enough"})
    assert (answer.json()["state"], answer.json()["diagnostics"]) == ("KILLED", "enough")
    answer = await page.post(f"/applications/{name}/kill")
    assert (answer.status_code, answer.json()["code"]) == (409, "application-over")


async def test_a_task_that_is_killed_does_not_run_again_and_the_others_go_on(page):
    name = await page.submit(queue="a", tasks=[TASK | {"name": "map", "count": 3}])
    first = (await page.launched(3))[0]
    for task, more in (("map/1", {}), ("2", {"diagnostics": "wrong input"})):
        answer = await page.post(f"/applications/{name}/kill", json={"task": task, **more})
        assert (answer.status_code, answer.json()["state"]) == (200, "RUNNING")
    tasks = (await page.get(f"/applications/{name}/tasks")).json()["tasks"]
    assert [(task["state"], task["diagnostics"]) for task in tasks] == [
        ("RUNNING", ""),
        ("KILLED", "Task killed by user."),
        ("KILLED", "wrong input"),
    ]
    page.engine.end(first)
    await page.until(lambda: page.server.service.state.applications[1].over)
    shown = (await page.get(f"/applications/{name}")).json()
    assert shown["state"] == "KILLED"
    assert shown["diagnostics"] == "2 of 3 tasks of group map were killed: 1,2."
    assert (shown["progress"]["succeeded"], shown["progress"]["failed"]) == (1, 2)


@pytest.mark.parametrize(
    ("task", "words"),
    [
        ("3", "application 1 has no task 3; its tasks are called map/0, reduce/0 ..."),
        ("map/x", "application 1 has no task map/x; its tasks are called map/0, reduce/0 ..."),
        ("-1", "application 1 has no task -1; its tasks are called map/0, reduce/0 ..."),
        ("", "application 1 has no task ; its tasks are called map/0, reduce/0 ..."),
        ("0", "application 1 has several tasks 0: name the group as well, such as map/0"),
    ],
)
async def test_a_task_that_no_group_or_several_have_is_not_killed(page, task, words):
    groups = [TASK | {"name": "map"}, TASK | {"name": "reduce", "after": ["map"]}]
    name = await page.submit(queue="a", tasks=groups)
    answer = await page.post(f"/applications/{name}/kill", json={"task": task})
    assert (answer.status_code, answer.json()["message"]) == (404, words)


async def test_a_killed_task_is_named_by_its_index_in_the_array(page):
    array = {"indexes": "10-20:5"}
    name = await page.submit(queue="a", tasks=[TASK | {"count": 3, "array": array}])
    assert (await page.post(f"/applications/{name}/kill", json={"task": "15"})).is_success
    assert (await page.post(f"/applications/{name}/kill", json={"task": "11"})).status_code == 404
    tasks = (await page.get(f"/applications/{name}/tasks")).json()["tasks"]
    assert [task["index"] for task in tasks if task["state"] == "KILLED"] == [15]


async def test_an_application_moves_to_another_queue(page):
    name = await page.submit(queue="a", tasks=[TASK])
    answer = await page.post(f"/applications/{name}/move", json={"queue": "b"})
    assert (answer.status_code, answer.json()["queue"]) == (200, "root.b")
    answer = await page.post(f"/applications/{name}/move", json={"queue": "nowhere"})
    assert answer.status_code == 409
    assert (await page.post(f"/applications/{name}/move")).status_code == 400


async def test_the_priority_of_an_application_is_carried_to_the_scheduler(page):
    name = await page.submit(queue="a", tasks=[TASK])
    answer = await page.post(f"/applications/{name}/priority", json={"priority": 4})
    assert answer.status_code in (200, 409)  # a scheduler may have no priorities
    if answer.status_code == 200:
        assert answer.json()["priority"] == 4


@pytest.mark.parametrize("name", ["9", "application_1_0001", "nonsense", "application_x_1", "01"])
async def test_an_unknown_application_is_not_found(page, name):
    await page.submit(queue="a", tasks=[TASK])
    answer = await page.get(f"/applications/{name}")
    assert (answer.status_code, answer.json()["code"]) == (404, "unknown-application")


async def test_applications_are_listed_by_tag_and_by_the_state_that_is_shown(page):
    tagged = await page.submit(queue="a", tags=["nightly", "ml"], tasks=[TASK])
    other = await page.submit(queue="a", tags=["night"], tasks=[{**TASK, "count": 9}])
    await page.launched(4)
    waiting = await page.submit(queue="a", tags=["nightly"], held=True, tasks=[TASK])

    async def listed(**wanted):
        answer = await page.get("/applications", params=wanted)
        return [one["id"] for one in answer.json()["applications"]]

    assert await listed(tag="nightly") == [waiting, tagged]
    assert await listed(tag="nothing") == []
    assert await listed(tag="nightly", state="PENDING") == [waiting]
    assert await listed(state="RUNNING") == [other, tagged]
