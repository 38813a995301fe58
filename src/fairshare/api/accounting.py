"""The records of the accounts: ended applications and containers, and sums of their use."""

from typing import Final

import msgspec

from fairshare.api.fairness import Budget
from fairshare.api.showing import framed, shown

REPORT_GROUPS: Final = ("user", "queue", "tag", "name", "state", "node", "month", "day")
"""What a report can be divided by."""


class Use(msgspec.Struct, frozen=True, kw_only=True):
    """What containers were granted and used. Amounts times seconds are those granted.

    `cpu_efficiency` is CPU time divided by vcores times seconds, `memory_efficiency` the peak
    divided by the granted memory, weighted by time; both over the containers that were measured,
    None if none was, and the former for less than a second of a vcore.
    """

    containers: int = 0
    failed: int = 0
    preempted: int = 0
    memory_mb_seconds: int = 0
    vcore_seconds: int = 0
    gpu_seconds: int = 0
    cpu_seconds: float = 0.0
    cpu_efficiency: float | None = None
    memory_efficiency: float | None = None


class PastApplication(Use, frozen=True, kw_only=True):
    """An application that ended. `exit_code` is that of the container that failed last, 0 if the
    application succeeded. `cause` is what it failed by, if a limit ended it: TIMEOUT or
    OUT_OF_MEMORY. `nodes` are where it ran, at most 16 of them. `command` (of its driver or of its
    first group), `directory` and `diagnostics` are empty for callers that may not view it."""

    id: str
    name: str = ""
    user: str = ""
    queue: str = ""
    tags: tuple[str, ...] = ()
    kind: str = ""
    state: str = ""
    submitted_ms: int = 0
    started_ms: int | None = None
    ended_ms: int = 0
    exit_code: int | None = None
    peak_memory_mb: int = 0
    nodes: tuple[str, ...] = ()
    command: str = ""
    directory: str = ""
    diagnostics: str = ""
    cause: str = ""


class PastContainer(msgspec.Struct, frozen=True, kw_only=True):
    """A container that ended. `outcome` is its exit code in words."""

    id: str
    application: str = ""
    user: str = ""
    queue: str = ""
    node: str = ""
    group: str = ""
    task: int | None = None
    master: bool = False
    allocated_ms: int = 0
    started_ms: int | None = None
    ended_ms: int = 0
    exit_code: int = 0
    outcome: str = ""
    memory_mb: int = 0
    vcores: int = 0
    gpus: int = 0
    peak_memory_mb: int = 0
    cpu_seconds: float = 0.0


class PastApplications(msgspec.Struct, frozen=True):
    """Applications that ended, the last one first. `more`: there are further ones."""

    applications: tuple[PastApplication, ...] = ()
    more: bool = False

    _repr_html_ = shown
    to_frame = framed


class PastContainers(msgspec.Struct, frozen=True):
    """Containers that ended, the last one first. `more`: there are further ones."""

    containers: tuple[PastContainer, ...] = ()
    more: bool = False

    _repr_html_ = shown
    to_frame = framed


class ReportRow(Use, frozen=True, kw_only=True):
    """What one group of a report used; `group` has a value for each name in `Report.by`."""

    group: tuple[str, ...] = ()
    applications: int = 0


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """The use of ended containers within a period, the largest groups first. Of a container that
    overlaps the period only the part within counts. `budgets` are those of this month, and what
    runs counts for them, too."""

    by: tuple[str, ...] = ()
    since_ms: int = 0
    until_ms: int = 0
    rows: tuple[ReportRow, ...] = ()
    budgets: tuple[Budget, ...] = ()

    _repr_html_ = shown
    to_frame = framed
