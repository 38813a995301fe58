"""MapReduce jobs on a real server with real containers."""

import bz2
import gzip
import lzma
import os
import random
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.served import PATIENCE_S, Served, until

from fairshare.client import ApplicationFailed, Client
from fairshare.errors import ConfigurationError
from fairshare.mapreduce import MapReduce, count
from fairshare.mapreduce.counters import JOB

YARN_SITE = """<configuration>
  <property>
    <name>yarn.resourcemanager.scheduler.class</name>
    <value>org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.FairScheduler</value>
  </property>
  <property><name>yarn.scheduler.minimum-allocation-mb</name><value>16</value></property>
  <property>
    <name>yarn.resource-types.memory-mb.increment-allocation</name><value>16</value>
  </property>
</configuration>
"""

WORDS = "tr -s ' ' '\\n'"
COUNT = "uniq -c"


@contextmanager
def serving(home: Path, *options: str, allocations: str = "") -> Iterator[str]:
    """The URL of a new server, which ends with the context."""
    files = {
        "yarn-site.xml": YARN_SITE,
        "fair-scheduler.xml": f"<allocations>{allocations}</allocations>",
    }
    size = ("--memory-mb", "2048", "--vcores", "8")
    server = Served(home / "conf", *size, *options, files=files)
    yield server.url
    server.end()


