import json
from io import StringIO
from pathlib import Path

import httpx
import pytest
from rich.console import Console

from fairshare.cli import submit
from fairshare.cli.wait import Waiting
from fairshare.client import Application, GroupProgress

APPLICATION = "application_1700000000000_0007"


@pytest.fixture(autouse=True)
def accepting(cluster):
    cluster.answers["POST /applications"] = {"id": APPLICATION, "state": "PENDING"}


def progress(state, succeeded, **fields):
    return {
        "id": APPLICATION,
        "state": state,
        "groups": [{"name": "task", "count": 2, "succeeded": succeeded, "running": 1}],
        **fields,
    }


def submitted(cluster):
    return next(body for path, body in cluster.posted() if path == "/applications")


def test_a_command_becomes_an_application_of_one_group(run, cluster):
    result = run("submit", "ls", "-l", "--all")
    assert (result.exit_code, result.stdout) == (0, f"{APPLICATION}\n")
    assert submitted(cluster) == {
        "user": "ann",
        "name": "ls",
        "tasks": [
            {
                "name": "task",
                "count": 1,
                "resources": {"memory-mb": 1024, "vcores": 1},
                "arguments": ["ls", "-l", "--all"],
            }
        ],
    }


def test_options_have_slurms_names_too(run, cluster):
    slurm = "-p ml -J train -c 4 --mem 2G -t 1-0:30 -o out -D /tmp --array 1-3"
    ours = (
        "--queue ml --name train --vcores 4 --memory 2g --time-limit 24h30m --output out"
        " --directory /tmp --array 1-3"
    )
    bodies = []
    for options in (slurm, ours):
        cluster.calls.clear()
        assert run("submit", *options.split(), "--", "./train", "-c", "7").exit_code == 0
        bodies.append(submitted(cluster))
    assert bodies[0] == bodies[1]
    assert bodies[0]["tasks"][0]["time_limit_ms"] == 88_200_000
    assert bodies[0]["tasks"][0]["arguments"] == ["./train", "-c", "7"]


def test_notices_reach_the_server_and_are_refused_before_if_they_cannot_be_sent(run, cluster):
    assert (
        run("submit", "--notify", "mailto:a@b.org", "--notify-on", "failed", "true").exit_code == 0
    )
    assert submitted(cluster)["notify"] == ["mailto:a@b.org"]
    assert submitted(cluster)["notify_on"] == ["failed"]
    wrong = run("submit", "--notify", "ann", "true")
    assert (wrong.exit_code, "'ann' cannot be notified: write https://" in wrong.stderr) == (
        2,
        True,
    )
    alone = run("submit", "--notify-on", "end", "true")
    assert (alone.exit_code, "with --notify only" in alone.stderr) == (2, True)


def test_every_option_reaches_the_server(run, cluster):
    options = (
        "--queue research --user bob --name nightly --priority 0 --tag a --tag b --memory 1.5g"
        " --vcores 2 --resource yarn.io/gpu=1 --count 20 --max-attempts 2 --time-limit 1h30m"
        " --host node-1 --host node-2 --rack /rack-1 --env A=1 --env B=x=y --directory data"
        " --grace 2m --signal B:USR1@60"
    )
    assert run("submit", *options.split(), "--", "./work").exit_code == 0
    assert submitted(cluster) == {
        "user": "bob",
        "queue": "research",
        "name": "nightly",
        "priority": 0,
        "tags": ["a", "b"],
        "tasks": [
            {
                "name": "task",
                "count": 20,
                "resources": {"memory-mb": 1536, "vcores": 2, "yarn.io/gpu": 1},
                "arguments": ["./work"],
                "environment": {"A": "1", "B": "x=y"},
                "directory": str(Path("data").absolute()),
                "grace_ms": 120_000,
                "end_signal": {"name": "USR1", "before_ms": 60_000, "first_process": True},
                "hosts": ["node-1", "node-2"],
                "racks": ["/rack-1"],
                "max_attempts": 2,
                "time_limit_ms": 5_400_000,
            }
        ],
    }


@pytest.mark.parametrize("options", ["--gpus 2", "--gpu 2", "--resource yarn.io/gpu=2"])
def test_gpus_have_an_option_and_a_key_of_their_own(run, cluster, tmp_path, options):
    size = {"memory-mb": 1024, "vcores": 1, "yarn.io/gpu": 2}
    assert run("submit", *options.split(), "./work").exit_code == 0
    assert submitted(cluster)["tasks"][0]["resources"] == size
    file = tmp_path / "train.yaml"
    file.write_text("tasks: [{command: x, gpus: 2}]\n")
    assert run("submit", "--job", str(file)).exit_code == 0
    assert submitted(cluster)["tasks"][0]["resources"] == size


