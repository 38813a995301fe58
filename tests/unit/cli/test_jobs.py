import inspect
import os
import re
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from fairshare.cli.jobs import Group, Job, read_job
from fairshare.cli.submit import command as submit
from fairshare.client import DriverCommand, Master, TaskGroup
from fairshare.documents.structs import keys_of
from fairshare.errors import ConfigurationError

ROOT = Path(__file__).parents[3]
EXAMPLES = ROOT / "examples" / "jobs"
PAGE = ROOT / "docs" / "jobs.md"


@pytest.fixture
def job_of(tmp_path):
    def read(text: str):
        file = tmp_path / "job.yaml"
        file.write_text(dedent(text))
        return read_job(file)

    return read


@pytest.fixture
def problems_of(job_of, tmp_path):
    def problems(text: str) -> list[str]:
        with pytest.raises(ConfigurationError) as caught:
            job_of(text)
        return [f"{problem.line}: {problem.message}" for problem in caught.value.problems]

    return problems


def test_everything_that_a_job_file_may_say_is_taken_over(job_of, tmp_path):
    job = job_of("""
        name: report
        queue: root.research
        user: ann
        user-groups: [research, staff]
        priority: 3
        tags: nightly
        tasks:
          - name: map
            count: 4
            command: wc -l
            environment: {MODE: on, EMPTY: , LEVEL: 0755}
            directory: data
            memory: 1.5g
            vcores: 2
            resources: {yarn.io/gpu: 1}
            max-attempts: 2
            time-limit: 1h30m
            priority: 5
            hosts: [node-1]
            racks: /rack-1
            relax: false
          - name: reduce
            arguments: [sort, -n, '']
            after: [map]
            slow-start: .05
    """)
    assert (job.name, job.queue, job.user, job.priority) == ("report", "root.research", "ann", 3)
    assert (job.groups, job.tags) == (("research", "staff"), ("nightly",))
    assert (job.driver, job.master) == (None, None)
    assert job.tasks == (
        TaskGroup(
            name="map",
            count=4,
            resources={"memory-mb": 1536, "vcores": 2, "yarn.io/gpu": 1},
            command="wc -l",
            environment={"MODE": "on", "EMPTY": "", "LEVEL": "0755"},
            directory=str(tmp_path / "data"),
            max_attempts=2,
            time_limit_ms=5_400_000,
            priority=5,
            hosts=("node-1",),
            racks=("/rack-1",),
            relax=False,
        ),
        TaskGroup(
            name="reduce",
            count=1,
            resources={"memory-mb": 1024, "vcores": 1},
            arguments=("sort", "-n", ""),
            after=("map",),
            slow_start=0.05,
        ),
    )


def test_a_driver_is_a_command_and_the_size_of_its_container(job_of, tmp_path):
    job = job_of("""
        driver:
          command: ./drive
          directory: .
          memory: 256m
          environment: {DEPTH: 3}
    """)
    assert job.tasks == ()
    assert job.driver == DriverCommand(
        command="./drive", directory=str(tmp_path), environment={"DEPTH": "3"}
    )
    assert job.master == Master(resources={"memory-mb": 256, "vcores": 1})


def test_a_job_file_lists_receivers_of_notices_and_the_events(job_of, problems_of):
    job = job_of("""
        notify: [mailto:ann@example.org, "cmd:touch done"]
        notify-on: failed
        tasks: [{command: x}]
    """)
    assert job.notify == ("mailto:ann@example.org", "cmd:touch done")
    assert job.notify_on == ("failed",)
    (problem,) = problems_of("""\
        notify-on: failed
        tasks: [{command: x}]
    """)
    assert "notify-on has a meaning with notify only" in problem


def test_groups_can_share_what_an_anchor_names(job_of):
    job = job_of("""
        tasks:
          - {name: a, command: x, environment: &shared {PLACE: here}}
          - {name: b, command: y, environment: *shared}
    """)
    assert [group.environment for group in job.tasks] == [{"PLACE": "here"}] * 2