@contextmanager
def on_disk() -> Iterator[Path]:
    """A directory on a disk: what a task writes into memory counts as its memory."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as path:
        yield Path(path)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """A server of its own for the tests of this file."""
    with on_disk() as home, serving(home, allocations='<queue name="a"/>') as url:
        yield url


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    with on_disk() as path:
        yield path


@pytest.fixture
def client(url) -> Iterator[Client]:
    with Client(url) as client:
        yield client


@pytest.fixture
def job(tmp_path):
    """Makes small jobs, whose result is `tmp_path/out`."""

    def make(*inputs: Path, **fields) -> MapReduce:
        fields.setdefault("memory_mb", 64)
        return MapReduce(
            inputs=inputs or (tmp_path / "in",),
            output=tmp_path / "out",
            queue="a",
            directory=tmp_path,
            **fields,
        )

    return make


def lines_of(output: Path) -> list[bytes]:
    """All lines of a result, in order, without the tab behind what is all key."""
    text = b"".join(path.read_bytes() for path in sorted(output.glob("part-*")))
    return sorted(line.rstrip(b"\t") for line in text.splitlines())


def plainly(command: str, directory: Path) -> list[bytes]:
    """The lines that a pipe of the shell prints."""
    answer = subprocess.run(
        ["sh", "-c", command],
        cwd=directory,
        env={**os.environ, "LC_ALL": "C"},
        capture_output=True,
        check=True,
    )
    return sorted(answer.stdout.splitlines())


def running(client: Client, application: str, group: str):
    """The first container of a group that runs."""
    found = client.application(application).live_containers
    return next((one for one in found if one.group == group and one.state == "RUNNING"), None)


def test_a_corpus_larger_than_the_memory_of_a_task_gives_what_sort_and_uniq_give(
    client, job, tmp_path
):
    chance = random.Random(11)
    with (tmp_path / "in").open("w") as file:
        for _ in range(36):  # a million bytes each; one word of two is there only once
            digits = chance.randbytes(430_000).hex()
            words = [digits[at : at + 20] for at in range(0, len(digits), 20)]
            file.writelines(f"{word} {word[:3]}\n" for word in words)
    assert (tmp_path / "in").stat().st_size > 32 << 20
    result = job(mapper=WORDS, reducer=COUNT, memory_mb=32, reduces=2).run(client)
    assert lines_of(result.output) == plainly("tr -s ' ' '\\n' < in | sort | uniq -c", tmp_path)
    counters = result.counters
    assert counters.get("Launched map tasks", JOB) == 1  # so it has read all of it
    assert counters.get("Failed map tasks", JOB) == counters.get("Failed reduce tasks", JOB) == 0
    assert 0 < counters.get("Peak Map Physical memory (bytes)") <= 32 << 20
    assert 0 < counters.get("Peak Reduce Physical memory (bytes)") <= 32 << 20
    assert counters.get("Spilled Records") > 2 * counters.get("Map output records")


def test_functions_of_python_run_with_their_counters_and_many_reduces(client, job, tmp_path):
    text = "the cat and the dog\nünïcode \udcff the\n" * 500
    (tmp_path / "in").write_bytes(text.encode("utf-8", "surrogateescape"))

    def words(line):
        count("Animals", "cats", line.count("cat"))
        for word in line.split():
            yield word, 1

    def add(word, counts):
        yield word, sum(counts)

    made = job(mapper=words, combiner=add, reducer=add, reduces=3, split_bytes=10_000)
    result = made.run(client)
    assert len(result.parts) == 3
    wanted = {
        f"{word}\t{number}".encode("utf-8", "surrogateescape")
        for word, number in Counter(text.split()).items()
    }
    assert set(lines_of(result.output)) == wanted
    assert result.counters.get("cats", "Animals") == 500
    assert result.counters.get("Map input records") == 1000
    assert result.counters.get("Reduce input groups") == len(wanted)
    assert result.counters.get("Launched map tasks", JOB) > 1
    assert (result.output / "_SUCCESS").exists()
    assert not (result.output / "_temporary").exists()


def test_files_with_hostile_names_and_compressed_ones_are_read(client, job, tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    names = ["-rf", "a b", "*", "[x]", "$(touch gone)", "line\nfeed", "ü", "\udcfe", "'\"`"]
    for name in names:
        (folder / name).write_text("plain\n")
    (folder / "_hidden").write_text("hidden\n")
    (folder / "1.gz").write_bytes(gzip.compress(b"packed\n") + gzip.compress(b"packed\n"))
    (folder / "2.bz2").write_bytes(bz2.compress(b"packed\n"))
    (folder / "3.xz").write_bytes(lzma.compress(b"packed"))
    result = job(mapper="cat", reducer=COUNT).run(client)
    assert [line.split() for line in lines_of(result.output)] == [
        [b"4", b"packed"],
        [b"9", b"plain"],
    ]
    assert not list(tmp_path.glob("**/gone"))


def test_without_reduces_the_output_of_each_map_is_a_part(client, job, tmp_path):
    lines = [f"{number:05}" for number in range(1000)]
    (tmp_path / "in").write_text("\n".join(lines))
    result = job(mapper="sed s/^/x/", reduces=0, split_bytes=1_500).run(client)
    assert len(result.parts) == result.counters.get("Launched map tasks", JOB) == 4
    assert lines_of(result.output) == [f"x{line}".encode() for line in lines]
    assert result.counters.get("Map output records") == 1000


def test_empty_input_gives_empty_parts(client, job, tmp_path):
    (tmp_path / "in").mkdir()
    result = job(mapper="cat", reducer=COUNT, reduces=2).run(client)
    assert [path.read_bytes() for path in result.parts] == [b"", b""]


def test_the_error_of_a_failed_mapper_has_its_last_lines_and_no_output_is_left(
    client, job, tmp_path
):
    (tmp_path / "in").write_text("a\n")
    failing = job(mapper="echo try >> tries; echo no such luck >&2; exit 3", max_attempts=2)
    with pytest.raises(ApplicationFailed) as failure:
        failing.run(client)
    assert failure.value.state == "FAILED"
    assert "no such luck" in str(failure.value)
    assert "ended with exit code 3" in str(failure.value)
    assert (tmp_path / "tries").read_text() == "try\n" * 2
    assert not (tmp_path / "out").exists()


def test_an_input_that_is_not_whole_fails_the_job(client, job, tmp_path):
    (tmp_path / "in.gz").write_bytes(gzip.compress(os.urandom(5000))[:-100])
    with pytest.raises(ApplicationFailed, match="cannot decompress the input"):
        job(tmp_path / "in.gz", max_attempts=1).run(client)


def test_an_attempt_that_is_ended_leaves_nothing_in_the_result(client, job, tmp_path):
    (tmp_path / "in").write_text("a\nb\n")
    once = "cat; mkdir once 2>/dev/null && touch printed && sleep 600; true"
    made = job(mapper=once, reduces=0)
    application = made.submit(client)
    until((tmp_path / "printed").exists)
    folder = made.layout.attempts
    (before,) = folder.iterdir()
    client.stop_container(until(lambda: running(client, application, "map")).id)
    result = made.follow(client, application)
    assert lines_of(result.output) == [b"a", b"b"]
    assert sorted(path.name for path in result.output.iterdir()) == [
        "_SUCCESS",
        "_counters.json",
        "part-00000",
    ]
    assert result.counters.get("Launched map tasks", JOB) == 2
    assert result.counters.get("Map input records") == 2
    assert not before.exists()


def test_an_output_directory_that_exists_is_refused_before_the_server_is_asked(job, tmp_path):
    (tmp_path / "in").write_text("a\n")
    (tmp_path / "out").mkdir()
    nobody = Client("http://127.0.0.1:9")
    with nobody, pytest.raises(ConfigurationError, match="exists already"):
        job(tmp_path / "in", tmp_path / "nowhere").submit(nobody)
    assert list((tmp_path / "out").iterdir()) == []


def test_a_straggler_gets_a_second_attempt_and_the_first_to_commit_wins(client, job, tmp_path):
    (tmp_path / "in").write_text("".join(f"{number:09}\n" for number in range(4000)))
    hang = (
        'if [ "$mapreduce_task_partition" = 1 ] && mkdir once 2>/dev/null;'
        " then echo $$ > pid; sleep 600; fi; cat"
    )
    made = job(
        mapper=hang,
        reducer="cat",
        split_bytes=10_000,
        speculative=True,
        speculation_delay_ms=500,
    )
    result = made.run(client, timeout_s=PATIENCE_S)
    assert len(lines_of(result.output)) == 4000
    assert result.counters.get("Killed map tasks", JOB) >= 1
    assert result.counters.get("Failed map tasks", JOB) == 0
    assert result.counters.get("Map input records") == 4000
    pid = int((tmp_path / "pid").read_text())
    until(lambda: not Path(f"/proc/{pid}").exists())


def test_a_driver_that_is_lost_begins_again_where_the_tasks_are(client, job, tmp_path):
    (tmp_path / "in").write_text("".join(f"{number:04}\n" for number in range(1000)))
    wait = 'echo $mapreduce_task_partition >> began; cat; [ "$mapreduce_task_partition" = 0 ] &&'
    made = job(
        mapper=f"{wait} while ! [ -e go ]; do sleep 0.05; done; true",
        reducer="cat",
        split_bytes=1250,
        slow_start=0.25,
    )
    application = made.submit(client)
    until(
        lambda: made.layout.committed.is_dir() and len(list(made.layout.committed.iterdir())) == 3
    )
    until(lambda: running(client, application, "reduce"))  # it began before the maps were done
    first = next(one for one in client.containers(application) if one.master)
    client.stop_container(first.id)
    until(lambda: client.application(application).attempt == 2)
    (tmp_path / "go").touch()
    result = made.follow(client, application)
    assert len(lines_of(result.output)) == 1000
    began = Counter((tmp_path / "began").read_text().split())
    assert [began[index] for index in "123"] == [1, 1, 1]  # what was committed was not done again
    assert result.counters.get("Map input records") == 1000


@pytest.mark.parametrize("fields", [{}, {"slow_start": 0.5}], ids=["tasks", "driver"])
def test_under_the_pool_scheduler_each_task_takes_a_slot_of_its_kind(tmp_path, job, fields):
    (tmp_path / "in").write_text("b\na\n" * 10)
    home = tmp_path / "pools"
    home.mkdir()
    with serving(home, "--scheduler", "pools") as url, Client(url) as client:
        made = job(mapper="cat", reducer=COUNT, split_bytes=10, priority="HIGH", **fields)
        made.queue, made.pool = None, "ads"
        result = made.run(client, timeout_s=PATIENCE_S)
        application = client.application(result.application)
        containers = client.containers(result.application)
    assert (application.queue, application.priority) == ("root.ads", 4)
    taken = {
        (one.group, one.resources["map-slots"], one.resources["reduce-slots"])
        for one in containers
        if one.group
    }
    assert taken == {("map", 1, 0), ("reduce", 0, 1), ("commit", 1, 0)}
    assert lines_of(result.output)


def command_line(url: str, tmp_path: Path, *options: str) -> list[str]:
    common = ("--url", url, "--queue", "a", "--memory", "64m", "--directory", str(tmp_path))
    places = ("--input", str(tmp_path / "in"), "--output", str(tmp_path / "out"))
    return [sys.executable, "-m", "fairshare", "mapreduce", *common, *places, *options]


def test_the_command_line_runs_a_job_and_prints_its_counters(url, tmp_path):
    (tmp_path / "in").write_text("b a\na\n")
    options = ("--mapper", WORDS, "--combiner", "cat", "--reducer", COUNT, "--priority", "HIGH")
    done = subprocess.run(
        command_line(url, tmp_path, *options), capture_output=True, text=True, timeout=PATIENCE_S
    )
    assert (done.returncode, done.stderr.count("FINISHED")) == (0, 1), done.stderr
    assert "Map output records=3" in done.stdout
    assert "Combine input records=3" in done.stdout
    assert [line.split() for line in lines_of(tmp_path / "out")] == [[b"1", b"b"], [b"2", b"a"]]


def test_an_interrupted_job_is_killed_and_leaves_nothing(url, client, tmp_path):
    (tmp_path / "in").write_text("a\n")
    process = subprocess.Popen(
        command_line(url, tmp_path, "--mapper", "touch began; sleep 600"),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    until((tmp_path / "began").exists)
    process.send_signal(signal.SIGINT)
    _, reported = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130
    application = reported.split()[0]
    assert f"{application} is killed" in reported
    assert client.application(application).state == "KILLED"
    assert not (tmp_path / "out").exists()
