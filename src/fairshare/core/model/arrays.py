"""Arrays: groups whose tasks have indexes and lines of their own, and what of these a task's
command gets."""

import shlex
from bisect import bisect_right
from typing import Final

import msgspec

from fairshare.documents.indexes import Rows

PLACE: Final = "{}"
"""What an argument has where a task's line, or else its index, is put."""

_SHELLS: Final = frozenset({"sh", "bash", "dash", "ksh", "zsh"})


class TaskArray(msgspec.Struct, frozen=True, omit_defaults=True):
    """The indexes of a group's tasks, and their `lines`, if they have any.

    `total` is the number of tasks of the array of which these are a part; 0: they are all of it.
    With `fills` the line or the index of a task is put into its arguments.
    """

    indexes: Rows
    lines: tuple[str, ...] = ()
    total: int = 0
    fills: bool = True

    def index_of(self, task: int) -> int:
        """The index of one task.

        >>> array = TaskArray(((0, 1, 1), (1, 5, 1), (2, 9, 2)))
        >>> [array.index_of(task) for task in range(5)]
        [1, 5, 9, 11, 13]
        """
        start, first, step = self.indexes[bisect_right(self.indexes, (task, 2**63, 0)) - 1]
        return first + (task - start) * step

    def task_of(self, index: int) -> int | None:
        """The task that has an index; None if none has. The indexes ascend.

        >>> array = TaskArray(((0, 1, 1), (1, 5, 1), (2, 9, 2)))
        >>> [array.task_of(index) for index in (0, 1, 6, 11)]
        [None, 0, None, 3]
        """
        row = bisect_right(self.indexes, index, key=lambda row: row[1]) - 1
        if row < 0:
            return None
        start, first, step = self.indexes[row]
        task, rest = divmod(index - first, step)
        end = self.indexes[row + 1][0] if row + 1 < len(self.indexes) else None
        return None if rest or (end is not None and start + task >= end) else start + task

    def value_of(self, task: int) -> str:
        """What replaces `{}`."""
        return self.lines[task] if self.lines else str(self.index_of(task))

    def part(self, tasks: list[int], count: int) -> "TaskArray":
        """The array of some of its `count` tasks, in ascending order, with their indexes."""
        return msgspec.structs.replace(
            self,
            indexes=rows_of([self.index_of(task) for task in tasks]),
            lines=tuple([self.lines[task] for task in tasks]) if self.lines else (),
            total=self.total or count,
        )


def rows_of(indexes: list[int]) -> Rows:
    """Ascending indexes as ranges.

    >>> rows_of([3, 4, 5, 9])
    ((0, 3, 1), (3, 9, 1))
    """
    rows = [
        (task, index, 1)
        for task, index in enumerate(indexes)
        if not task or indexes[task - 1] != index - 1
    ]
    return tuple(rows)


def filled(arguments: tuple[str, ...], value: str) -> tuple[str, ...]:
    """Arguments with a value in place of `{}`. In a line for a shell it is quoted, so that it is
    one word there.

    >>> filled(("convert", "{}", "{}.png"), "my cat.jpg")
    ('convert', 'my cat.jpg', 'my cat.jpg.png')
    >>> filled(("sh", "-c", "wc -l < {}"), "my file")
    ('sh', '-c', "wc -l < 'my file'")
    >>> filled(("./{}", "--all"), "my tool")
    ('./my tool', '--all')
    """
    line = _shell_line(arguments)
    return tuple(
        argument.replace(PLACE, shlex.quote(value) if number == line else value)
        for number, argument in enumerate(arguments)
    )


def _shell_line(arguments: tuple[str, ...]) -> int | None:
    """Which argument is a line for a shell; None if none is."""
    if len(arguments) < 3 or arguments[0].rpartition("/")[2] not in _SHELLS:
        return None
    options = arguments[1]
    return 2 if options.startswith("-") and options.endswith("c") else None
