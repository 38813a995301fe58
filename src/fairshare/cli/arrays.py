"""The reading of arrays: `FILE%10` with a task for each line, or `1-1000%10`.

All functions raise ValueError with a sentence that says what is wrong and where.
"""

import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final, NamedTuple

from fairshare.api.values import MAX_LINES, MAX_TASKS
from fairshare.client import TaskArray
from fairshare.documents.indexes import parse_indexes, ranges_text
from fairshare.wording import cause, counted

STDIN: Final = "-"

# Not compiled here, which every command would wait for: `re` keeps what it has compiled.
_INDEXES: Final = r"[0-9][0-9,:\s-]*"
_AT_ONCE: Final = r"(.+)%([0-9]{1,7})"


class Array(NamedTuple):
    """An array, the number of its tasks, and how many may run at once."""

    tasks: TaskArray
    size: int
    at_once: int | None = None


def parse_array(text: str, folder: Path) -> Array:
    """The array that an option or a job file names; a relative FILE starts from a folder, and `-`
    is stdin."""
    found = re.fullmatch(_AT_ONCE, text, re.DOTALL)
    at_once = None
    if found is not None and not (folder / text).exists():
        text, at_once = found[1], int(found[2])
        if not 1 <= at_once <= MAX_TASKS:
            raise ValueError(f"%{at_once}: write how many may run at once, from 1 to {MAX_TASKS}")
    if re.fullmatch(_INDEXES, text):
        count, _ = parse_indexes(text)
        if count > MAX_TASKS:
            raise ValueError(f"{text} has {counted(count, 'task')}, and {MAX_TASKS:,} are the most")
        return Array(TaskArray(indexes="".join(text.split())), count, at_once)
    name = "stdin" if text == STDIN else text
    try:
        if text == STDIN:
            content = sys.stdin.buffer.read()
        else:
            content = (folder / Path(text).expanduser()).read_bytes()
    except OSError as error:
        raise ValueError(f"cannot read {name}: {cause(error)}") from error
    tasks = []  # the lines by number, without their ends
    for number, line in enumerate(content.split(b"\n"), 1):
        try:
            tasks.append((number, line.removesuffix(b"\r").decode()))
        except UnicodeDecodeError:
            raise ValueError(f"{name}:{number}: the line is not in UTF-8") from None
    return array_of_lines(tasks, name)._replace(at_once=at_once)


def array_of_lines(lines: Iterable[tuple[int, str]], name: str) -> Array:
    """The array of numbered lines; blank ones have no task."""
    kept = [(number, line) for number, line in lines if line.strip()]
    if not kept:
        raise ValueError(f"{name} has no line: an array needs at least one task")
    if len(kept) > MAX_LINES:
        raise ValueError(
            f"{name} has {counted(len(kept), 'line')}, and {MAX_LINES:,} are the most of one array:"
            " split it into several"
        )
    for number, line in kept:
        if "\0" in line:
            raise ValueError(f"{name}:{number}: the line has a NUL character")
    indexes = ranges_text(number for number, _ in kept)
    return Array(TaskArray(indexes=indexes, lines=tuple(line for _, line in kept)), len(kept))