def test_gpus_are_requested_in_one_way(run, cluster, tmp_path):
    both = run("submit", "--gpus", "1", "--resource", "yarn.io/gpu=2", "./work")
    assert (both.exit_code, cluster.calls) == (2, [])
    assert "--gpus and --resource yarn.io/gpu: give one of both" in both.stderr
    file = tmp_path / "train.yaml"
    file.write_text(
        "tasks:\n"
        "- {name: a, command: x, gpus: 0}\n"
        "- {name: b, command: x, gpus: 1, resources: {yarn.io/gpu: 1}}\n"
    )
    wrong = run("submit", "--job", str(file))
    assert wrong.exit_code == 1
    assert "error: tasks[0].gpus is 0: it must be at least 1" in wrong.stderr
    assert "error: tasks[1].resources: yarn.io/gpu and gpus: give one of both" in wrong.stderr


def test_a_driver_is_a_command_and_its_container(run, cluster):
    assert run("submit", "--driver", "--memory", "256m", "--vcores", "2", "./drive").exit_code == 0
    assert submitted(cluster) == {
        "user": "ann",
        "name": "drive",
        "driver": {"arguments": ["./drive"]},
        "master": {"resources": {"memory-mb": 256, "vcores": 2}},
    }


def test_containers_of_a_driver_may_outlive_it(run, cluster, tmp_path):
    assert run("submit", "--driver", "--keep-containers", "./drive").exit_code == 0
    assert submitted(cluster)["master"]["keep_containers"] is True
    file = tmp_path / "drive.yaml"
    file.write_text("driver: {command: x, keep-containers: true}\n")
    assert run("submit", "--job", str(file)).exit_code == 0
    assert submitted(cluster)["master"]["keep_containers"] is True


def test_tasks_have_no_driver_that_containers_could_outlive(run, cluster):
    result = run("submit", "--keep-containers", "./work")
    assert (result.exit_code, cluster.calls) == (2, [])
    assert "tasks have no driver that could be lost" in result.output


def test_a_job_file_is_submitted_with_what_options_replace(run, cluster, tmp_path):
    file = tmp_path / "report.yaml"
    file.write_text("queue: a\npriority: 3\ntasks: [{command: x, environment: {A: 1, B: 2}}]\n")
    assert run("submit", "--job", str(file), "--queue", "b", "--env", "B=3").exit_code == 0
    body = submitted(cluster)
    assert (body["name"], body["queue"], body["priority"]) == ("report", "b", 3)
    assert body["tasks"][0]["environment"] == {"A": "1", "B": "3"}


def test_variables_reach_the_driver_of_a_job_file(run, cluster, tmp_path):
    file = tmp_path / "drive.yaml"
    file.write_text("name: d\ndriver: {command: x}\n")
    assert run("submit", "--group-file", str(file), "--env", "B=3").exit_code == 0
    assert submitted(cluster)["driver"] == {"command": "x", "environment": {"B": "3"}}


def test_mistakes_of_a_job_file_are_printed_and_nothing_is_submitted(run, cluster, tmp_path):
    file = tmp_path / "bad.yaml"
    file.write_text("tasks:\n- command: x\n  count: 0\n  memory: 1x\n")
    result = run("submit", "--job", str(file))
    assert (result.exit_code, cluster.calls) == (1, [])
    assert f"{file}:3:10: " in result.stderr
    assert f"{file}:4:11: " in result.stderr


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ("", "nothing to run"),
        ("--job x.yaml ls", "a command and --job"),
        ("--job x.yaml --count 2 --memory 1g", "--count, --memory cannot be given here"),
        ("--job x.yaml --driver", "--driver cannot be given here"),
        ("--driver --count 2 --host h ls", "--count, --host cannot be given here"),
        ("--memory lots ls", "'lots' is not a size"),
        ("--time-limit 60 ls", "'60' has no unit"),
        ("--env A ls", "'A' does not set a variable"),
        ("--resource gpu ls", "'gpu' is not an amount"),
        ("--count 0 ls", "0 is too small"),
        ("--name= ls", "the name is empty: leave the option out, or write a name"),
    ],
)
def test_a_wrong_command_line_is_refused_and_nothing_is_submitted(run, cluster, arguments, reason):
    result = run("submit", *arguments.split())
    assert (result.exit_code, cluster.calls) == (2, [])
    assert reason in result.stderr


