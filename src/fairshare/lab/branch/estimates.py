"""The estimates of a server and what came of them, in STATE/estimates.sqlite3: what calibrates
estimates, so that nine of ten are met by their P90 whatever the draws are worth, and what is said
of their reliability. Without the file they begin again.

What is said is a quantile of the draws, whose level adapts itself: it grows with each earlier
estimate that was not met, and shrinks with each that was. So the part that is met comes to what it
shall be, also where the workload changes (adaptive conformal inference, Gibbs and Candes 2021). A
level of 1 + x, beyond all draws, is the last draw times e to the x, and one of -x the first draw
divided by it (a quantile tracked on a scale of scores: Angelopoulos, Candes and Tibshirani 2023).

An estimate counts as met or not once what was said has passed, and in that order: those that come
early alone would make the level too small.

Copies of the process beside the server add what they say, and the process itself fills in what
happened: each opens the file for as long as that takes.
"""

import contextlib
import math
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple, Self

import msgspec

from fairshare.api.applications import Eta, Spread
from fairshare.core.manager.resource_manager import ResourceManager
from fairshare.core.model.events import ApplicationRejected, ApplicationState, ApplicationSubmitted
from fairshare.core.model.identifiers import ApplicationId, application_name
from fairshare.core.model.inputs import SubmitApplication
from fairshare.core.schedulers.protocol import State
from fairshare.errors import InputError
from fairshare.lab.branch.eta import LEAST_SAMPLES, Drawn, Submissions, draws
from fairshare.lab.branch.lives import RunTimes
from fairshare.lab.simulate.world import Origin
from fairshare.server.side_file import (
    SideFileError,
    open_side_file,
    open_side_file_for_reading,
    transaction,
)

RATE: Final = 0.05
"""After n outcomes the part that was met differs from what it shall be by as much as the level has
changed by then, divided by n times this."""

LEAST_OUTCOMES: Final = 50
"""With fewer an estimate is not said to be calibrated: where the level had to change by 0.1, the
part that was met was wrong by 4 % then."""

MOST_BEYOND: Final = 3.0
"""Twenty times the last draw, or a twentieth of the first."""

FLOOR_MS: Final = 1_000
"""Added to a draw before it is multiplied."""


def quantile(values: Sequence[int | None], part: float) -> int | None:
    """The smallest of the values that such a part of them does not exceed; None is beyond all.

    >>> quantile((4, None, 1, 2, 3), 0.5), quantile((1, 2, None), 0.9)
    (3, None)
    """
    known = sorted(value for value in values if value is not None)
    place = max(math.ceil(part * len(values)) - 1, 0)
    return known[place] if place < len(known) else None


class Level(NamedTuple):
    """At which level of the draws something is said, from so many `outcomes`."""

    outcomes: int
    level: float

    @property
    def calibrated(self) -> bool:
        """Whether there are enough outcomes to rely on it."""
        return self.outcomes >= LEAST_OUTCOMES

    def of(self, draws: Sequence[int | None]) -> int | None:
        """What is said of some draws (ms; None: beyond the horizon).

        >>> Level(30, 0.75).of((4_000, 1_000, 3_000, 2_000)), Level(30, 1.5).of((1_000, 9_000))
        (3000, 15487)
        """
        inside = min(max(self.level, 0.0), 1.0)
        found = quantile(draws, inside)
        if found is None or inside == self.level:
            return found
        return max(round((found + FLOOR_MS) * math.exp(self.level - inside)) - FLOOR_MS, 0)


def level(part: float, met: Iterable[bool]) -> Level:
    """The level at which such a part of all estimates is met, from whether earlier ones were, in
    the order in which they were due.

    >>> level(0.9, [False] * 30).level > 1 > level(0.9, [True] * 30).level
    True
    >>> level(0.9, [True] * 10).level
    0.85
    """
    found, outcomes = part, 0
    for one in met:
        found = min(max(found + RATE * (part - one), -MOST_BEYOND), 1 + MOST_BEYOND)
        outcomes += 1
    return Level(outcomes, round(found, 6))


FILE: Final = "estimates.sqlite3"
FORMAT: Final = 2
SLOT_MS: Final = 600_000
"""Of an application one estimate is remembered in this time."""

MOST_ROWS: Final = 20_000
WEEK_MS: Final = 7 * 24 * 3_600_000
START, END = "start", "end"