def test_all_mistakes_are_reported_together_in_the_order_of_their_lines(problems_of):
    assert problems_of("""\
        quue: a
        priority: high
        tasks:
          - name: a
            count: 0
            comand: ls
            after: [b, q]
          - name: a
            memory: 1x
            time-limit: 60
            command: ls
            arguments: [ls]
            environment: [a]
          - name: b
            after: a
            command: x
            max_attempts: 3
            relax: false
          - name: c/d
            command: [x]
            relax: maybe
            slow-start: 1.5
            resources: {memory-mb: 5, yarn.io/gpu: -1}
    """) == [
        "1: unknown key 'quue': did you mean 'queue'?",
        "2: priority must be a whole number, found 'high'",
        "4: tasks[0]: give one of `command` (a line for the shell) and `arguments` (a list)",
        "4: group a: after: no group 'q'; there are a, a, b, c/d",
        "5: tasks[0].count is 0: it must be at least 1",
        "6: unknown key 'comand' in tasks[0]: did you mean 'command'?",
        "8: tasks[1]: give one of `command` (a line for the shell) and `arguments` (a list)",
        "8: group a: there is another group of this name",
        "9: tasks[1].memory: '1x' is not a size: write 512m, 1g or a number of MB",
        "10: tasks[1].time-limit: '60' has no unit: write 60s or 60m",
        "13: tasks[1].environment must be a mapping (name: value), found a list",
        "14: tasks[2]: relax: false says `only there`, but no hosts or racks",
        "17: unknown key 'max_attempts' in tasks[2]: did you mean 'max-attempts'?",
        "19: group c/d: a name has no slash; tasks are called NAME/0",
        "20: tasks[3].command must be a text, found a list",
        "21: tasks[3].relax: 'maybe' is neither true nor false: write true or false",
        "22: tasks[3].slow-start must be a number from 0.0 to 1.0, found '1.5'",
        "23: tasks[3].resources: memory-mb has a key of its own: memory, or vcores",
        "23: tasks[3].resources.yarn.io/gpu is -1: it must be at least 1",
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("name: x", "1: job: give one of `tasks`"),
        ("driver: {command: x}\ntasks: [{command: y}]", "1: job: give one of `tasks`"),
        ("tasks: []", "1: tasks: the list is empty"),
        ("tasks: {command: x}", "1: tasks must be a list, found a mapping"),
        ("tasks: [x]", "1: tasks[0] must be a mapping (name: value), found 'x'"),
        ("[x]", "1: a job must be a mapping (name: value), found a list"),
        ("name: x\nname: y\ntasks: [{command: x}]", "2: the key 'name' is given twice"),
        ("name:\ntasks: [{command: x}]", "1: name is empty: leave the key out"),
        ("driver: {memory: 1g}", "1: driver: give one of `command`"),
        ("driver: {command: x, count: 2}", "1: unknown key 'count' in driver"),
        ("tasks: [{arguments: []}]", "1: tasks[0].arguments: a list is needed"),
        ("tasks: [{arguments: ['', x]}]", "1: tasks[0].arguments: each must be one value"),
        ("tasks: [{command: x}, {name: b, command: y}]", "1: tasks[0] needs a name"),
        (
            "tasks:\n- {name: a, command: x, after: b}\n- {name: b, command: y, after: a}",
            "2: these groups wait for each other: a, b",
        ),
        ("tasks: [{command: x, after: task}]", "1: these groups wait for each other: task"),
        ("name: [x", "2: not well-formed YAML: "),
        ("name:\n  \x07", "2: not well-formed YAML: a character 0x7 is not allowed"),
    ],
)
def test_a_mistake_is_reported_with_its_line(problems_of, text, problem):
    assert problem in problems_of(text)[0]


def test_a_missing_empty_or_undecodable_file_is_reported(tmp_path):
    with pytest.raises(ConfigurationError, match=r"none\.yaml: No such file"):
        read_job(tmp_path / "none.yaml")
    (tmp_path / "empty.yaml").write_text("# nothing\n")
    with pytest.raises(ConfigurationError, match="the file is empty"):
        read_job(tmp_path / "empty.yaml")
    (tmp_path / "latin.yaml").write_bytes(b"name: gr\xf6\xdfe\n")
    with pytest.raises(ConfigurationError, match="not a text in UTF-8"):
        read_job(tmp_path / "latin.yaml")


@pytest.mark.parametrize("file", sorted(EXAMPLES.glob("*.yaml")), ids=lambda file: file.name)
def test_every_example_is_a_job(file):
    job = read_job(file)
    assert job.tasks or job.driver


def test_the_word_count_counts_words(tmp_path):
    texts = tmp_path / "texts"
    texts.mkdir()
    for number in range(6):
        (texts / f"{number}.txt").write_text("fair share " + "share " * number)
    job = read_job(EXAMPLES / "word-count.yaml")
    for group in job.tasks:
        for index in range(group.count):
            environment = {
                **os.environ,
                **group.environment,
                "INPUT": str(texts),
                "OUTPUT": str(tmp_path),
                "FAIRSHARE_APPLICATION_ID": "application_1_0001",
                "FAIRSHARE_TASK_INDEX": str(index),
                "FAIRSHARE_TASK_COUNT": str(group.count),
            }
            arguments = [sys.executable, *group.arguments[1:]]
            subprocess.run(arguments, cwd=group.directory, env=environment, check=True)
    results = sorted((tmp_path / "application_1_0001").glob("words-*.txt"))
    assert len(results) == 2
    lines = "".join(file.read_text() for file in results).split("\n")
    assert sorted(filter(None, lines)) == ["21\tshare", "6\tfair"]


def test_the_jobs_in_the_documentation_are_jobs(job_of):
    blocks = re.findall(r"^```yaml\n(.*?)^```", PAGE.read_text(), re.M | re.S)
    jobs = [job_of(block) for block in blocks]
    assert [job.name for job in jobs] == ["nightly-report", "train", "search"]


def test_the_job_in_the_help_of_submit_is_a_job(job_of):
    page = inspect.cleandoc(submit.help)
    block = re.search(r"^  name: word-count\n(  .*\n)+", page, re.M)
    assert [group.after for group in job_of(block.group()).tasks] == [(), ("map",)]


KEYS = {key.name for struct in (Job, Group) for key in keys_of(struct)}


@pytest.mark.parametrize("key", sorted(KEYS))
def test_every_key_is_explained_in_the_documentation_and_named_in_the_help(key):
    assert re.search(rf"^\|.*`{key}`.*\|", PAGE.read_text(), re.M)
    assert re.search(rf"\b{key}\b", submit.help)


def test_a_gang_may_set_its_timeout_and_other_groups_may_not(job_of, problems_of):
    gang = "tasks: [{command: work, count: 2, gang: true, gang-timeout: 5s}]"
    (group,) = job_of(gang).tasks
    assert (group.gang, group.gang_timeout_ms) == (True, 5_000)
    assert problems_of("tasks: [{command: work, gang-timeout: 5s}]") == [
        "1: tasks[0]: gang-timeout has a meaning with gang: true only"
    ]
