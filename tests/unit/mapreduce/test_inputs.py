"""Which files are the input, and where they are divided: splits together are the file, whatever
their borders are.
"""

import bz2
import gzip
import itertools
import lzma
import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fairshare.mapreduce.inputs import chunks, find_files, line_lists, splits_of
from fairshare.mapreduce.job import Split, TaskFailed
from fairshare.mapreduce.lines import Form, normalised, tabbed


@pytest.fixture
def tree(tmp_path):
    for name in ("b", "a", "_hidden", ".hidden", "[a]", "in/c"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(name)
    return tmp_path


def names(found, tree):
    return [os.path.relpath(path, tree) for path, _ in found]


def test_a_directory_means_its_files_by_name_without_hidden_ones(tree):
    (tree / "in" / "c").unlink()
    (tree / "in").rmdir()
    found, problems = find_files([str(tree)])
    assert (names(found, tree), problems) == (["[a]", "a", "b"], [])


def test_the_name_of_an_existing_file_is_not_a_pattern(tree):
    found, problems = find_files([str(tree / "[a]"), str(tree / "[ab]")])
    assert (names(found, tree), problems) == (["[a]", "a", "b"], [])


def test_a_directory_below_is_read_only_when_asked_for(tree):
    found, problems = find_files([str(tree)])
    assert len(problems) == 1
    assert "--recursive" in problems[0]
    found, problems = find_files([str(tree)], recursive=True)
    assert (names(found, tree), problems) == (["[a]", "a", "b", "in/c"], [])


def test_all_problems_are_reported(tree):
    os.mkfifo(tree / "pipe")
    _, problems = find_files([str(tree / "x"), str(tree / "*.txt"), str(tree / "pipe")])
    assert [problem.split("'")[2] for problem in problems] == [
        " does not exist",
        " matches no file",
        " is neither a file nor a directory",
    ]


def test_a_small_rest_is_part_of_the_last_split():
    lengths = [split.length for split in splits_of([("a", 100), ("b", 109)], split_bytes=100)]
    assert lengths == [109, 100]
    assert [split.length for split in splits_of([("b", 111)], split_bytes=100)] == [100, 11]


def test_the_number_of_maps_makes_splits_smaller_and_never_larger():
    assert len(splits_of([("a", 1000)], maps=4)) == 4
    assert len(splits_of([("a", 1000)], maps=1, split_bytes=100)) == 10


@given(
    sizes=st.lists(st.integers(0, 500), max_size=6),
    split_bytes=st.integers(1, 200),
    maps=st.integers(1, 9),
)
def test_the_splits_of_a_file_lie_side_by_side_and_are_all_of_it(sizes, split_bytes, maps):
    files = [(f"file-{number}", size) for number, size in enumerate(sizes)]
    splits = splits_of(files, maps=maps, split_bytes=split_bytes)
    for path, size in files:
        end = 0
        for split in sorted(one for one in splits if one.path == path):
            assert split.start == end
            end += split.length
        assert end == size
        assert sum(split.path == path for split in splits) >= 1


texts = st.lists(st.sampled_from([b"\n", b"a", b"bc", b"\r", b"\t", b"\xff\x00", b"longer"]))


def read(path, start, length, size):
    return b"".join(chunks(Split(str(path), start, length), size))


def records_by_hadoop(text: bytes, start: int, end: int) -> list[bytes]:
    """The records of a split as Hadoop's LineRecordReader finds them, line by line."""

    def line_at(place: int) -> int:
        found = text.find(b"\n", place)
        return len(text) if found < 0 else found + 1

    place = line_at(start) if start else 0
    found = []
    while place <= end and place < len(text):
        behind = line_at(place)
        found.append(text[place:behind])
        place = behind
    return found


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(parts=texts, borders=st.lists(st.integers(0, 40), max_size=4), size=st.integers(1, 9))
def test_each_record_belongs_to_one_split_and_to_that_of_hadoop(tmp_path, parts, borders, size):
    text = b"".join(parts)
    path = tmp_path / "file"
    path.write_bytes(text)
    places = sorted({0, len(text), *(border for border in borders if border < len(text))})
    read_parts = []
    for start, end in itertools.pairwise(places):
        own = read(path, start, end - start, size)
        assert own == b"".join(records_by_hadoop(text, start, end))
        read_parts.append(own)
    assert b"".join(read_parts) == text


@given(parts=texts)
def test_lines_are_those_of_the_whole_text(parts):
    whole = b"".join(parts)
    lines = [line for some in line_lists(parts) for line in some]
    assert (
        lines
        == whole.split(b"\n")[: whole.count(b"\n") + (not whole.endswith(b"\n"))][
            : None if whole else 0
        ]
    )


@pytest.mark.parametrize(
    ("name", "pack"),
    [("a.gz", gzip.compress), ("a.bz2", bz2.compress), ("a.xz", lzma.compress)],
)
def test_a_compressed_file_is_one_split_and_one_that_is_cut_off_says_so(tmp_path, name, pack):
    text = b"".join(b"%d\n" % number for number in range(5000))
    path = tmp_path / name
    path.write_bytes(pack(text))
    files, problems = find_files([str(path)])
    (split,) = splits_of(files, split_bytes=10)
    assert (problems, b"".join(chunks(split))) == ([], text)
    path.write_bytes(pack(text)[:-20])
    with pytest.raises(TaskFailed, match="cannot decompress the input"):
        list(chunks(split))


def test_the_error_of_a_missing_file_names_it(tmp_path):
    with pytest.raises(TaskFailed, match=r"cannot read the input '.*gone'"):
        list(chunks(Split(str(tmp_path / "gone"), 0, 5)))


@given(parts=st.lists(st.sampled_from([b"a", b"\t", b"\n", b"b\nc", b"d\te\nf", b"g\nh\ti"])))
def test_lines_without_a_tab_get_one_wherever_their_parts_end(parts):
    given_lines = [line for some in line_lists(parts) for line in some]
    lines = [line for some in line_lists(tabbed(parts)) for line in some]
    # Those in a part with a tab are left to be normalised, none gets a second one.
    form = Form()
    for line, made in zip(given_lines, lines, strict=True):
        assert made in (line, line + b"\t")
        assert normalised({made: 1}, form) == normalised({line: 1}, form)