_TABLES: Final = """
CREATE TABLE estimates (
    epoch_ms INTEGER NOT NULL, application INTEGER NOT NULL, kind TEXT NOT NULL,
    slot INTEGER NOT NULL, at_ms INTEGER NOT NULL,
    said_p50_ms INTEGER, said_p90_ms INTEGER,
    known_ms INTEGER, actual_ms INTEGER,
    PRIMARY KEY (epoch_ms, application, kind, slot)
);
CREATE INDEX of_kind ON estimates (epoch_ms, kind, known_ms);
"""
_CHANGES: Final = {
    2: "ALTER TABLE estimates DROP COLUMN drawn_p50_ms;"
    "ALTER TABLE estimates DROP COLUMN drawn_p90_ms;"
}


class Said(NamedTuple):
    """What is said of an application."""

    start: Spread | None
    end: Spread | None


class Estimates:
    """The open file of one state directory. Raises sqlite3.Error, SideFileError."""

    def __init__(self, connection: sqlite3.Connection, epoch_ms: int) -> None:
        self._connection = connection
        self._epoch_ms = epoch_ms

    @classmethod
    @contextlib.contextmanager
    def open(cls, directory: Path, epoch_ms: int) -> Iterator[Self]:
        """Open the file for writing, or make it."""
        connection, _ = open_side_file(directory / FILE, FORMAT, _TABLES, _CHANGES)
        with contextlib.closing(connection):
            yield cls(connection, epoch_ms)

    @classmethod
    @contextlib.contextmanager
    def read(cls, directory: Path, epoch_ms: int) -> Iterator[Self | None]:
        """Open the file for reading; None: there is none."""
        if not (directory / FILE).exists():
            yield None
            return
        with contextlib.closing(open_side_file_for_reading(directory / FILE)) as connection:
            yield cls(connection, epoch_ms)

    def say(self, drawn: Drawn, at_ms: int, *, started: bool) -> Said:
        """What is said of what was drawn at an instant, with what was known then."""
        start = None if started else self._spread(START, drawn.starts, at_ms)
        return Said(start, self._spread(END, drawn.ends, at_ms))

    def _spread(self, kind: str, values: tuple[int | None, ...], at_ms: int) -> Spread:
        half, most = (self._level(kind, part, at_ms) for part in (0.5, 0.9))
        p50_ms, p90_ms = half.of(values), most.of(values)
        if p50_ms is not None and p90_ms is not None:
            p50_ms = min(p50_ms, p90_ms)
        return Spread(p50_ms, p90_ms, most.outcomes, most.calibrated)

    def _level(self, kind: str, part: float, at_ms: int) -> Level:
        """The level from the earlier estimates whose time had passed at an instant."""
        said = "said_p90_ms" if part > 0.5 else "said_p50_ms"
        rows = self._connection.execute(
            f"SELECT coalesce(actual_ms <= {said}, 0) FROM estimates"  # noqa: S608  (a literal)
            f" WHERE epoch_ms = ? AND kind = ? AND at_ms < ? AND at_ms + {said} <= ?"
            f" ORDER BY at_ms + {said}",
            (self._epoch_ms, kind, at_ms, at_ms),
        )
        return level(part, (bool(met) for (met,) in rows))

    def met(self, at_ms: int) -> tuple[int, int]:
        """How many estimates were met of how many whose outcomes became known in the last week."""
        row = self._connection.execute(
            "SELECT coalesce(sum(actual_ms <= said_p90_ms), 0), count(*) FROM estimates"
            " WHERE epoch_ms = ? AND said_p90_ms IS NOT NULL AND known_ms > ? AND known_ms <= ?",
            (self._epoch_ms, at_ms - WEEK_MS, at_ms),
        ).fetchone()
        return int(row[0]), int(row[1])

    def add(self, said: Mapping[ApplicationId, Said], at_ms: int) -> None:
        """Remember what was said; the oldest go beyond MOST_ROWS."""
        rows = []
        for number, one in said.items():
            for kind, spread in ((START, one.start), (END, one.end)):
                if spread is not None:
                    place = (self._epoch_ms, number, kind, at_ms // SLOT_MS, at_ms)
                    rows.append((*place, spread.p50_ms, spread.p90_ms))
        with transaction(self._connection) as connection:
            connection.executemany(
                "INSERT OR IGNORE INTO estimates VALUES (?, ?, ?, ?, ?, ?, ?, NULL, NULL)",
                rows,
            )
            connection.execute(
                "DELETE FROM estimates WHERE rowid <= (SELECT max(rowid) FROM estimates) - ?",
                (MOST_ROWS,),
            )

    def open_ones(self) -> set[tuple[ApplicationId, str]]:
        """The applications of which an outcome is not known, and of what."""
        rows = self._connection.execute(
            "SELECT DISTINCT application, kind FROM estimates"
            " WHERE epoch_ms = ? AND known_ms IS NULL",
            (self._epoch_ms,),
        )
        return {(number, kind) for number, kind in rows}

    def fill_in(self, numbers: set[ApplicationId], state: State) -> None:
        """Fill in what has happened to some applications. What a user has killed says nothing of
        how long it would have taken, and is forgotten."""
        with transaction(self._connection) as connection:
            for number in numbers:
                application = state.applications.get(number)
                if application is not None and application.started_ms:
                    self._know(connection, number, START, application.started_ms)
                if application is not None and not application.over:
                    continue
                if application is not None and application.state is not ApplicationState.KILLED:
                    self._know(connection, number, END, application.finished_ms or 0)
                connection.execute(
                    "DELETE FROM estimates"
                    " WHERE epoch_ms = ? AND application = ? AND known_ms IS NULL",
                    (self._epoch_ms, number),
                )

    def _know(
        self, connection: sqlite3.Connection, number: ApplicationId, kind: str, at_ms: int
    ) -> None:
        connection.execute(
            "UPDATE estimates SET known_ms = ?, actual_ms = ? - at_ms"
            " WHERE epoch_ms = ? AND application = ? AND kind = ? AND known_ms IS NULL",
            (at_ms, at_ms, self._epoch_ms, number, kind),
        )


def has_news(number: ApplicationId, kind: str, state: State) -> bool:
    """Whether what was estimated of an application has come, or cannot come any more."""
    application = state.applications.get(number)
    if application is None or application.over:
        return True
    return kind == START and application.started_ms > 0


def estimate(
    origin: Origin,
    run_times: RunTimes,
    submissions: Submissions,
    numbers: Sequence[ApplicationId],
    most_s: float,
    directory: Path | None,
    *,
    remember: bool = False,
) -> list[Eta]:
    """The estimates of some applications at a moment, in their order; with what the file of a state
    directory knows, in which they are remembered. Raises InputError: `unknown-application`,
    `ended`, `too-large`."""
    state, at_ms = origin.manager().state, origin.position.now_ms
    found: dict[ApplicationId, Eta] = {}
    enough = []
    for number in numbers:
        application = state.applications.get(number)
        if application is None:
            raise InputError("unknown-application", f"there is no application {number}")
        if application.over:
            raise InputError("ended", f"application {number} has ended: it is {application.state}")
        samples = run_times.ended
        found[number] = Eta(
            at_ms,
            application_name(state.epoch_ms, number),
            samples=samples,
            queue=application.queue,
            priority=application.priority,
        )
        if samples >= LEAST_SAMPLES:
            enough.append(number)
        else:
            reason = (
                f"fewer than {LEAST_SAMPLES} applications of this cluster have ended by themselves"
                f" ({samples} so far)"
            )
            found[number] = msgspec.structs.replace(found[number], reason=reason)
    if not enough:
        return list(found.values())
    drawn = draws(origin, run_times, submissions, enough, most_s)
    said: dict[ApplicationId, Said] = {}
    met = of = 0
    try:
        with _opened(directory, state.epoch_ms, remember=remember) as estimates:
            for number in enough:
                started = state.applications[number].started_ms > 0
                if estimates is None:
                    said[number] = _as_drawn(drawn[number], started=started)
                else:
                    said[number] = estimates.say(drawn[number], at_ms, started=started)
            if estimates is not None:
                met, of = estimates.met(at_ms)
                if remember:
                    estimates.add(said, at_ms)
    except (sqlite3.Error, SideFileError):  # damaged, or locked for long: they are less worth
        for number in enough:
            started = state.applications[number].started_ms > 0
            said[number] = _as_drawn(drawn[number], started=started)
    for number in enough:
        one = said[number]
        found[number] = msgspec.structs.replace(
            found[number],
            start=one.start,
            end=one.end,
            draws=len(drawn[number].ends),
            horizon_ms=drawn[number].horizon_ms,
            met=met,
            of=of,
        )
    return list(found.values())


def _opened(
    directory: Path | None, epoch_ms: int, *, remember: bool
) -> contextlib.AbstractContextManager[Estimates | None]:
    if directory is None:
        return contextlib.nullcontext()
    return (Estimates.open if remember else Estimates.read)(directory, epoch_ms)


def _as_drawn(drawn: Drawn, *, started: bool) -> Said:
    start, end = (
        Spread(quantile(values, 0.5), quantile(values, 0.9))
        for values in (drawn.starts, drawn.ends)
    )
    return Said(None if started else start, end)


def submitted(
    manager: ResourceManager, now_ms: int, submission: SubmitApplication
) -> ApplicationId:
    """Submit an application to a state, which is this process's own. Raises InputError with the
    scheduler's refusal."""
    for event in manager.handle(now_ms, submission):
        if type(event) is ApplicationSubmitted:
            return event.application
        if type(event) is ApplicationRejected:
            raise InputError(event.code, event.reason)
    raise InputError("no-answer", "the submission was neither accepted nor refused")
