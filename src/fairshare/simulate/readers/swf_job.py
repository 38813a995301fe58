"""Owns the Standard Workload Format: the jobs of its lines, and its header.

The format has 18 columns, -1 for unknown values, and comments that start with `;`
(https://www.cs.huji.ac.il/labs/parallel/workload/swf.html). The simulator Alea adds three columns:
the used nodes, the queue's name, and the request (`2:ppn=12:...`, nodes and processors per node);
there the requested memory is in bytes per node, not in KB per processor. The request is ignored if
it does not match the number of processors.
Knows nothing of applications.
"""

import math
import re

import msgspec

COLUMNS = 18
CANCELLED = 5

_NODE_SPEC = re.compile(r"(\d+):ppn=(\d+)(?:[:#].*)?")
_HEADER = re.compile(r";\s*(MaxNodes|MaxProcs)\s*:\s*(\d+)\s*")
_NAMED = re.compile(r";\s*(Queue|Partition)\s*:\s*(\d+)\s+([\w\[]\S*).*")


class Job(msgspec.Struct, frozen=True):
    """One line. Unknown values are -1, or "" for names.

    `nodes` and `per_node` are 0 except in Alea's dialect; `memory_kb` is per processor.
    """

    number: int
    submit_s: float
    wait_s: float
    run_s: float
    processors: int
    memory_kb: int
    status: int
    user: int
    group: int
    queue: int
    partition: int
    queue_name: str = ""
    nodes: int = 0
    per_node: int = 0


class Header(msgspec.Struct):
    """The values in the comments; 0 or empty if they are missing."""

    nodes: int = 0
    processors: int = 0
    queues: dict[int, str] = {}
    partitions: dict[int, str] = {}

    def read(self, line: str) -> None:
        """Read the value of a comment, if it has one."""
        if match := _HEADER.fullmatch(line):
            if match.group(1) == "MaxNodes":
                self.nodes = int(match.group(2))
            else:
                self.processors = int(match.group(2))
        elif match := _NAMED.fullmatch(line):
            names = self.queues if match.group(1) == "Queue" else self.partitions
            names[int(match.group(2))] = match.group(3)


def parse_job(line: str) -> Job:
    """Parse the job on a line; raises ValueError that names the wrong column."""
    columns = line.split()
    if len(columns) < COLUMNS:
        raise ValueError(f"has {len(columns)} columns, and the format has {COLUMNS}")
    asked, used = _whole(columns, 8), _whole(columns, 5)
    memory_kb = _whole(columns, 10)
    if memory_kb <= 0:
        memory_kb = _whole(columns, 7)
    processors = asked if asked > 0 else used
    queue_name, nodes, per_node = "", 0, 0
    if len(columns) == COLUMNS + 3:
        queue_name = columns[-2]
        match = _NODE_SPEC.fullmatch(columns[-1])
        if match is not None and int(match.group(1)) * int(match.group(2)) == processors:
            nodes, per_node = int(match.group(1)), int(match.group(2))
        memory_b, sharers = _whole(columns, 10), per_node or processors
        memory_kb = math.ceil(memory_b / sharers / 1024) if memory_b > 0 and sharers > 0 else -1
    elif len(columns) > COLUMNS:
        raise ValueError(
            f"has {len(columns)} columns: the format has {COLUMNS}, and Alea's dialect three more"
        )
    return Job(
        number=_whole(columns, 1),
        submit_s=_number(columns, 2),
        wait_s=_number(columns, 3),
        run_s=_number(columns, 4),
        processors=processors,
        memory_kb=memory_kb,
        status=_whole(columns, 11),
        user=_whole(columns, 12),
        group=_whole(columns, 13),
        queue=_whole(columns, 15),
        partition=_whole(columns, 16),
        queue_name=queue_name,
        nodes=nodes,
        per_node=per_node,
    )


def _whole(columns: list[str], number: int) -> int:
    return int(_number(columns, number))


def _number(columns: list[str], number: int) -> float:
    text = columns[number - 1]
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or abs(value) > 2**53:
        raise ValueError(f"column {number} is {text!r}, not a number")
    return value
