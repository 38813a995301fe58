"""Bounds of values that files, requests and the scheduler have in common."""

from typing import Final, Literal, get_args

LONGEST_QUEUE_NAME: Final = 1_000
"""The most characters of a queue's full name."""

GROUP_REQUESTS: Final = 1 << 20
"""The allocation request id of an application's first group of tasks; a master's own ids are
below."""

GANG_TIMEOUT_MS: Final = 60_000
"""How long a gang holds containers while others are missing, by default."""

ProcessLimit = Literal["as", "core", "cpu", "data", "fsize", "memlock", "nofile", "stack"]
PROCESS_LIMITS: Final[tuple[ProcessLimit, ...]] = get_args(ProcessLimit)
"""The limits of a process that a command may set (`RLIMIT_AS`, ... of setrlimit(2))."""

SignalName = Literal["CONT", "HUP", "INT", "QUIT", "TERM", "USR1", "USR2", "WINCH"]
END_SIGNALS: Final[tuple[SignalName, ...]] = get_args(SignalName)
"""The signals that may announce the end of a container."""

MAX_MOUNTS: Final = 100
"""The most mounts of a command in an image."""

LONGEST_GRACE_MS: Final = 3_600_000
"""The longest time from the request to end to the end by force."""

UNLIMITED: Final = -1
"""The value of a limit of a process that means none."""

LATEST_MS: Final = 253_370_764_800_000
"""The latest instant that an application may name: the beginning of the year 9999."""

Outcome = Literal["ok", "failed", "any"]
OUTCOMES: Final[tuple[Outcome, ...]] = get_args(Outcome)
"""How an application may have to end before another one starts; the first is the default."""

GangRestart = Literal["all", "task"]
GANG_RESTARTS: Final[tuple[GangRestart, ...]] = get_args(GangRestart)
"""What starts again when a task of a gang does not succeed; the first is the default."""

NoticeEvent = Literal["end", "failed", "start"]
NOTICE_EVENTS: Final[tuple[NoticeEvent, ...]] = get_args(NoticeEvent)
"""What a notice about an application can be about."""

NOTICE_TARGETS: Final = 4
"""The most targets of an application's notices."""

LONGEST_TARGET: Final = 1_000
"""The most characters of a target of notices."""
