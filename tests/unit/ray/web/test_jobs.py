"""A Ray job is an application of a queue, and Ray's client sees it as a job."""

import msgspec
import pytest
from tests.unit.ray.web.conftest import URI

from fairshare import __version__
from fairshare.api.ray_programs import Program, job_of
from fairshare.server.users.groups import own_user

pytestmark = pytest.mark.anyio

QUEUE = {"fairshare.queue": "root.a"}


def program_of(order):
    return msgspec.json.decode(order.command.arguments[-1], type=Program)


async def test_the_client_finds_the_versions_that_it_needs(ray):
    assert await ray.call("GET", "version") == {
        "version": "4",
        "ray_version": "2.60.0",
        "ray_commit": f"fairshare {__version__}",
        "session_name": "fairshare",
    }


async def test_a_job_is_a_ray_program_in_the_queue_that_its_metadata_names(ray):
    metadata = {
        **QUEUE,
        "fairshare.workers": "2",
        "fairshare.more": "3",
        "fairshare.memory": "512m",
        "fairshare.vcores": "1",
        "fairshare.priority": "7",
        "fairshare.lifetime": "1h",
        "job_name": "training",
    }
    variables = {"SIZE": "9"}
    sent = await ray.submit(
        "python train.py --size 9",
        submission_id="train-1",
        metadata=metadata,
        runtime_env={"env_vars": variables},
        entrypoint_num_cpus=1.5,
        entrypoint_memory=1_200 * 1024 * 1024,
    )
    assert sent == {"job_id": "train-1", "submission_id": "train-1"}
    order, _ = await ray.driver()
    program = program_of(order)
    assert (program.workers, program.more) == (2, 3)
    assert program.resources == {"memory-mb": 512, "vcores": 1}
    assert order.command.environment == variables
    assert (order.memory_mb, order.vcores) == (1_280, 2)  # in steps of 128 MB, as configured
    job = job_of(order.command.arguments)
    assert (job.entrypoint, job.variables) == ("python train.py --size 9", ("SIZE",))
    row = (await ray.page.get(f"/applications/{order.application_name}")).json()
    assert (row["name"], row["queue"], row["kind"]) == ("training", "root.a", "driver")
    assert row["command"] == "python train.py --size 9"
    found = await ray.show("train-1")
    assert found["metadata"] == metadata
    assert found["runtime_env"] == {"env_vars": variables}
    assert found["job_id"] == order.application_name


async def test_without_an_id_a_job_gets_one_and_a_header_may_name_the_queue(ray):
    answer = await ray.call(
        "POST", "jobs/", json={"entrypoint": "true"}, headers={"X-Fairshare-Queue": "root.b"}
    )
    assert answer["submission_id"].startswith("raysubmit_")
    [row] = (await ray.page.get("/applications")).json()["applications"]
    assert (row["name"], row["queue"]) == (answer["submission_id"], "root.b")


async def test_a_job_is_pending_with_a_reason_until_its_workers_run_and_then_succeeds(ray):
    await ray.submit(submission_id="j", metadata=QUEUE)
    order, _ = await ray.driver()
    waiting = await ray.show("j")
    assert waiting["status"] == "PENDING"
    assert waiting["message"] == "Its master runs, and has not registered yet."
    _, headers = await ray.run()
    running = await ray.show("j")
    assert (running["status"], running["driver_node_id"]) == ("RUNNING", "n1")
    assert running["end_time"] is None
    await ray.finish(order, headers)
    done = await ray.show("j")
    assert (done["status"], done["driver_exit_code"]) == ("SUCCEEDED", 0)
    assert done["end_time"] >= done["start_time"]
    assert (await ray.call("POST", "jobs/j/stop")) == {"stopped": False}


async def test_a_job_whose_entrypoint_fails_has_failed_with_its_exit_code(ray):
    await ray.submit(submission_id="j", metadata=QUEUE)
    order, headers = await ray.run()
    await ray.finish(order, headers, code=3)
    found = await ray.show("j")
    assert (found["status"], found["driver_exit_code"]) == ("FAILED", 3)
    assert found["message"] == "the program ended with exit code 3"
    assert found["error_type"] == "JOB_ENTRYPOINT_COMMAND_ERROR"


async def test_a_job_is_stopped_and_only_then_deleted(ray):
    await ray.submit(submission_id="j", metadata=QUEUE)
    await ray.driver()
    refused = await ray.call("DELETE", "jobs/j", 400)
    assert "has not ended" in refused["message"]
    assert await ray.call("POST", "jobs/j/stop") == {"stopped": True}
    assert (await ray.show("j"))["status"] == "STOPPED"
    assert await ray.call("DELETE", "jobs/j") == {"deleted": True}
    assert (await ray.show("j", 404))["message"] == "Job j does not exist"


