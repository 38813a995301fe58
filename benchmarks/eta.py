"""How reliable `fairshare eta` is: `python -m benchmarks.eta [OPTION...] [STATE...]`.

At moments of a history applications that are not over are asked for, and the estimate is compared
with what happened later. A P90 is honest if 90 % of what happened was not later. Calibration uses
only outcomes that were known at the moment, and estimates that are not said to be calibrated are
not counted. The plain quantiles, with which error and loss are compared, are those of the last 100
outcomes, whatever application they were of.

Without an argument the histories are made: twelve hours of three queues, whose users submit jobs of
a few names with run times that are distributed log-normally, on a cluster that is busy by 80 %; and
an hour of what `make demo` shows. Traces are simulated under examples/three-teams: on so many nodes
of 8 GB and 8 vcores, where larger tasks than the configuration allows are divided, or on their own
nodes, where tasks stay whole. With `--newest` only what has just been submitted is asked for, as
`submit --dry-run` does.
"""

import argparse
import random
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from fairshare.core.manager.resource_manager import ResourceManager
from fairshare.core.model.events import ApplicationEnded, ApplicationState, ContainerLaunched
from fairshare.core.model.identifiers import ApplicationId, application_of
from fairshare.core.model.inputs import NodeJoined, SubmitApplication
from fairshare.core.model.resources import ResourceTypes
from fairshare.core.model.work import TaskGroup
from fairshare.core.record import Record
from fairshare.core.schedulers.fair.settings import FairSettings
from fairshare.errors import InputError
from fairshare.lab.branch.estimates import level, quantile
from fairshare.lab.branch.eta import LEAST_SAMPLES, Submissions, draws
from fairshare.lab.branch.history import History
from fairshare.lab.branch.lives import RunTimes
from fairshare.lab.simulate.simulator import Simulator
from fairshare.lab.simulate.workload import Arrival, GroupPlan, Workload, alike
from fairshare.lab.simulate.world import Origin
from fairshare.lab.verbs.simulated_trace import TraceOptions, read_trace
from fairshare.runtime.journal.memory import MemoryJournal
from fairshare.runtime.observers import Observers
from fairshare.runtime.projections.container_history import ContainerHistory
from fairshare.runtime.recovery import Position, recover
from fairshare.server.follower import ANSWER_S
from fairshare.settings.directory import read_directory
from fairshare.settings.registry import family_of
from fairshare.wording import counted

HOURS = 12
SEED = 7
MOST_KNOWN = 100
EXAMPLE = Path(__file__).parents[1] / "examples" / "three-teams"


class Source(NamedTuple):
    """A history."""

    scheduler: str
    types: ResourceTypes
    records: list[Record]


class Row(msgspec.Struct):
    """An estimate: of what and when; what was drawn and said (ms after it), and what happened;
    whether it was said to be calibrated, and what one would say without draws."""

    kind: str
    application: ApplicationId
    at_ms: int
    actual_ms: int
    drawn_p50: int | None
    drawn_p90: int | None
    drawn: tuple[int | None, ...] = ()
    said_p50: int | None = None
    said_p90: int | None = None
    plain_p50: int | None = None
    plain_p90: int | None = None
    calibrated: bool = False


def made() -> Source:
    """The history that is made."""
    draw = random.Random(SEED)
    arrivals: list[Arrival] = []
    at_ms = 0.0
    while at_ms < HOURS * 3_600_000:
        at_ms += draw.expovariate(1 / 100_000)
        user, job = draw.randrange(6), draw.randrange(3)
        tasks = draw.choice((1, 2, 4, 8))
        median_s = 60 * (1 + job) * (1 + user % 3)
        run_ms = round(1_000 * draw.lognormvariate(0, 0.5) * median_s)
        submission = SubmitApplication(
            f"user{user}",
            f"root.q{user % 3}",
            name=f"job{chr(97 + job)}-{len(arrivals)}",
            tasks=(TaskGroup("t", tasks, (1024, 1)),),
        )
        arrivals.append(Arrival(round(at_ms), submission, (GroupPlan(run_ms),)))
    settings = FairSettings(maximum_allocation=(65_536, 64))
    nodes = tuple(NodeJoined(f"n{number}", (3072, 3)) for number in range(4))
    return simulated("fair", ResourceTypes(), settings, Workload(nodes, tuple(arrivals)))


