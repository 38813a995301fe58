"""Owns the work of the team `adhoc`: one short question about the library, asked by hand.

    python -I -S query.py LISTS WORD      prints how often the word is written

LISTS is a file with one list of paths for each task: the halves of what is searched.
"""

import json
import os
import re
import sys
from collections.abc import Iterable
from pathlib import Path

WORD = re.compile(r"[^\W\d_]+")


def main() -> None:
    """Search the part of this task."""
    paths = json.loads(Path(sys.argv[1]).read_text())[int(os.environ["FAIRSHARE_TASK_INDEX"])]
    print(occurrences(paths, sys.argv[2]))


def occurrences(paths: Iterable[str], word: str) -> int:
    """How often a word is written in some documents, in upper or lower case.

    Raises ValueError for what is not one word.
    """
    if not WORD.fullmatch(word):
        raise ValueError(f"{word!r} is not one word: ask for a run of letters")
    wanted = word.lower()
    found = 0
    for path in paths:
        document = Path(path).read_bytes().decode("utf-8", "replace")
        found += sum(1 for other in WORD.findall(document) if other.lower() == wanted)
    return found


if __name__ == "__main__":
    main()
