"""Logs of containers, and the files that Hadoop's writer of aggregated logs makes of them.

`python -m tests.hadoop.logs` records these;
`tests/unit/yarn/rpc/own/test_log_aggregation.py` compares.
"""

import hashlib
from pathlib import Path
from typing import NamedTuple

RECORDED = Path(__file__).parent / "unit/yarn/rpc/own/aggregated_logs.json"
CONTAINER = "container_1700000000000_0001_01_{:06}"


class Case(NamedTuple):
    """What is written: the logs of each container by name."""

    containers: tuple[dict[str, bytes], ...]
    view_acl: str = ""


CASES = {
    "no container": Case(()),
    "one log": Case(({"stdout": b"hello\n"},)),
    "several": Case(
        (
            {"stderr": b"", "stdout": b"1\n", "syslog": b"line\n" * 30},
            {"stderr": b"e", "stdout": b"2\n"},
        ),
        "ann,bob ops",
    ),
    "several blocks": Case(
        tuple({"stdout": bytes([65 + number]) * 150_000} for number in range(5))
    ),
    "numbers of all lengths": Case(
        tuple({"stdout": b"x" * size} for size in (30, 100, 130, 4_000, 6_000, 70_000, 900_000))
    ),
}


def digest(content: bytes) -> str:
    """Of a file."""
    return hashlib.sha256(content).hexdigest()
