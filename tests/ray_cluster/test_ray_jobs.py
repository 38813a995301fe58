"""Ray's own command line and client, as they were installed, submit jobs to queues."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import ENVIRONMENT, Server, wait

TRAIN = """
import os, sys
import ray
import helper, tools

ray.init(logging_level="ERROR")


@ray.remote
def on_a_worker(number):
    import helper, tools
    return helper.double(number), tools.NAME, os.environ["GREETING"]


print(ray.get(on_a_worker.remote(21)), flush=True)
sys.exit(int(sys.argv[1]))
"""
METADATA = {"fairshare.queue": "root.two", "fairshare.memory": "600m"}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A server on this machine, for whose containers Ray is there."""
    made = Server(tmp_path_factory.mktemp("server"), None)
    made.start()
    yield made
    made.stop()


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """A working directory, and a module beside it."""
    folder = tmp_path_factory.mktemp("program")
    (folder / "files").mkdir()
    (folder / "files/train.py").write_text(TRAIN)
    (folder / "files/helper.py").write_text("def double(number):\n    return 2 * number\n")
    (folder / "tools").mkdir()
    (folder / "tools/__init__.py").write_text("NAME = 'tools'\n")
    return folder


def environment_of(server, **more):
    return {**os.environ, **ENVIRONMENT, "RAY_ADDRESS": server.url, **more}


def ray_job(server, *words, command="submit", **more):
    """What `ray job` prints, and its exit code."""
    line = [Path(sys.executable).with_name("ray"), "job", command, *map(str, words)]
    done = subprocess.run(
        line,
        env=environment_of(server, **more),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
    )
    return done.stdout, done.returncode


@pytest.mark.parametrize(("code", "words"), [(0, "succeeded"), (3, "exit code 3")])
def test_a_script_runs_with_its_files_and_its_log_is_followed(server, program, code, words):
    runtime_env = {"env_vars": {"GREETING": "hello"}, "py_modules": [str(program / "tools")]}
    printed, exit_code = ray_job(
        server,
        *("--working-dir", program / "files", "--metadata-json", json.dumps(METADATA)),
        *("--runtime-env-json", json.dumps(runtime_env)),
        *("--", "python", "train.py", code),
    )
    assert "(42, 'tools', 'hello')" in printed, printed
    assert words in printed
    assert exit_code == min(code, 1)
    [row] = [one for one in server.get("applications")["applications"] if one["name"] in printed]
    assert row["queue"] == "root.two"


def test_a_job_is_stopped_while_its_log_is_followed(server, tmp_path):
    metadata = json.dumps(METADATA)
    ray_job(
        server,
        *("--submission-id", "long", "--no-wait", "--metadata-json", metadata),
        *("--", "sh", "-c", "echo begun; sleep 1000"),
    )
    log = tmp_path / "followed"
    line = [Path(sys.executable).with_name("ray"), "job", "logs", "--follow", "long"]
    with log.open("wb") as file:
        # Ray's command would keep its lines until it ends, since it writes to a file.
        environment = environment_of(server, PYTHONUNBUFFERED="1")
        following = subprocess.Popen(
            line, env=environment, stdin=subprocess.DEVNULL, stdout=file, stderr=file
        )
    try:
        wait(lambda: "begun\n" in log.read_text(), "the first line of the log")
        assert "currently running" in ray_job(server, "long", command="status")[0]
        printed, _ = ray_job(server, "long", command="stop")
        assert "Job 'long' was stopped" in printed
        assert following.wait(30) == 0
    finally:
        following.kill()
        following.wait()
    assert "Job 'long' was stopped" in log.read_text()
    assert "deleted successfully" in ray_job(server, "long", command="delete")[0]
    assert "'long'" not in ray_job(server, command="list")[0]


def test_the_client_in_python_sees_why_a_job_waits(server, monkeypatch):
    pytest.importorskip("ray.job_submission")
    from ray.job_submission import JobStatus, JobSubmissionClient

    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    client = JobSubmissionClient(server.url)
    metadata = METADATA | {"fairshare.workers": "50"}
    name = client.submit_job(entrypoint="true", submission_id="large", metadata=metadata)
    wait(
        lambda: "containers" in (client.get_job_info(name).message or ""),
        "a reason with numbers",
    )
    assert client.get_job_status(name) == JobStatus.PENDING
    assert name in [one.submission_id for one in client.list_jobs()]
    assert client.stop_job(name)
    assert client.get_job_status(name) == JobStatus.STOPPED
    with pytest.raises(RuntimeError, match=r"runtime_env\.pip is not supported"):
        client.submit_job(entrypoint="true", runtime_env={"pip": ["requests"]})


def test_rays_token_is_the_users_token(tmp_path):
    server = Server(tmp_path, None)
    toml = tmp_path / "conf/fairshare.toml"
    toml.write_text(toml.read_text() + "[authentication]\ntokens = true\n")
    made = [sys.executable, "-m", "fairshare", "admin", "token", "create", "ann"]
    server.state.mkdir(mode=0o700)
    server.start()
    try:
        reported = subprocess.check_output([*made, "--state", str(server.state)], text=True)
        [token] = [word for word in reported.split() if word.startswith("fst_")]
        printed, code = ray_job(server, command="list")
        assert (code, "Authentication required" in printed) == (1, True), printed
        headers = json.dumps({"Authorization": f"Bearer {token}"})
        for more in (
            {"RAY_JOB_HEADERS": headers},
            {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": token},
        ):
            printed, code = ray_job(server, command="list", **more)
            assert (code, "[]" in printed) == (0, True), printed
    finally:
        server.process.terminate()
        server.process.communicate(timeout=30)