def demonstrated() -> Source:
    """The work of `make demo`, again and again for an hour: a long application of research, one of
    production, and twenty queries, on twelve vcores."""
    draw = random.Random(SEED)
    arrivals: list[Arrival] = []

    def arrive(at_s: float, team: str, name: str, count: int, run_s: float) -> None:
        tasks = (TaskGroup("map", count, (256, 1)),)
        times = tuple(round(1_000 * run_s * draw.lognormvariate(0, 0.3)) for _ in range(count))
        submission = SubmitApplication(team, f"root.{team}", name=name, tasks=tasks)
        arrivals.append(Arrival(round(1_000 * at_s), submission, (GroupPlan(times),)))

    at_s = 0.0
    while at_s < 3_600:
        arrive(at_s, "research", "letter triples of 19 MB", 126, 1.8)
        arrive(at_s + 5, "production", "letter triples of 12 MB", 80, 1.8)
        for query in range(20):
            arrive(at_s + 8 + 1.3 * query, "adhoc", f"how often '{query}'?", 2, 0.6)
        at_s += draw.expovariate(1 / 45)
    arrivals.sort(key=lambda one: one.at_ms)
    configuration = read_directory(EXAMPLE)
    workload = Workload((NodeJoined("n1", (3_072, 12)),), tuple(arrivals))
    parts = configuration.scheduler, configuration.types, configuration.settings
    return simulated(*parts, workload)


def simulated(scheduler: str, types: ResourceTypes, settings: Any, workload: Workload) -> Source:
    """The records of a simulation."""
    manager = ResourceManager(family_of(scheduler).create(types))
    journal = MemoryJournal()
    Simulator(manager, msgspec.json.encode(settings), workload, journal).run()
    return Source(scheduler, types, list(journal.records()))


def of_trace(text: str) -> Source:
    """`FILE:JOBS[:NODES]`, the first jobs of a trace on so many nodes, or on its own."""
    path, jobs, *count = text.split(":")
    configuration = read_directory(EXAMPLE)
    types = configuration.types
    size = types.vector({"memory-mb": 8192, "vcores": 8})
    nodes = alike(int(count[0]), size) if count else ()
    options = TraceOptions(limit=int(jobs), nodes=nodes, divide=bool(nodes))
    scheduler, settings = configuration.scheduler, configuration.settings
    workload = read_trace(Path(path), scheduler, types, settings, options)
    if workload.maximum is not None:
        settings = msgspec.structs.replace(settings, maximum_allocation=workload.maximum)
    return simulated(scheduler, types, settings, workload)


def of_directory(directory: Path) -> Source:
    """The journal of a state directory, which must begin with its first record."""
    with History.open(directory) as history:
        if history.journal.first_record() != 1:
            raise SystemExit(f"{directory}: the first records of the journal are trimmed")
        identity = history.identity
        return Source(identity.scheduler, identity.types(), list(history.journal.records()))


def outcomes_of(records: Sequence[Record]) -> tuple[dict[int, int], dict[int, int]]:
    """When each application started, and ended by itself."""
    starts: dict[int, int] = {}
    ends: dict[int, int] = {}
    for record in records:
        for event in record.events:
            if type(event) is ContainerLaunched:
                starts.setdefault(application_of(event.container), record.now_ms)
            elif type(event) is ApplicationEnded and event.state != ApplicationState.KILLED:
                ends[event.application] = record.now_ms
    return starts, ends


def estimated(
    source: Source, points: int, most: int, count: int, most_s: float, newest: bool
) -> Iterator[Row]:
    """What is estimated at each of the points, as a follower of the journal does it."""
    records = source.records
    starts, ends = outcomes_of(records)
    family = family_of(source.scheduler)
    manager = ResourceManager(family.create(source.types))
    run_times = RunTimes(manager.state, ContainerHistory())
    submissions = Submissions(0)
    table = Observers()
    run_times.subscribe(table)
    submissions.subscribe(table)
    arrived = [one.now_ms for one in records if type(one.input) is SubmitApplication]
    chosen = random.Random(SEED)
    position, place = Position(), 0
    until_s = time.monotonic() + most_s
    apart_ms, last_ms = (arrived[-1] - arrived[0]) // (10 * points), arrived[0]
    for point in range(points):
        # Points lie as densely as submissions do, and between them; of what is submitted at once
        # there is one.
        index = round(len(arrived) * (0.1 + 0.85 * point / points))
        at_ms = arrived[index] + 1
        if at_ms - last_ms < apart_ms:
            continue
        begin, last_ms = place, at_ms
        while place < len(records) and records[place].now_ms <= at_ms:
            place += 1
        some = records[begin:place]
        position = recover(some, manager.state, position)
        table.observe(some)
        numbers = []
        asked = list(manager.state.applications.items())
        for number, application in asked[-1:] if newest else asked:
            if not application.over and number in ends and run_times.ended >= LEAST_SAMPLES:
                numbers.append(number)
        numbers = chosen.sample(numbers, min(most, len(numbers)))
        if not numbers:
            continue
        origin = Origin(Position(position.sequence, at_ms), lambda: manager)
        began_s = time.monotonic()
        if began_s > until_s:
            return
        try:
            found = draws(origin, run_times, submissions, numbers, ANSWER_S, count)
        except InputError as error:
            print(f"point {point}: {error}", file=sys.stderr)
            continue
        took_s, horizon_ms = time.monotonic() - began_s, found[numbers[0]].horizon_ms
        print(f"point {point}: {took_s:.1f} s, of {horizon_ms / 1_000:,.0f} s", file=sys.stderr)
        for number in numbers:
            drawn = found[number]
            for kind, facts, values in (("start", starts, drawn.starts), ("end", ends, drawn.ends)):
                if number in facts and facts[number] > at_ms:
                    p50, p90 = quantile(values, 0.5), quantile(values, 0.9)
                    yield Row(kind, number, at_ms, facts[number] - at_ms, p50, p90, values)


