"""`fairshare node` on three hosts: a short day with all its faults, and a user who tries to reach
root's Ray cluster (`lab.py`, `hosts.py`).
"""

import pytest
from tests.hosts import AGENTS, PYTHON, lacking
from tests.ray_cluster.lab import Lab, check, day

from fairshare.ray.keeper import FIXED_PORTS, SCALER_PORT, WORKER_PORTS
from fairshare.settings.shell import ROOTS_RAY_PORT

pytestmark = pytest.mark.skipif(bool(lacking()), reason=lacking() or "all is there")


@pytest.fixture(scope="module")
def lab():
    made = Lab()
    try:
        made.start()
        yield made
    finally:
        made.close()


RUN = """
import os, ray
ray.init({address!r}, log_to_driver=False)
print("INSIDE as", ray.get(ray.remote(num_cpus=0)(lambda: os.getuid()).remote()), flush=True)
"""
ASK = """
from ray._raylet import GcsClient
print("INSIDE with", len(GcsClient(address="gpu1:900").get_all_node_info(timeout=5)), flush=True)
"""
JOBS = """
from ray.job_submission import JobSubmissionClient
JobSubmissionClient("http://{address}").submit_job(entrypoint="id")
print("INSIDE", flush=True)
"""
CALL = """
import urllib.request
request = urllib.request.Request("http://{address}{path}", data=b"", method="POST")
print("INSIDE", urllib.request.urlopen(request, timeout=5).read(), flush=True)
"""
READ = "import os; print('INSIDE', open('/etc/fairshare/ray-token').read())"
LOOK = "import os; print('INSIDE', os.listdir('/var/lib/fairshare-node/ray'))"
INVENTED = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "0" * 64}
WITHOUT = {"RAY_AUTH_MODE": "disabled"}
ATTEMPTS = {
    "a program without a token": (RUN.format(address="gpu1:900"), WITHOUT),
    "a program with a token of its own": (RUN.format(address="gpu1:900"), INVENTED),
    "a program that looks for a cluster": (RUN.format(address="auto"), WITHOUT),
    "a Ray client": (RUN.format(address="ray://gpu1:10001"), INVENTED),
    "a question without a token": (ASK, WITHOUT),
    "a question with a token of its own": (ASK, INVENTED),
    "a job": (JOBS.format(address="gpu1:8265"), INVENTED),
    "a job for an agent": (JOBS.format(address="gpu1:904"), INVENTED),
    "an environment as root": (
        CALL.format(address="gpu1:10900", path="/get_or_create_runtime_env"),
        WITHOUT,
    ),
    "the token's file": (READ, WITHOUT),
    "Ray's sockets": (LOOK, WITHOUT),
}


def tried(host, user, program, variables):
    """What a program of a user prints, and how it fails; it may try for ever."""
    words = ("timeout", "-s", "KILL", "20", "env", *(f"{k}={v}" for k, v in variables.items()))
    return host.run(*words, PYTHON, "-c", program, user=user)


@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_a_user_reaches_nothing_of_the_cluster_that_agents_of_root_share(lab, attempt):
    done = tried(lab.first, "ann", *ATTEMPTS[attempt])
    assert done.returncode != 0
    assert "INSIDE" not in done.stdout


def test_what_listens_is_in_the_list_of_the_firewall(lab):
    """docs/how-to/share-three-machines.md, and the server."""
    fixed = {ROOTS_RAY_PORT, SCALER_PORT, *FIXED_PORTS.values(), 8088}
    known = fixed | set(range(WORKER_PORTS[0], WORKER_PORTS[1] + 1))
    for host in lab.hosts.all:
        lines = host.run("ss", "-Hltn").stdout.splitlines()
        listening = {int(line.split()[3].rpartition(":")[2]) for line in lines}
        assert listening
        assert listening <= known, host.name


def test_with_the_token_the_same_questions_are_answered(lab):
    token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": "/etc/fairshare/ray-token"}
    assert "INSIDE with 3" in tried(lab.first, "", ASK, token).stdout
    assert "INSIDE as 0" in tried(lab.first, "", RUN.format(address="gpu1:900"), token).stdout