def test_the_id_comes_as_json_too(run):
    assert json.loads(run("submit", "--json", "ls").stdout) == {"id": APPLICATION}


def test_the_refusal_of_an_application_is_printed(run, cluster):
    refusal = {"code": "unknown-queue", "message": "no queue q: name another", "id": APPLICATION}
    cluster.answers["POST /applications"] = httpx.Response(409, json=refusal)
    result = run("submit", "--queue", "q", "ls")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == "Error: no queue q: name another\n"


def test_waiting_shows_the_progress_and_ends_with_0(run, cluster):
    cluster.answers[f"/applications/{APPLICATION}"] = [
        progress("PENDING", 0),
        progress("RUNNING", 1),
        progress("RUNNING", 1),
        progress("FINISHED", 2),
    ]
    result = run("submit", "--wait", "--count", "2", "ls")
    assert (result.exit_code, result.stdout) == (0, f"{APPLICATION}\n")
    assert result.stderr.splitlines() == [
        f"{APPLICATION} PENDING: task 0/2 (1 running)",
        f"{APPLICATION} RUNNING: task 1/2 (1 running)",
        f"{APPLICATION} FINISHED: task 2/2 (1 running)",
    ]


def test_waiting_for_a_failed_application_prints_its_last_lines_and_ends_with_1(run, cluster):
    container = "container_1700000000000_0007_01_000002"
    failed = {"state": "COMPLETE", "exit_code": 3, "finished_ms": 2}
    cluster.answers |= {
        f"/applications/{APPLICATION}": progress("FAILED", 1, diagnostics="task/1 failed 4 times"),
        f"/applications/{APPLICATION}/containers": {
            "containers": [
                {"id": "container_1700000000000_0007_01_000001", **failed, "finished_ms": 1},
                {"id": container, **failed},
                {"id": "c3", "state": "COMPLETE", "exit_code": -100, "finished_ms": 3},
            ]
        },
        f"/containers/{container}/logs/stderr": "".join(
            f"line {number}\x1b[2J\n" for number in range(30)
        ).encode(),
    }
    result = run("submit", "--wait", "ls")
    assert result.exit_code == 1
    assert result.stderr.splitlines()[1:] == [
        f"{APPLICATION} ended as FAILED: task/1 failed 4 times",
        "The last lines of its last failure:",
        *(f"line {number}?[2J" for number in range(20, 30)),
    ]


def one_task_that_ended(cluster, *codes, state="FAILED"):
    end = progress(state, 0, groups=[{"name": "task", "count": 1}])
    containers = [
        {"id": f"c{attempt}", "group": "task", "task": 0, "state": "COMPLETE", "exit_code": code}
        for attempt, code in enumerate(codes)
    ]
    cluster.answers |= {
        f"/applications/{APPLICATION}": end,
        f"/applications/{APPLICATION}/containers": {"containers": containers},
    }


@pytest.mark.parametrize("verb", [("submit", "--wait", "ls"), ("wait", APPLICATION)])
@pytest.mark.parametrize(
    ("codes", "state", "code"),
    [
        ((7,), "FAILED", 7),
        ((7, 3), "FAILED", 3),
        ((-104,), "FAILED", 137),
        ((-105,), "KILLED", 1),
        ((9,), "KILLED", 1),
        ((), "FAILED", 1),
    ],
)
def test_waiting_for_one_task_ends_with_its_exit_code(run, cluster, verb, codes, state, code):
    one_task_that_ended(cluster, *codes, state=state)
    assert run(*verb).exit_code == code


def test_waiting_for_several_applications_ends_with_1(run, cluster):
    one_task_that_ended(cluster, 7)
    other = "application_1700000000000_0008"
    cluster.answers[f"/applications/{other}"] = {**progress("FAILED", 0), "id": other}
    assert run("wait", APPLICATION, other).exit_code == 1


def test_waiting_as_json_prints_only_the_end(run, cluster):
    cluster.answers[f"/applications/{APPLICATION}"] = progress("KILLED", 1)
    result = run("submit", "--wait", "--json", "ls")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["state"] == "KILLED"


