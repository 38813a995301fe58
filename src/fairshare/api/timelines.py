"""The records of an application's past: its phases, its attempts, its containers."""

import msgspec


class Phase(msgspec.Struct, frozen=True):
    """A phase: held (by a limit), queued (without a container) or running; None: it lasts."""

    what: str
    since_ms: int
    until_ms: int | None


class ReservationSpan(Phase, frozen=True):
    """A reservation on a node."""

    node: str


class Mark(msgspec.Struct, frozen=True):
    """A move, a change of priority, or a further attempt."""

    kind: str
    at_ms: int
    what: str


class AttemptSpan(msgspec.Struct, frozen=True):
    """One attempt of an application, and how it ended."""

    number: int
    started_ms: int
    finished_ms: int | None
    end: str


class ContainerSpan(msgspec.Struct, frozen=True):
    """A container with its outcome, and the number of its attempt at its task."""

    id: str
    node: str
    master: bool
    task: str | None
    attempt: int
    allocated_ms: int
    running_ms: int | None
    finished_ms: int | None
    outcome: str


class Timeline(msgspec.Struct, frozen=True):
    """An application's history from its submission on. `left_out` counts containers that are not
    among `containers`; `running` has instants, and the number of containers from each one on."""

    id: str
    now_ms: int
    submitted_ms: int
    finished_ms: int | None
    phases: tuple[Phase, ...]
    reservations: tuple[ReservationSpan, ...]
    marks: tuple[Mark, ...]
    attempts: tuple[AttemptSpan, ...]
    containers: tuple[ContainerSpan, ...]
    left_out: int
    running: list[tuple[int, int]]


class Efficiency(msgspec.Struct, frozen=True):
    """Requested against used resources, over containers that ended and were measured.

    `memory_ratio`: peak divided by allocated memory, weighted by run time. `cpu_ratio`: CPU time
    divided by vcore time. `advice_mb`: the highest peak plus 10 %, if that is less than the memory
    of every container; None: there is no advice.
    """

    containers: int
    asked_memory_mb: int
    peak_memory_mb: int
    mean_peak_memory_mb: int
    memory_ratio: float | None
    cpu_ms: int
    vcore_ms: int
    cpu_ratio: float | None
    advice_mb: int | None
