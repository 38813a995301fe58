"""How reliable `fairshare eta` is: `python -m benchmarks.eta [--trace FILE:JOBS:NODES] [STATE...]`.

At moments of a history applications that are not over are asked for, and the estimate is compared
with what happened later. A P90 is honest if 90 % of what happened was not later. Calibration uses
only outcomes that were known at the moment; the first WARM estimates of a history, on which it
begins, are not counted. Without an argument the history is made: twelve hours of three queues,
whose users submit jobs of a few names with run times that are distributed log-normally, on a
cluster that is busy by 80 %. Traces are simulated under examples/three-teams, on nodes of 8 GB and
8 vcores.
"""

import argparse
import random
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
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
from fairshare.lab.branch.calibration import Outcome, stretch
from fairshare.lab.branch.eta import LEAST_SAMPLES, Submissions, draws, quantile
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
from fairshare.settings.directory import read_directory
from fairshare.settings.registry import family_of

HOURS = 12
SEED = 7
WARM = 50
EXAMPLE = Path(__file__).parents[1] / "examples" / "three-teams"


class Source(NamedTuple):
    """A history."""

    scheduler: str
    types: ResourceTypes
    records: list[Record]


class Row(msgspec.Struct):
    """An estimate: of what and when; what was drawn and said (ms after it), and what happened;
    whether it was said to be calibrated."""

    kind: str
    application: ApplicationId
    at_ms: int
    actual_ms: int
    drawn_p50: int | None
    drawn_p90: int | None
    said_p50: int | None = None
    said_p90: int | None = None
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


def simulated(scheduler: str, types: ResourceTypes, settings: Any, workload: Workload) -> Source:
    """The records of a simulation."""
    manager = ResourceManager(family_of(scheduler).create(types))
    journal = MemoryJournal()
    Simulator(manager, msgspec.json.encode(settings), workload, journal).run()
    return Source(scheduler, types, list(journal.records()))


def of_trace(text: str) -> Source:
    """`FILE:JOBS:NODES`, the first jobs of a trace on so many nodes."""
    path, jobs, count = text.rsplit(":", 2)
    configuration = read_directory(EXAMPLE)
    types = configuration.types
    nodes = alike(int(count), types.vector({"memory-mb": 8192, "vcores": 8}))
    options = TraceOptions(limit=int(jobs), nodes=nodes)
    parts = configuration.scheduler, types, configuration.settings
    workload = read_trace(Path(path), *parts, options)
    workload = msgspec.structs.replace(workload, nodes=nodes)
    return simulated(*parts, workload)


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


def estimated(source: Source, points: int, most: int, count: int, most_s: float) -> Iterator[Row]:
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
    for point in range(points):
        # Points lie as densely as submissions do, and between them.
        index = round(len(arrived) * (0.1 + 0.85 * point / points))
        at_ms = arrived[index] + 1
        begin = place
        while place < len(records) and records[place].now_ms <= at_ms:
            place += 1
        some = records[begin:place]
        position = recover(some, manager.state, position)
        table.observe(some)
        numbers = []
        for number, application in manager.state.applications.items():
            donors = run_times.donors(application.submission, application.queue, LEAST_SAMPLES)
            if not application.over and number in ends and len(donors) >= LEAST_SAMPLES:
                numbers.append(number)
        numbers = chosen.sample(numbers, min(most, len(numbers)))
        if not numbers:
            continue
        origin = Origin(Position(position.sequence, at_ms), lambda: manager)
        began_s = time.monotonic()
        if began_s > until_s:
            return
        try:
            found = draws(origin, run_times, submissions, numbers, until_s - began_s, count)
        except InputError as error:
            print(f"point {point}: {error}", file=sys.stderr)
            continue
        print(f"point {point}: {time.monotonic() - began_s:.1f} s", file=sys.stderr)
        for number in numbers:
            drawn = found[number]
            for kind, facts, values in (("start", starts, drawn.starts), ("end", ends, drawn.ends)):
                if number in facts and facts[number] > at_ms:
                    p50, p90 = quantile(values, 0.5), quantile(values, 0.9)
                    yield Row(kind, number, at_ms, facts[number] - at_ms, p50, p90)