def test_ctrl_c_ends_the_waiting_and_says_how_to_kill(run, cluster):
    cluster.answers[f"/applications/{APPLICATION}"] = [progress("RUNNING", 0), KeyboardInterrupt()]
    result = run("submit", "--wait", "ls")
    assert result.exit_code == 130
    assert f"kill it with: fairshare kill {APPLICATION}" in result.stderr
    assert [path for path, _ in cluster.posted()] == ["/applications"]


def test_a_driver_that_is_waited_for_has_a_bar_before_it_has_groups(monkeypatch):
    monkeypatch.setenv("TERM", "xterm-256color")
    console = Console(force_terminal=True, width=100, file=StringIO())
    with Waiting(console) as waiting:
        waiting.show(Application(id=APPLICATION, state="RUNNING", kind="driver"))
        group = GroupProgress("round-1", 4, succeeded=3, failed=1)
        waiting.show(Application(id=APPLICATION, state="RUNNING", kind="driver", groups=(group,)))
    drawn = console.file.getvalue()
    assert "driver" in drawn
    assert "round-1" in drawn
    assert "3/4" in drawn
    assert "1 failed" in drawn


# What was asked for, and what became of it.


def became(cluster, queue, priority=0, scheduler="fair"):
    cluster.answers[f"/applications/{APPLICATION}"] = {
        "id": APPLICATION,
        "state": "RUNNING",
        "queue": queue,
        "priority": priority,
    }
    cluster.answers["/cluster"] = {"scheduler": scheduler}
    names = ("root.students", "root.vision", "root.genomics.align")
    cluster.answers["/queues"] = {"queues": [{"name": name} for name in names]}


@pytest.mark.parametrize(
    ("wanted", "meant"), [("align", "root.genomics.align"), ("root.visoin", "root.vision")]
)
def test_submit_reports_a_placement_in_another_queue_and_a_similar_name(
    run, cluster, wanted, meant
):
    became(cluster, "root.students")
    result = run("submit", "--queue", wanted, "true")
    assert (result.exit_code, result.stdout) == (0, f"{APPLICATION}\n")
    assert result.stderr == (
        f"placed in root.students, not in {wanted}, by the placement rules: did you mean {meant}?\n"
    )


def test_submit_says_at_once_that_no_node_has_so_many_gpus(run, cluster):
    became(cluster, "root.students")
    causes = [("larger-than-every-node", "It is larger."), ("no-room", "No node has room.")]
    reasons = [{"cause": cause, "sentence": said, "remedy": ""} for cause, said in causes]
    cluster.answers[f"/applications/{APPLICATION}/reasons"] = {"reasons": reasons}
    assert run("submit", "--gpus", "5", "true").stderr == "it waits: It is larger.\n"
    assert run("submit", "true").stderr == ""


@pytest.mark.parametrize("wanted", ["students", "root.students"])
def test_submit_prints_nothing_when_the_queue_is_the_requested_one(run, cluster, wanted):
    became(cluster, "root.students")
    assert run("submit", "--queue", wanted, "true").stderr == ""


def test_a_short_name_that_the_capacity_scheduler_finds_is_not_a_difference(run, cluster):
    became(cluster, "root.genomics.align", scheduler="capacity")
    assert run("submit", "--queue", "align", "true").stderr == ""


def test_a_priority_without_effect_is_reported(run, cluster):
    became(cluster, "root.students")
    reported = run("submit", "--priority", "10", "true").stderr
    assert (
        reported
        == "priority 10 has no effect: the fair scheduler has no priorities of applications\n"
    )
    became(cluster, "root.students", 5, "capacity")
    assert "its priority is 5, not 10" in run("submit", "--priority", "10", "true").stderr
    became(cluster, "root.students", 10, "capacity")
    assert run("submit", "--priority", "10", "true").stderr == ""


def test_what_cannot_be_looked_up_does_not_spoil_a_submission(run, cluster):
    cluster.answers[f"/applications/{APPLICATION}"] = httpx.ConnectError("gone")
    result = run("submit", "--priority", "10", "true")
    assert (result.exit_code, result.stdout, result.stderr) == (0, f"{APPLICATION}\n", "")


