"""Which files are the input, and where they are divided."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairshare.mapreduce.inputs import find_files, splits_of


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
