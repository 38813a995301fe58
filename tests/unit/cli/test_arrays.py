"""`--array`: a task for each line of a file, or for each index."""

import io
import sys

import pytest

from fairshare.cli.arrays import parse_array
from fairshare.cli.jobs import read_job
from fairshare.errors import ConfigurationError


@pytest.fixture
def lines(tmp_path):
    def write(content):
        (tmp_path / "lines.txt").write_bytes(content)
        return parse_array("lines.txt%3", tmp_path)

    return write


def test_each_line_is_a_task_whose_index_is_its_number_in_the_file(lines):
    array = lines(b"one\n\n  \ntwo words \r\n$(three)\n")
    assert array.tasks.lines == ("one", "two words ", "$(three)")
    assert array.tasks.indexes == "1,4,5"
    assert (array.size, array.at_once) == (3, 3)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "lines.txt has no line"),
        (b"\n \n", "lines.txt has no line"),
        (b"one\n\xff\n", "lines.txt:2: the line is not in UTF-8"),
        (b"one\ntwo\0\n", "lines.txt:2: the line has a NUL character"),
        (b"x\n" * 100_001, "lines.txt has 100,001 lines, and 100,000 are the most"),
    ],
)
def test_a_wrong_file_is_refused_with_the_line(lines, content, words):
    with pytest.raises(ValueError, match=words):
        lines(content)


@pytest.mark.parametrize(
    ("text", "size", "at_once"),
    [("1-1000%10", 1000, 10), ("1,5,9-13:2", 5, None), ("7", 1, None), ("0-9 , 20", 11, None)],
)
def test_indexes_are_ranges(tmp_path, text, size, at_once):
    array = parse_array(text, tmp_path)
    assert (array.size, array.at_once, array.tasks.lines) == (size, at_once, ())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1-", "'1-' is not a range"),
        ("5-1", "'5-1' has no numbers"),
        ("1-9:0", "'1-9:0' has no numbers"),
        ("5,1", "1 comes after 5"),
        ("1-3,2", "2 comes after 3"),
        ("1-10%0", "%0: write how many may run at once"),
        ("0-1000000", "has 1,000,001 tasks"),
        ("9999999999", "is too large"),
        ("nothing.txt", "cannot read nothing.txt: No such file"),
        ("nothing.txt%5", "cannot read nothing.txt: No such file"),
    ],
)
def test_a_wrong_array_is_refused_with_the_reason(tmp_path, text, words):
    with pytest.raises(ValueError, match=words):
        parse_array(text, tmp_path)


def test_a_file_whose_name_looks_like_a_limit_is_that_file(tmp_path):
    (tmp_path / "a%5").write_text("one\n")
    assert parse_array("a%5", tmp_path).at_once is None


def test_lines_come_from_stdin(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a\nb\n")))
    assert parse_array("-%1", tmp_path).tasks.lines == ("a", "b")


def job(tmp_path, array, more=""):
    path = tmp_path / "job.yaml"
    path.write_text(f"tasks: [{{command: 'work {{}}', array: {array}{more}}}]")
    return read_job(path).tasks[0]


def test_a_job_file_names_its_array_from_its_own_folder(tmp_path):
    (tmp_path / "lines.txt").write_text("one\ntwo\n")
    group = job(tmp_path, "lines.txt%1")
    assert (group.count, group.at_once, group.keep_going) == (2, 1, True)
    assert job(tmp_path, "[ann, bob]").array.lines == ("ann", "bob")
    assert job(tmp_path, "1-9", ", keep-going: false").keep_going is False


@pytest.mark.parametrize(
    ("array", "more", "words"),
    [
        ("1-9", ", count: 9", "count and array: give one of both"),
        ("1-9%3", ", at-once: 2", "at-once and %3: give one of both"),
        ("5-1", "", "array: '5-1' has no numbers"),
        ("[]", "", "the list has no line"),
    ],
)
def test_a_job_file_with_a_wrong_array_is_refused(tmp_path, array, more, words):
    with pytest.raises(ConfigurationError, match=words):
        job(tmp_path, array, more)