def calibrated(rows: list[Row]) -> None:
    """Fill in what is said, in the order of time: from outcomes that were known at that moment."""
    for row in rows:
        earlier = [one for one in rows if one.kind == row.kind and one.at_ms < row.at_ms]
        half, most = level(0.5, met(earlier, row, "said_p50")), level(0.9, met(earlier, row))
        row.said_p50, row.said_p90 = half.of(row.drawn), most.of(row.drawn)
        row.calibrated = most.calibrated
        known = [one for one in earlier if one.at_ms + one.actual_ms <= row.at_ms]
        times = [one.actual_ms for one in known[-MOST_KNOWN:]]
        row.plain_p50, row.plain_p90 = quantile(times, 0.5), quantile(times, 0.9)


def met(earlier: list[Row], now: Row, said: str = "said_p90") -> list[bool]:
    """Whether earlier estimates were met, in the order in which they were due."""
    due = []
    for row in earlier:
        said_ms = getattr(row, said)
        if said_ms is not None and row.at_ms + said_ms <= now.at_ms:
            due.append((row.at_ms + said_ms, row.actual_ms <= said_ms))
    due.sort(key=lambda one: one[0])
    return [one for _, one in due]


def loss(rows: list[Row], part: str) -> float:
    """The mean loss of a P90: what it is too early counts nine times as much as what it is too
    late (the pinball loss, which the true 90th percentile makes smallest)."""
    late: list[int] = [row.actual_ms - getattr(row, part) for row in rows]
    return statistics.mean(max(0.9 * ms, -0.1 * ms) for ms in late)


def table(name: str, rows: list[Row]) -> Iterator[str]:
    """A line for starts and one for ends, of the estimates that are said to be calibrated."""
    for kind in ("start", "end"):
        of_kind = [row for row in rows if row.kind == kind]
        some = [
            row
            for row in of_kind
            if row.calibrated and None not in (row.said_p50, row.said_p90, row.plain_p90)
        ]
        if not some:
            continue

        def middle(values: Iterator[float]) -> str:
            middle_s = statistics.median(values) / 1_000
            return f"{middle_s:,.0f} s" if middle_s >= 10 else f"{middle_s:.1f} s"

        def part_met(part: str, some: list[Row] = some) -> str:
            values = [(row.actual_ms, getattr(row, part)) for row in some]
            return f"{sum(said is None or ms <= said for ms, said in values) / len(values):.0%}"

        def error(part: str, some: list[Row] = some) -> str:
            return middle(abs(row.actual_ms - getattr(row, part)) for row in some)

        cells = (
            f"{len(some)} of {len(of_kind)}",
            middle(row.actual_ms for row in some),
            error("said_p50"),
            error("plain_p50"),
            part_met("said_p50"),
            part_met("drawn_p90"),
            part_met("said_p90"),
            middle(row.said_p90 or 0 for row in some),
            f"{loss(some, 'said_p90') / (loss(some, 'plain_p90') or 1):.2f}",
        )
        yield f"| {name} | {kind} | {' | '.join(cells)} |"


def main() -> None:
    """Print a table for each history."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.eta", description=__doc__)
    parser.add_argument("directories", nargs="*", type=Path)
    parser.add_argument("--trace", action="append", default=[], metavar="FILE:JOBS[:NODES]")
    parser.add_argument("--points", type=int, default=60)
    parser.add_argument("--most", type=int, default=10, help="applications at each point")
    parser.add_argument("--newest", action="store_true", help="only what has just been submitted")
    parser.add_argument("--draws", type=int, default=30)
    parser.add_argument("--seconds", type=float, default=600, help="ask no more after this")
    parser.add_argument("--save", type=Path, help="keep the estimates (JSON)")
    arguments = parser.parse_args()
    sources: list[tuple[str, Callable[[], Source]]] = [
        *((str(one), partial(of_directory, one)) for one in arguments.directories),
        *((Path(one).name, partial(of_trace, one)) for one in arguments.trace),
    ] or [("made", made), ("demo", demonstrated)]
    print(
        "| history | of | calibrated | actual, median | error of P50 | of the plain median |"
        " P50 met | P90 met, drawn | calibrated | P90, median | its loss |"
    )
    print("|" + " --- |" * 11)
    for name, source in sources:
        bounds = arguments.points, arguments.most, arguments.draws, arguments.seconds
        rows = list(estimated(source(), *bounds, arguments.newest))
        calibrated(rows)
        without = sum(row.kind == "end" and row.said_p90 is None for row in rows)
        print(f"{name}: {counted(without, 'end')} without a P90", file=sys.stderr)
        if arguments.save:
            arguments.save.write_bytes(msgspec.json.encode(rows))
        for line in table(name, rows):
            print(line, flush=True)


if __name__ == "__main__":
    main()