async def test_the_list_has_jobs_only_and_the_newest_first(ray):
    await ray.page.submit(queue="a", tasks=[{"command": "true"}])
    for name in ("one", "two"):
        await ray.submit(submission_id=name, metadata=QUEUE)
    found = await ray.call("GET", "jobs/")
    assert [one["submission_id"] for one in found] == ["two", "one"]
    assert {one["type"] for one in found} == {"SUBMISSION"}
    by_application = await ray.show(found[0]["job_id"])
    assert by_application["submission_id"] == "two"


async def test_an_id_is_taken_once(ray):
    await ray.submit(submission_id="j", metadata=QUEUE)
    refused = await ray.submit(submission_id="j", metadata=QUEUE, status=400)
    assert "already exists" in refused["message"]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"runtime_env": {"pip": ["torch"]}}, "runtime_env.pip is not supported: only env_vars"),
        ({"runtime_env": {"conda": "x"}}, "runtime_env.conda is not supported"),
        ({"runtime_env": {"container": {"image": "x"}}}, "runtime_env.container is not supported"),
        ({"runtime_env": {"working_dir": "s3://b/x.zip"}}, "name a local directory"),
        ({"runtime_env": {"working_dir": URI}}, "has not uploaded it"),
        ({"runtime_env": {"py_modules": "x"}}, "is a list of packages"),
        ({"runtime_env": {"env_vars": {"A": 1}}}, "runtime_env.env_vars: Expected `str`"),
        ({"metadata": {"fairshare.quene": "a"}}, "fairshare.quene: there is no such key"),
        ({"metadata": {"fairshare.workers": "many"}}, "'many' is not a whole number"),
        ({"metadata": {"fairshare.workers": "0"}}, "0 is not between 1 and 10000"),
        ({"metadata": {"fairshare.memory": "big"}}, "metadata fairshare.memory: "),
        ({"metadata": {"fairshare.lifetime": "big"}}, "metadata fairshare.lifetime: "),
        ({"metadata": {"fairshare.gpus": "1"}}, "the workers: the cluster has no resource type"),
        ({"metadata": {"fairshare.queue": "a\nb"}}, "the job is not what is expected here"),
        ({"entrypoint_num_gpus": 0.5}, "0.5 of yarn.io/gpu for the entrypoint"),
        ({"entrypoint_resources": {"foo": 1}}, "the cluster has no resource type 'foo'"),
        ({"entrypoint_label_selector": {"a": "b"}}, "entrypoint_label_selector is not supported"),
        ({"entrypoint": "a\0b"}, "entrypoint: it holds a NUL character"),
        ({"runtime_env": {"env_vars": {"A=B": "x"}}}, "'A=B' cannot be set"),
        ({"runtime_env": {"env_vars": {"A": "x" * 140_000}}}, "are too many: use a file"),
        ({"entrypoint": "x" * 100_000, "metadata": {"a": "x" * 40_000}}, "an argument has"),
        ({"submission_id": "../x"}, "submission_id"),
        ({"colour": "blue"}, "colour"),
    ],
)
async def test_what_cannot_be_done_is_refused_by_name(ray, body, words):
    refused = await ray.submit(**{"status": 400, **body})
    assert words in refused["message"]
    assert (await ray.page.get("/applications")).json()["applications"] == []


async def test_a_job_that_the_scheduler_refuses_leaves_no_trace(ray):
    body = {"entrypoint_num_cpus": 1_000, "metadata": QUEUE, "submission_id": "j"}
    refused = await ray.submit(status=409, **body)
    assert refused["code"]
    await ray.show("j", 404)
    assert await ray.submit(submission_id="j", metadata=QUEUE)


async def test_the_log_is_what_the_entrypoint_has_written(ray):
    await ray.submit(submission_id="j", metadata=QUEUE)
    assert await ray.call("GET", "jobs/j/logs") == {"logs": ""}
    order, headers = await ray.run()
    files = ray.page.engine.files(order.application_name, order.container_name)
    files.stdout.parent.mkdir(parents=True, exist_ok=True)
    files.stdout.write_bytes("größe 1\n".encode() + b"\xff\n")
    assert await ray.call("GET", "jobs/j/logs") == {"logs": "größe 1\n\ufffd\n"}
    refused = await ray.call("GET", "jobs/j/logs/tail", 426)
    assert "WebSocket" in refused["message"]
    await ray.finish(order, headers)


async def test_without_authentication_a_job_may_name_its_user(ray):
    await ray.submit(submission_id="j", metadata={**QUEUE, "fairshare.user": "ann"})
    await ray.submit(submission_id="k", metadata=QUEUE)
    rows = (await ray.page.get("/applications")).json()["applications"]
    assert [row["user"] for row in rows] == [own_user(), "ann"]