@pytest.mark.parametrize(
    ("lines", "named"),
    [
        ("#PBS -l mem=2g\n", "1 line with #PBS"),
        ("#!/bin/sh\n#$ -pe smp 4\n", "1 line with #$"),
        ("#!/bin/sh\n# SBATCH\n#SBATCHES\n#$x\n", ""),
    ],
)
def test_lines_for_another_scheduler_in_a_script_are_named(run, cluster, tmp_path, lines, named):
    script = tmp_path / "train.sh"
    script.write_text(f"{lines}exec python train.py\n")
    for words in ((str(script),), ("bash", str(script))):
        result = run("submit", "--", *words)
        assert (result.exit_code, result.stdout) == (0, f"{APPLICATION}\n")
        if named:
            assert f"{script} has {named}, which fairshare does not read: give" in result.stderr
        else:
            assert result.stderr == ""


def test_a_script_that_another_program_runs_is_not_read_for_slurm(run, cluster, tmp_path):
    script = tmp_path / "train.sh"
    script.write_text("#SBATCH --mem=2G\n")
    result = run("submit", "--", "bash", str(script))
    words = f"1 line with #SBATCH, which fairshare does not read: `fairshare submit {script}` does"
    assert words in result.stderr
    assert submitted(cluster)["tasks"][0]["arguments"] == ["bash", str(script)]


def test_a_ray_program_is_refused_where_ray_is_not_installed(run, cluster, monkeypatch):
    monkeypatch.setattr(submit, "find_spec", lambda name: None)
    for here, code in ((True, 1), (False, 0)):
        monkeypatch.setattr(submit, "shares_files", lambda cluster, here=here: here)
        result = run("submit", "--ray", "--", "python", "train.py")
        assert result.exit_code == code
        assert ("-m pip install 'fairshare[ray]'" in result.stderr) == here


ESTIMATE = {
    "at_ms": 0,
    "start": {"p50_ms": 60_000, "p90_ms": 120_000, "outcomes": 1},
    "end": {"p50_ms": None, "p90_ms": None, "outcomes": 30, "calibrated": True},
    "samples": 20,
    "draws": 50,
    "horizon_ms": 7 * 24 * 3_600_000,
    "queue": "root.ml",
}


def test_a_dry_run_says_when_it_would_start_and_submits_nothing(run, cluster):
    cluster.answers["POST /estimates"] = ESTIMATE
    result = run("submit", "--dry-run", "--queue", "ml", "--", "./train")
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines() == [
        "The submission would be accepted in root.ml.",
        "It would start in about 1m 00s, in 9 of 10 simulations within 2m 00s"
        " (not yet calibrated: 1 outcome).",
        "It would end later than in 7d 00h.",
        "From 50 simulations with the run times of 20 applications.",
    ]
    ((path, body),) = cluster.posted()
    assert path == "/estimates"
    assert (body["queue"], body["tasks"][0]["arguments"]) == ("ml", ["./train"])
    found = json.loads(run("submit", "--dry-run", "--json", "--", "./train").stdout)
    assert (found["draws"], found["start"]["p50_ms"]) == (50, 60_000)


def test_a_dry_run_says_where_the_placement_rules_put_it_and_which_priority_it_gets(run, cluster):
    cluster.answers["POST /estimates"] = {**ESTIMATE, "queue": "root.ann", "priority": 2}
    cluster.answers["/queues"] = {"queues": []}
    result = run("submit", "--dry-run", "--queue", "ml", "--priority", "5", "true")
    said = result.stdout.splitlines()
    assert said[:2] == [
        "The submission would be accepted in root.ann.",
        "placed in root.ann, not in ml, by the placement rules",
    ]
    assert "priority" in said[2]
    assert not cluster.posted()[1:]


def test_a_dry_run_without_an_estimate_says_why(run, cluster):
    cluster.answers["POST /estimates"] = {"at_ms": 0, "reason": "20 are needed"}
    result = run("submit", "--dry-run", "true")
    assert result.stdout.splitlines() == [
        "The submission would be accepted.",
        "No estimate of its start and end: 20 are needed.",
    ]


def test_a_dry_run_of_what_is_refused_fails_with_the_reason(run, cluster):
    refusal = {"code": "unknown-queue", "message": "there is no queue 'ml'"}
    cluster.answers["POST /estimates"] = httpx.Response(409, json=refusal)
    result = run("submit", "--dry-run", "--queue", "ml", "true")
    assert result.exit_code == 1
    assert "there is no queue 'ml'" in result.stderr
    assert "accepted" not in result.stdout


def test_a_dry_run_has_no_end_to_wait_for(run, cluster):
    result = run("submit", "--dry-run", "--wait", "true")
    assert result.exit_code == 2
    assert "--dry-run submits nothing that --wait could wait for" in result.stderr
    assert not cluster.posted()
