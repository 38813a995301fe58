"""The two halves of a word count; `word-count.yaml` runs them as tasks of an application.

A task may run twice: after a failure, or when its container was preempted. So every file is written
under another name first and then renamed; whoever reads it sees all of it or nothing.
"""

import json
import os
import re
import sys
from collections import Counter
from pathlib import Path
from zlib import crc32

INDEX = int(os.environ["FAIRSHARE_TASK_INDEX"])
COUNT = int(os.environ["FAIRSHARE_TASK_COUNT"])
REDUCERS = int(os.environ["REDUCERS"])
OUTPUT = Path(os.environ["OUTPUT"]) / os.environ["FAIRSHARE_APPLICATION_ID"]


def write(name: str, text: str) -> None:
    """Put a file in place as a whole."""
    OUTPUT.mkdir(parents=True, exist_ok=True)
    draft = OUTPUT / f".{name}.{os.getpid()}"
    draft.write_text(text)
    draft.replace(OUTPUT / name)


def count_words() -> None:
    """Count the words of every COUNT-th text, and sort them by who shall add them up."""
    texts = sorted(path for path in Path(os.environ["INPUT"]).rglob("*") if path.is_file())
    counts: list[Counter[str]] = [Counter() for _ in range(REDUCERS)]
    for path in texts[INDEX::COUNT]:
        for word in re.findall(r"\w+", path.read_text(errors="replace").lower()):
            counts[crc32(word.encode()) % REDUCERS][word] += 1
    for reducer, words in enumerate(counts):
        write(f"map-{INDEX}-{reducer}.json", json.dumps(words))
    print(f"{len(texts[INDEX::COUNT])} texts, {sum(map(Counter.total, counts))} words")


def add_up() -> None:
    """Add up what all map tasks have counted of the words that are this task's."""
    total: Counter[str] = Counter()
    for path in sorted(OUTPUT.glob(f"map-*-{INDEX}.json")):
        total.update(json.loads(path.read_text()))
    ordered = sorted(total.items(), key=lambda pair: (-pair[1], pair[0]))
    write(f"words-{INDEX}.txt", "".join(f"{count}\t{word}\n" for word, count in ordered))
    print(f"{len(ordered)} words in {OUTPUT}/words-{INDEX}.txt; the most frequent:")
    for word, count in ordered[:10]:
        print(f"{count:8} {word}")


if __name__ == "__main__":
    {"map": count_words, "reduce": add_up}[sys.argv[1]]()
