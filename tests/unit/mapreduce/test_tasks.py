"""One attempt of a task: commands, their words, the commit."""

from pathlib import Path

import pytest

from fairshare.mapreduce import commit, task
from fairshare.mapreduce.counters import Counters, Reporter
from fairshare.mapreduce.job import COUNTERS, MAP, REDUCE, TaskFailed


def counters_of(layout, kind=MAP):
    return Counters.read(layout.task(kind, 0) / COUNTERS)


def test_a_command_reports_counters_and_progress_by_lines_of_stderr(prepare, capfdbinary):
    reported = (
        "reporter:counter:Animals,black cats, 2",
        "reporter:counter:Animals,black cats,3",
        "reporter:counter:a,b:c,d,1",
        "reporter:status:nearly there",
        "reporter:counter:none",
        "an error: no",
    )
    lines = " ".join(f"'{line}'" for line in reported)
    layout = prepare(b"a\n", reduces=0, mapper=f"printf '%s\\n' {lines} >&2; cat")
    task.attempt(layout, MAP, 0)
    assert counters_of(layout).sums["Animals"] == {"black cats": 5}
    assert counters_of(layout).get("b:c,d", "a") == 1
    assert capfdbinary.readouterr().err == b"reporter:counter:none\nan error: no\n"
    assert "nearly there" in (layout.task(MAP, 0) / "progress.json").read_text()


def test_a_command_finds_its_place_in_the_environment(prepare):
    layout = prepare(b"a\n", reduces=0, mapper="env | grep ^mapreduce_ | sort")
    task.attempt(layout, MAP, 0)
    text = (layout.task(MAP, 0) / "result").read_text()
    reported = dict(line.split("=", 1) for line in text.splitlines())
    assert reported["mapreduce_map_input_file"] == str(layout.output.parent / "in")
    assert reported["mapreduce_task_ismap"] == "true"
    assert reported["mapreduce_task_partition"] == "0"
    assert reported["mapreduce_job_reduces"] == "0"


@pytest.mark.parametrize(
    ("mapper", "words"),
    [
        ("exit 7", "the mapper `exit 7` ended with exit code 7"),
        ("kill -9 $$", "was ended by signal 9"),
        ("cat; exit 1", "ended with exit code 1"),
    ],
)
@pytest.mark.parametrize("reduces", [0, 1])
def test_a_command_that_fails_fails_the_attempt_and_leaves_nothing(prepare, mapper, words, reduces):
    layout = prepare(b"a\n" * 100_000, reduces=reduces, mapper=mapper)
    with pytest.raises(TaskFailed, match=words):
        task.attempt(layout, MAP, 0)
    assert list(layout.attempts.iterdir()) == list(layout.committed.iterdir()) == []


def test_a_command_need_not_read_all(prepare):
    layout = prepare(b"line\n" * 500_000, reduces=0, mapper="head -n 1")
    task.attempt(layout, MAP, 0)
    assert (layout.task(MAP, 0) / "result").read_bytes() == b"line\n"


def test_an_input_that_cannot_be_read_fails_the_attempt(prepare):
    layout = prepare(b"line\n", reduces=1, mapper="cat")
    (layout.output.parent / "in").unlink()
    with pytest.raises(TaskFailed, match="cannot read the input"):
        task.attempt(layout, MAP, 0)


def test_of_two_attempts_the_first_to_commit_wins(prepare):
    layout = prepare(b"line\n", reduces=0)
    for name in ("one", "two"):
        (layout.attempts / name).mkdir()
        (layout.attempts / name / "result").write_text(name)
    target = layout.task(MAP, 0)
    assert task.commit_attempt(layout.attempts / "one", target)
    assert not task.commit_attempt(layout.attempts / "two", target)
    assert (target / "result").read_text() == "one"


def test_what_is_committed_is_not_done_again(prepare):
    layout = prepare(b"line\n", reduces=0, mapper="echo x >> tries; cat")
    task.attempt(layout, MAP, 0)
    task.attempt(layout, MAP, 0)
    assert (layout.output.parent / "tries").read_text() == "x\n"


def test_an_attempt_clears_what_one_before_it_in_its_group_has_left(prepare, monkeypatch):
    layout = prepare(b"line\n", reduces=0)
    monkeypatch.setenv("FAIRSHARE_TASK_GROUP", "map")
    for group in ("map", "map-backup-0"):
        layout.attempt(MAP, 0, group, "container_1").mkdir()
    task.attempt(layout, MAP, 0)
    assert [path.name for path in layout.attempts.iterdir()] == [
        "map-00000.map-backup-0.container_1"
    ]


def test_a_commit_may_be_interrupted_anywhere(prepare, parts, monkeypatch):
    layout = prepare(b"b\na\n" * 5, reduces=2, reducer="cat", split_bytes=4)
    for kind, count in ((MAP, 5), (REDUCE, 2)):
        for index in range(count):
            task.attempt(layout, kind, index)
    steps = 0

    def interrupted(operation):
        def once(path, *more):
            nonlocal steps
            steps -= 1
            if steps < 0:
                raise KeyboardInterrupt
            return operation(path, *more)

        return once

    with monkeypatch.context() as patch:
        for name in ("replace", "touch"):
            patch.setattr(Path, name, interrupted(getattr(Path, name)))
        for allowed in (0, 1, 1, 2, 3):
            steps = allowed
            with pytest.raises(KeyboardInterrupt):
                commit.commit(layout)
            assert not layout.success.exists()
        steps = 100
        commit.commit(layout)
    commit.commit(layout)  # and once more when all is done
    assert sorted(b"".join(parts(layout)).split()) == [b"a"] * 5 + [b"b"] * 5
    assert Counters.read(layout.counters).get("Map input records") == 10
    assert not layout.temporary.exists()


def test_a_commit_without_a_part_is_refused(prepare):
    layout = prepare(b"a\n", reduces=2)
    with pytest.raises(TaskFailed, match="part-00000, part-00001: no task has committed it"):
        commit.commit(layout)
    assert not layout.success.exists()


def test_clearing_keeps_the_parts_of_a_commit_that_was_under_way(prepare):
    layout = prepare(b"a\n", reduces=1)
    layout.part(0).write_text("x")
    commit.clear(layout)
    assert list(layout.output.iterdir()) == [layout.part(0)]
    layout.part(0).unlink()
    commit.clear(layout)
    assert not layout.output.exists()


def test_the_program_reports_a_failure_in_one_line(prepare, capfd, monkeypatch):
    layout = prepare(b"a\n", reduces=0, mapper="exit 2")
    monkeypatch.setattr(task.signal, "signal", lambda *_: None)
    monkeypatch.setattr(task, "collect_rarely", lambda: None)
    assert task.main([str(layout.output), MAP, "0"]) == 1
    assert capfd.readouterr().err == "the mapper `exit 2` ended with exit code 2\n"
    monkeypatch.setenv("FAIRSHARE_TASK_INDEX", "0")
    assert task.main([str(layout.output / "gone"), MAP]) == 1
    assert "the task cannot go on" in capfd.readouterr().err


def test_progress_is_written_now_and_then_and_never_above_one(tmp_path):
    reported = Reporter(tmp_path)
    reported.progress(2.0)
    first = (tmp_path / "progress.json").read_text()
    assert '"progress": 1.0' in first
    reported.progress(0.5)
    assert (tmp_path / "progress.json").read_text() == first
