"""Owns the three teams, when their work arrives, and how they appear under each scheduler: data."""

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

import msgspec

RESEARCH, PRODUCTION, ADHOC = TEAMS = ("research", "production", "adhoc")
"""The teams in the order of their arrival. A team is a user, and a queue or pool below root."""

QUESTIONS = ("lock", "error", "import", "thread", "path", "file", "event", "buffer", "test", "node")
"""The words that the ad-hoc queries look for, in turn."""

Work = TypeVar("Work")
"""What is submitted: a submission, or a MapReduce job."""

MEMORY, MAP_SLOTS, REDUCE_SLOTS = "memory-mb", "map-slots", "reduce-slots"


class Pace(msgspec.Struct, frozen=True, kw_only=True):
    """How long everything takes. Work is measured in seconds of the whole machine.

    `task_s`: the time of a task that had the whole machine. One of 12 concurrent tasks gets a
    twelfth of it, so that a task of 0.15 s takes 1.8 s, and a container ends every 0.15 s.
    `kill_after`: the part of the word count's tasks after which one of its containers is killed.
    The second attempt runs after the waiting tasks, so a late kill makes it visible.
    `sample_bytes`: what each map of the speed measurement reads, large against a task's start.
    """

    research_s: float
    production_s: float
    production_at_s: float
    queries_at_s: float
    query_interval_s: float
    queries: int
    task_s: float = 0.15
    kill_after: float = 1.0
    sample_bytes: int = 0


WHOLE = Pace(
    research_s=19.0,
    production_s=12.0,
    production_at_s=5.0,
    queries_at_s=8.0,
    query_interval_s=1.3,
    queries=20,
    kill_after=0.55,
)
QUICK = Pace(
    research_s=3.2,
    production_s=1.8,
    production_at_s=1.1,
    queries_at_s=1.8,
    query_interval_s=0.65,
    queries=6,
    task_s=0.105,
    kill_after=0.25,
)
WHOLE_JOBS = Pace(
    research_s=29.0,
    production_s=12.0,
    production_at_s=5.0,
    queries_at_s=7.0,
    query_interval_s=1.8,
    queries=10,
    task_s=0.9,
    sample_bytes=800_000,
)
QUICK_JOBS = Pace(
    research_s=4.0,
    production_s=1.5,
    production_at_s=1.0,
    queries_at_s=1.5,
    query_interval_s=1.0,
    queries=3,
    task_s=0.3,
    sample_bytes=200_000,
)


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """A demonstration as data: the scheduler, its folder in `examples`, and the words for it.

    `resources` are what the shares are parts of; the picture shows the first one. `container` is
    what a task asks for, and one square of the picture. `researchers` are the users that
    divide the queue of the team research, in the order of their submissions, with their weights;
    their containers are half as large, so that they divide it more exactly. Empty: the team is one
    user.
    """

    scheduler: str
    name: str
    configuration: str
    container: dict[str, int]
    researchers: dict[str, int] = {}
    resources: tuple[str, ...] = (MEMORY,)
    unit: str = "memory"
    idle: str = "machine"
    queries: str = "short queries"
    watch: str = (
        "Look at it meanwhile: open {url}/cluster/scheduler in a browser, or run {top} in another"
        " terminal"
    )
    whole: Pace = WHOLE
    quick: Pace = QUICK


FAIR = Setting(
    scheduler="fair",
    name="the Fair Scheduler",
    configuration="three-teams",
    container={MEMORY: 256, "vcores": 1},
)
CAPACITY = Setting(
    scheduler="capacity",
    name="the Capacity Scheduler",
    configuration="three-teams-capacity",
    container={MEMORY: 256, "vcores": 16},
    researchers={"bob": 1, "ann": 2},
)
FIFO = msgspec.structs.replace(
    FAIR,
    scheduler="fifo",
    name="FIFO (first come, first served)",
)
POOLS = Setting(
    scheduler="pools",
    name="the Fair Scheduler of MapReduce",
    configuration="three-teams-mapreduce",
    container={MEMORY: 96, "vcores": 1, MAP_SLOTS: 1},
    resources=(MAP_SLOTS, REDUCE_SLOTS),
    unit="{total} map slots",
    idle="slots",
    queries="small jobs",
    watch="Look at it from another terminal: {top}",
    whole=WHOLE_JOBS,
    quick=QUICK_JOBS,
)
SETTINGS = {setting.scheduler: setting for setting in (FAIR, CAPACITY, FIFO, POOLS)}


class Arrival(msgspec.Struct, Generic[Work], frozen=True):
    """One application, and when it is submitted (seconds after the beginning).

    `words`: its name and its main tasks, `word count, 80 maps and 6 reduces`; `tasks`: the number
    of all its tasks; `word`: what a query looks for.
    """

    at_s: float
    team: str
    work: Work
    words: str
    tasks: int
    word: str = ""


def schedule(
    pace: Pace,
    first: Sequence[Arrival[Work]],
    query: Callable[[float, int, str], Arrival[Work]],
) -> list[Arrival[Work]]:
    """`first` and the queries in the order of time; `query` makes one of an instant, a number and a
    word."""
    queries = [
        query(
            pace.queries_at_s + number * pace.query_interval_s,
            number,
            QUESTIONS[number % len(QUESTIONS)],
        )
        for number in range(pace.queries)
    ]
    return sorted([*first, *queries], key=lambda arrival: arrival.at_s)
