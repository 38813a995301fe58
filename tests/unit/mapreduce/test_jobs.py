"""What a job is for the cluster, and what is refused before anything is written."""

import threading

import pytest

from fairshare.client import ApplicationFailed, Container, NotPicklable, Refused
from fairshare.errors import ConfigurationError
from fairshare.mapreduce.counters import JOB
from fairshare.mapreduce.jobs import MapReduce, job_counters
from fairshare.mapreduce.submission import Needs, groups_of, needs_driver, priority_of


class Server:
    """Stands for a client: remembers what was submitted."""

    def __init__(self, types=("memory-mb", "vcores"), refusal=None) -> None:
        self.types = types
        self.refusal = refusal
        self.submitted = None

    def cluster(self):
        class Answer:
            total = dict.fromkeys(self.types, 1)

        return Answer()

    def submit(self, submission):
        if self.refusal is not None:
            raise self.refusal
        self.submitted = submission
        return "application_1_0001"


@pytest.fixture
def job(tmp_path):
    (tmp_path / "in").write_text("a\n" * 100)

    def make(**fields) -> MapReduce:
        return MapReduce(**{"inputs": [tmp_path / "in"], "output": tmp_path / "out", **fields})

    return make


def problems_of(job: MapReduce) -> list[str]:
    with pytest.raises(ConfigurationError) as error:
        job.submit(Server())
    return [problem.split(":")[0] for problem in error.value.problems]


def test_a_job_is_three_groups_one_after_the_other(job):
    server = Server()
    made = job(split_bytes=50, reduces=3, memory_mb=512, reduce_memory_mb=128, hosts=["n1"])
    made.submit(server)
    maps, reduces, commit = server.submitted.tasks
    assert (maps.count, reduces.count, commit.count) == (4, 3, 1)
    assert (maps.after, reduces.after, commit.after) == ((), ("map",), ("reduce",))
    assert maps.priority < reduces.priority < commit.priority
    assert maps.resources == {"memory-mb": 512, "vcores": 1}
    assert reduces.resources == {"memory-mb": 128, "vcores": 1}
    assert (maps.hosts, reduces.hosts) == (("n1",), ())
    assert maps.arguments[-3:] == ("fairshare.mapreduce.task", str(made.layout.output), "map")


def test_without_reduces_the_commit_follows_the_maps(job):
    server = Server()
    job(reduces=0).submit(server)
    assert [group.name for group in server.submitted.tasks] == ["map", "commit"]
    assert server.submitted.tasks[1].after == ("map",)


def test_an_empty_directory_is_a_job_without_maps(job, tmp_path):
    (tmp_path / "empty").mkdir()
    server = Server()
    job(inputs=[tmp_path / "empty"], reduces=2).submit(server)
    assert [group.name for group in server.submitted.tasks] == ["reduce", "commit"]
    assert server.submitted.tasks[0].after == ()


def test_where_the_cluster_has_slots_each_task_takes_one(job, tmp_path):
    types = ("memory-mb", "vcores", "map-slots", "reduce-slots")
    maps, reduces, commit = groups_of(tmp_path, 1, 1, Needs(), types)
    assert maps.resources == {"memory-mb": 1024, "vcores": 1, "map-slots": 1}
    assert reduces.resources == {"memory-mb": 1024, "vcores": 1, "reduce-slots": 1}
    assert commit.resources["map-slots"] == 1


@pytest.mark.parametrize(("fields"), [{"speculative": True}, {"slow_start": 0.5}])
def test_what_must_be_decided_while_it_runs_needs_a_driver(job, fields):
    assert not needs_driver(Needs())
    server = Server()
    made = job(**fields)
    made.submit(server)
    assert server.submitted.tasks == ()
    assert server.submitted.driver.arguments[-1] == str(made.layout.output)
    assert (made.layout.temporary / "plan.json").exists()


