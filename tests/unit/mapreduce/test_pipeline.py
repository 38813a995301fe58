"""Map, sort and reduce together: the result is that of a plain reading, however little memory."""

from collections import Counter
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.effort import examples

from fairshare.mapreduce.counters import Counters
from fairshare.mapreduce.job import TaskFailed

words = st.sampled_from(
    [b"a", b"ab", b"a\x01b", b"\xff\xfe", b"", b"a\tb", b"a\t", b"b\t\t", b"\r"]
)
texts = st.lists(words, max_size=30).map(b"\n".join)
seldom = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    deadline=None,
    max_examples=examples(25),
)


def with_tab(line: bytes) -> bytes:
    """A line as a reducer gets it."""
    return line if b"\t" in line else line + b"\t"


def lines_of(text: bytes) -> list[bytes]:
    """The records of a text."""
    return text.split(b"\n")[:-1] if text.endswith(b"\n") else text.split(b"\n") if text else []


@pytest.mark.slow
@seldom
@given(
    text=texts,
    reduces=st.integers(1, 3),
    split_bytes=st.integers(3, 60),
    memory=st.sampled_from([1, 500, 1 << 20]),
    combiner=st.sampled_from([None, "cat"]),
)
def test_lines_come_to_the_reduces_sorted_and_all_of_a_key_to_one(
    run, parts, text, reduces, split_bytes, memory, combiner
):
    layout = run(
        text,
        reduces=reduces,
        split_bytes=split_bytes,
        sort_memory_bytes=memory,
        merge_factor=2,
        combiner=combiner,
        reducer="cat",
    )
    found = [lines_of(part) for part in parts(layout)]
    for part in found:
        assert part == sorted(part)
    everything = sorted(line for part in found for line in part)
    assert everything == sorted(map(with_tab, lines_of(text)))
    keys = [{line.partition(b"\t")[0] for line in part} for part in found]
    assert sum(map(len, keys)) == len(set().union(*keys))
    counters = Counters.read(layout.counters)
    assert counters.get("Map input records") == len(lines_of(text))
    assert counters.get("Reduce input records") == len(lines_of(text))
    assert counters.get("Reduce input groups") == len(set().union(*keys))


@seldom
@given(
    text=texts,
    reduces=st.integers(1, 3),
    split_bytes=st.integers(3, 60),
    memory=st.sampled_from([1, 500, 1 << 20]),
    combined=st.booleans(),
)
def test_functions_count_as_a_plain_counter_does(
    run, parts, text, reduces, split_bytes, memory, combined
):
    def pairs(line):
        yield line, 1
        yield (len(line), line[:1]), 10

    def add(key, values):
        yield key, sum(values)

    functions = {"mapper": pairs, "reducer": add, "combiner": add if combined else None}
    layout = run(
        text,
        reduces=reduces,
        split_bytes=split_bytes,
        sort_memory_bytes=memory,
        merge_factor=2,
        mapper="pairs",
        binary=True,
        functions=functions,
    )
    wanted: Counter = Counter()
    for line in lines_of(text):
        for key, value in pairs(line):
            wanted[key if isinstance(key, bytes) else str(key).encode()] += value
    # A key may hold a tab itself; what is behind the last one is the value.
    found = [line.rpartition(b"\t") for part in parts(layout) for line in lines_of(part)]
    assert {key: int(value) for key, _, value in found} == wanted
    counters = Counters.read(layout.counters)
    assert combined or counters.get("Combine input records") == 0


def test_a_combiner_of_python_runs_in_memory_and_may_give_other_keys(run, parts):
    def add(key, values):
        total = sum(values)
        if key != "dropped":
            yield key.lower(), total

    text = b"A a dropped\n" * 2000
    functions = {"mapper": lambda line: [(word, 1) for word in line.split()], "combiner": add}
    functions["reducer"] = lambda key, values: [(key, sum(values))]
    # Less than the 6000 values take, and more than what the combiner leaves of them.
    layout = run(text, reduces=1, mapper="m", functions=functions, sort_memory_bytes=20_000)
    found = dict(line.split(b"\t") for line in lines_of(parts(layout)[0]))
    assert found == {b"a": b"4000"}
    counters = Counters.read(layout.counters)
    assert counters.get("Combine input records") >= 6000
    assert counters.get("Reduce input records") <= 4