def calibrated(rows: list[Row]) -> None:
    """Fill in what is said, in the order of time: from outcomes that were known at that moment."""
    for row in rows:
        row.said_p50 = stretch(0.5, known(rows, row, p90=False)).of(row.drawn_p50)
        most = stretch(0.9, known(rows, row, p90=True))
        row.said_p90, row.calibrated = most.of(row.drawn_p90), most.calibrated


def known(rows: list[Row], now: Row, *, p90: bool) -> list[Outcome]:
    """What was known of earlier estimates of the kind."""
    outcomes = []
    for row in rows:
        if row.at_ms >= now.at_ms:
            break
        if row.kind != now.kind:
            continue
        drawn, said = (row.drawn_p90, row.said_p90) if p90 else (row.drawn_p50, row.said_p50)
        since_ms = now.at_ms - row.at_ms
        due = said is not None and said <= since_ms
        is_open = row.actual_ms > since_ms
        after_ms = since_ms if is_open else row.actual_ms
        one = Outcome(drawn, said, after_ms, open=is_open, due=due)
        outcomes.append((row.at_ms + (said or 0), one))
    return [one for _, one in sorted(outcomes, key=lambda one: one[0])]


def table(name: str, rows: list[Row]) -> Iterator[str]:
    """A line for starts and one for ends."""
    for kind in ("start", "end"):
        some = [row for row in rows if row.kind == kind][WARM:]
        some = [row for row in some if row.drawn_p90 is not None]
        if not some:
            continue
        actual_s = statistics.median(row.actual_ms for row in some) / 1_000
        errors = [
            abs(row.actual_ms - row.said_p50) / 1_000 for row in some if row.said_p50 is not None
        ]

        def met(part: str, some: list[Row] = some) -> str:
            values = [(row.actual_ms, getattr(row, part)) for row in some]
            of_all = sum(said is None or ms <= said for ms, said in values) / (len(values) or 1)
            return f"{of_all:.0%}"

        calibrated = [row for row in some if row.calibrated]
        yield (
            f"| {name} | {kind} | {len(some)} | {actual_s:,.0f} s |"
            f" {statistics.median(errors):,.0f} s | {met('drawn_p50')} | {met('said_p50')} |"
            f" {met('drawn_p90')} | {met('said_p90')} |"
            f" {met('said_p90', calibrated)} of {len(calibrated)} |"
        )


def main() -> None:
    """Print a table for each history."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.eta", description=__doc__)
    parser.add_argument("directories", nargs="*", type=Path)
    parser.add_argument("--trace", action="append", default=[], metavar="FILE:JOBS:NODES")
    parser.add_argument("--points", type=int, default=60)
    parser.add_argument("--most", type=int, default=10, help="applications at each point")
    parser.add_argument("--draws", type=int, default=30)
    parser.add_argument("--seconds", type=float, default=600, help="ask no more after this")
    parser.add_argument("--save", type=Path, help="keep the estimates (JSON)")
    arguments = parser.parse_args()
    sources = [
        *((str(one), lambda one=one: of_directory(one)) for one in arguments.directories),
        *((Path(one).name, lambda one=one: of_trace(one)) for one in arguments.trace),
    ] or [("made", made)]
    print(
        "| history | of | estimates | actual, median | error of P50, median |"
        " P50 met, drawn | stretched | P90 met, drawn | stretched | of those that were calibrated |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for name, source in sources:
        bounds = arguments.points, arguments.most, arguments.draws, arguments.seconds
        rows = list(estimated(source(), *bounds))
        calibrated(rows)
        if arguments.save:
            arguments.save.write_bytes(msgspec.json.encode(rows))
        for line in table(name, rows):
            print(line, flush=True)


if __name__ == "__main__":
    main()