def test_a_pool_is_a_queue_below_the_root_and_a_priority_has_a_name(job):
    server = Server()
    job(pool="ads", priority="HIGH", name="n", user="ann", tags=["t"]).submit(server)
    sent = server.submitted
    assert (sent.queue, sent.priority, sent.name) == ("root.ads", 4, "n")
    assert (sent.user, sent.tags) == ("ann", ("t",))
    names = ["VERY_HIGH", "HIGH", "NORMAL", "LOW", "VERY_LOW", "12", 7]
    assert [priority_of(name) for name in names] == [5, 4, 3, 2, 1, 12, 7]


def test_all_mistakes_are_reported_together_and_nothing_is_written(job, tmp_path):
    wrong = job(
        inputs=[tmp_path / "gone"],
        mapper="cat",
        reducer=lambda key, values: [],
        combiner=" ",
        partitioner=lambda key, reduces: 0,
        reduces=-1,
        maps=0,
        partition_fields=2,
        field_separator="",
        queue="a",
        pool="b",
        priority="urgent",
        slow_start=1.5,
        memory_mb=4,
        sort_memory_mb=4,
        directory=tmp_path / "nowhere",
    )
    assert problems_of(wrong) == [
        "mapper, reducer and combiner",
        "mapper, reducer and combiner",
        "partitioner",
        "field separator",
        "partition fields",
        "queue and pool",
        "reduces",
        "maps",
        "sort memory",
        "slow start",
        "priority",
        "directory '" + str(tmp_path / "nowhere") + "' is not a directory",
        f"input path '{tmp_path / 'gone'}' does not exist",
    ]
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"inputs": []}, "input"),
        ({"reduces": 0, "reducer": "cat"}, "reducer, combiner and partitioner"),
        ({"mapper": lambda line: [], "key_fields": 2}, "key fields and their separator"),
        ({"output": "a\0b"}, "output directory"),
        ({"output": "\udcff"}, "output directory '"),
    ],
)
def test_the_problem_names_the_mistaken_field(job, fields, problem):
    (found,) = problems_of(job(**fields))
    assert found.startswith(problem)


def test_a_refused_job_leaves_nothing(job, tmp_path):
    refusal = Refused(409, "unknown-queue", "no such queue")
    with pytest.raises(Refused):
        job().submit(Server(refusal=refusal))
    assert not (tmp_path / "out").exists()


def test_functions_that_cannot_be_pickled_raise_an_error_and_leave_nothing(job, tmp_path):
    lock = threading.Lock()
    with pytest.raises(NotPicklable, match="cannot be sent"):
        job(mapper=lambda line: [(line, lock)]).submit(Server())
    assert not (tmp_path / "out").exists()


def test_the_cluster_counts_attempts_by_kind_and_how_they_ended():
    def ended(group: str, code: int, peak: int) -> Container:
        return Container(
            id=group + str(code),
            group=group,
            task=0,
            exit_code=code,
            peak_memory_mb=peak,
            allocated_ms=1000,
            finished_ms=3000,
        )

    counters = job_counters(
        [
            ended("map", 0, 5),
            ended("map", 1, 9),
            ended("map-backup-3", -100, 1),
            ended("reduce", -104, 7),
            ended("commit", 0, 99),
        ]
    )
    assert counters.sums[JOB] == {
        "Launched map tasks": 3,
        "Failed map tasks": 1,
        "Killed map tasks": 1,
        "Launched reduce tasks": 1,
        "Failed reduce tasks": 1,
        "Total time spent by all map tasks (ms)": 6000,
        "Total time spent by all reduce tasks (ms)": 2000,
    }
    assert counters.get("Peak Map Physical memory (bytes)") == 9 << 20


def test_the_error_of_a_failed_job_has_its_last_lines_and_its_files_are_removed(job, tmp_path):
    class Failing(Server):
        def watch(self, application, timeout_s=None):
            class Ended:
                state = "FAILED"
                diagnostics = "task 0 failed"

            yield Ended()

        def failure_log(self, application):
            return "the last line"

    with pytest.raises(ApplicationFailed, match="the last line"):
        job().run(Failing())
    assert not (tmp_path / "out").exists()
