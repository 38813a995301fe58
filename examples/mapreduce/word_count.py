"""Counts words by a MapReduce job of Python functions.

    python examples/mapreduce/word_count.py docs/*.md --output /tmp/counts

The server is the one at FAIRSHARE_URL, else that of this user on this machine.
"""

import argparse
import heapq
import re
from collections.abc import Iterator

from fairshare.mapreduce import MapReduce, count

WORD = re.compile(r"[^\W\d_]+")


def words(line: str) -> Iterator[tuple[str, int]]:
    """The mapper: the words of one line."""
    found = WORD.findall(line.lower())
    if not found:
        count("Lines", "without a word")
    for word in found:
        yield word, 1


def add(word: str, counts: Iterator[int]) -> Iterator[tuple[str, int]]:
    """The reducer, and the combiner: how often a word is there."""
    yield word, sum(counts)


def main() -> None:
    """Run the job and show the most frequent words."""
    parser = argparse.ArgumentParser(description="Count words.")
    parser.add_argument("inputs", nargs="+")
    parser.add_argument("--output", required=True, help="a directory that does not exist yet")
    parser.add_argument("--queue")
    options = parser.parse_args()
    job = MapReduce(
        inputs=options.inputs,
        output=options.output,
        mapper=words,
        combiner=add,
        reducer=add,
        reduces=2,
        queue=options.queue,
        memory_mb=128,
    )
    result = job.run()
    lines = [line for part in result.parts for line in part.read_text().splitlines()]
    pairs = (line.split("\t") for line in lines)
    for number, word in heapq.nlargest(10, ((int(number), word) for word, number in pairs)):
        print(f"{number:8} {word}")
    print(f"{result.counters.get('Map output records')} words, {len(lines)} different ones")
    print(f"{result.counters.get('without a word', 'Lines')} lines without a word")


if __name__ == "__main__":
    main()