class Word(NamedTuple):
    """A value that cannot be marshalled."""

    text: str


def test_values_of_any_kind_come_back_as_they_were(run, parts):
    values = [1.5, None, (1, "a"), {"k": [b"x"]}, {3}, Word("w"), True, 10**40]

    def reported(key, found):
        yield key, sorted(map(repr, found))

    functions = {"mapper": lambda line: [("k", value) for value in values], "reducer": reported}
    layout = run(b"a\n", reduces=1, mapper="m", functions=functions)
    assert parts(layout) == [f"k\t{sorted(map(repr, values))}\n".encode()]


def test_a_combiner_changes_how_much_is_sent_and_not_the_result(run, parts):
    text = b"".join(b"%d\n" % (number % 7) for number in range(3000))
    plain = {"reduces": 2, "mapper": "sed 's/$/\t1/'", "sort_memory_bytes": 1}
    add = 'awk -F"\t" "{sum[\\$1] += \\$2} END {for (key in sum) print key FS sum[key]}"'
    without = run(text, reducer=add, **plain)
    combined = run(text, reducer=add, combiner=add, **plain)
    assert [sorted(part.split()) for part in parts(combined)] == [
        sorted(part.split()) for part in parts(without)
    ]
    counters = [Counters.read(layout.counters) for layout in (without, combined)]
    assert counters[0].get("Reduce input records") == 3000
    assert counters[1].get("Reduce input records") < 100
    assert counters[1].get("Combine input records") >= 3000


def test_key_fields_choose_the_reduce_and_the_separator_becomes_a_tab(run, parts):
    lines = [b"11.12.1.2", b"11.14.2.3", b"11.11.4.1", b"11.12.1.1", b"11.14.2.2", b"9"]
    layout = run(
        b"\n".join(lines),
        reduces=3,
        reducer="cat",
        field_separator=".",
        key_fields=2,
        partition_fields=1,
    )
    filled = [lines_of(part) for part in parts(layout) if part]
    assert [
        b"11.11\t4.1",
        b"11.12\t1.1",
        b"11.12\t1.2",
        b"11.14\t2.2",
        b"11.14\t2.3",
    ] in [[line for line in part if line.startswith(b"11")] for part in filled]
    assert sorted(line for part in filled for line in part)[-1] == b"9\t"
    assert Counters.read(layout.counters).get("Reduce input groups") == 4


def test_a_combiner_sees_and_prints_what_is_sent(run, parts):
    fields = {"field_separator": ".", "key_fields": 2, "reduces": 1, "reducer": "cat"}
    text = b"a.b.c.d\na.b.c.d\nx\n"
    combined = run(text, combiner="tee seen", sort_memory_bytes=1, split_bytes=100, **fields)
    assert parts(combined) == parts(run(text, **fields)) == [b"a.b\tc.d\n" * 2 + b"x\t\n"]
    assert (combined.output.parent / "seen").read_bytes().startswith(b"a.b\tc.d\n")


def test_a_partitioner_of_python_chooses_and_its_mistakes_raise_an_error(run, parts):
    functions = {
        "mapper": lambda line: [(int(line), None)],
        "partitioner": lambda key, reduces: key % reduces,
    }
    text = b"".join(b"%d\n" % number for number in range(-3, 12))
    layout = run(text, reduces=3, mapper="m", functions=functions)
    assert [part.split() for part in parts(layout)] == [
        [b"%d" % number for number in range(-3, 12) if number % 3 == part] for part in range(3)
    ]
    functions["partitioner"] = lambda key, reduces: reduces
    with pytest.raises(TaskFailed, match="from 0 to 2 is needed"):
        run(text, reduces=3, mapper="m", functions=functions)


def test_a_line_longer_than_the_buffer_and_many_of_one_key_go_through(run, parts):
    long = b"x" * 1_000_000
    text = long + b"\n" + b"k\n" * 300_000
    layout = run(text, reduces=1, reducer="cat", sort_memory_bytes=1000)
    assert parts(layout) == [b"k\t\n" * 300_000 + long + b"\t\n"]


def test_the_error_says_what_a_mapper_must_yield(run):
    with pytest.raises(TaskFailed, match="must yield pairs of a key and a value"):
        run(b"a\n", reduces=1, mapper="m", functions={"mapper": lambda line: [1]})
