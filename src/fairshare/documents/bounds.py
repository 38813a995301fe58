"""Owns bounds of values that files, requests and the scheduler have in common."""

from typing import Final

LONGEST_QUEUE_NAME: Final = 1_000
"""The most characters of a queue's full name."""

GROUP_REQUESTS: Final = 1 << 20
"""The allocation request id of an application's first group of tasks; a master's own ids are
below."""

GANG_TIMEOUT_MS: Final = 60_000
"""How long a gang holds containers while others are missing, by default."""

GANG_RESTARTS: Final = ("all", "task")
"""What starts again when a task of a gang does not succeed; the first is the default."""