def test_a_ray_program_of_a_user_has_a_cluster_of_its_own(lab):
    program = RUN.format(address="local") + "print(len(ray.nodes()), 'node')"
    done = tried(lab.first, "ann", program, WITHOUT)
    assert done.stdout.splitlines() == ["INSIDE as 4001", "1 node"], done.stderr


def test_the_cluster_is_listed_with_its_hosts(lab):
    listed = lab.second.fairshare("node", "list").splitlines()
    assert [line.split()[:3] for line in listed[1:]] == [
        [host.name, host.address, "ALIVE"] for host in lab.hosts.all
    ]
    again = lab.second.run(PYTHON, "-m", "fairshare", "node", "join", "gpu1")
    assert "is in the cluster of gpu1:900 already" in again.stderr
    refused = lab.second.run(PYTHON, "-m", "fairshare", "node", "leave", user="ann")
    assert "needs root" in refused.stderr


def test_a_task_runs_on_the_host_that_it_names_and_finds_its_home_there(lab):
    words = ("--nodelist", "gpu3", "--output", "where")
    application = lab.submit("bob", *words, "--", "hostname")
    lab.wait(lambda: lab.is_over(application), "the task")
    assert (lab.homes / "bob/where").read_text() == "gpu3\n"


def test_tasks_get_gpus_of_their_own_by_index(lab):
    command = "echo $CUDA_VISIBLE_DEVICES; sleep 3"
    words = ("--gpus", "1", "--count", "6", "--memory", "64m", "--output", "gpu.%t")
    application = lab.submit("ann", *words, "--", "sh", "-c", command)
    lab.wait(lambda: lab.is_over(application), "the tasks")
    nodes = [one["node"] for one in lab.containers(application)]
    assert {nodes.count(node) for node in nodes} == {2}
    indexes = [(lab.homes / f"ann/gpu.{task}").read_text() for task in range(6)]
    assert sorted(indexes) == ["0\n"] * 3 + ["1\n"] * 3


CALLS = """
import os
from fairshare.client.executor import Executor
with Executor() as executor:
    print(*set(executor.map(lambda _: os.getuid(), range(6))))
"""


def test_python_calls_and_commands_in_containers_have_the_account_of_their_user(lab):
    done = lab.first.run("timeout", "60", PYTHON, "-c", CALLS, user="ann")
    assert done.stdout == "4001\n", done.stderr
    application = lab.submit("ann", "--nodelist", "gpu2", "--", "sleep", "300")
    lab.wait(lambda: lab.nodes().get("gpu2"), "its container")
    words = ("exec", application, "--", "sh", "-c", "id -un; hostname; pwd")
    assert lab.first.fairshare(*words, user="ann").split() == ["ann", "gpu2", "/home/ann"]
    lab.first.fairshare("kill", application, user="ann")
    lab.wait(lambda: not lab.nodes()["gpu2"], "its end")


@pytest.mark.parametrize(
    ("line", "words"),
    [("", "there is no account 'bob' on gpu3"), ("bob:x:4003:4002::/:/bin/sh", "4003 on gpu3")],
)
def test_an_account_that_is_another_one_on_a_host_runs_nothing_there(lab, line, words):
    accounts = lab.hosts.folder / "gpu3" / "passwd"
    known = accounts.read_text()
    accounts.write_text("\n".join([x for x in known.splitlines() if x[:4] != "bob:"] + [line, ""]))
    try:
        done = lab.first.run(
            *(PYTHON, "-m", "fairshare", "run", "--nodelist", "gpu3", "hostname"), user="bob"
        )
    finally:
        accounts.write_text(known)
    assert done.returncode != 0
    assert words in done.stderr


def test_a_directory_that_a_host_does_not_share_is_named(lab):
    lab.first.run("mkdir", "/tmp/mine", user="ann")
    line = f"cd /tmp/mine; {PYTHON} -m fairshare run --nodelist gpu2 pwd"
    done = lab.first.run("sh", "-c", line, user="ann")
    assert done.returncode == 0
    assert "cannot enter /tmp/mine: No such file or directory" in done.stderr
    assert done.stdout.startswith(f"{AGENTS}/")


def test_a_day_of_three_hosts_loses_nothing_and_runs_nothing_twice(lab):
    counts = check(lab, day(lab, rounds=1, tasks=3, seconds=4), tasks=3)
    assert counts["tasks"] == 3 * counts["applications"]
