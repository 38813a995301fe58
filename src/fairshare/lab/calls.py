"""What is tried without a cluster, as calls from Python: `fairshare.simulate`, `compare`, `plan`,
`at`, `check` and `lint`.

They do what the verbs of the same names do, and return what these print. What is wrong with a file
raises a FairshareError that says where; what is wrong with a call raises a ValueError.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Final

import click
import msgspec

from fairshare.api.showing import Rows
from fairshare.cli.options import MOST_NODES
from fairshare.client import Client
from fairshare.core.model.inputs import NodeJoined
from fairshare.core.model.resources import MEMORY, VCORES
from fairshare.documents.durations import MOST_MS
from fairshare.documents.problems import Problem
from fairshare.lab import notebook as notebook  # lists of results show themselves
from fairshare.lab.branch.history import History
from fairshare.lab.branch.past_server import client_of
from fairshare.lab.plan.conditions import parse_condition
from fairshare.lab.plan.planning import Plan
from fairshare.lab.scenarios.files import find_files
from fairshare.lab.scenarios.report import Result, check_file
from fairshare.lab.simulate.comparison import Comparison
from fairshare.lab.simulate.comparison import compare as compared
from fairshare.lab.simulate.faults import parse_faults
from fairshare.lab.simulate.readers import read_workload
from fairshare.lab.simulate.readers.options import ReaderOptions
from fairshare.lab.simulate.report import Report
from fairshare.lab.simulate.workload import alike
from fairshare.lab.verbs.at import CUT
from fairshare.lab.verbs.changes import Changes
from fairshare.lab.verbs.plan import MOST_SEEDS, Question, planned
from fairshare.lab.verbs.scenarios import of_named_file
from fairshare.lab.verbs.simulated_runs import Setup, nodes_of_engine
from fairshare.lab.verbs.simulated_runs import simulate as run
from fairshare.lab.verbs.simulated_trace import TraceOptions, is_workload, read_trace
from fairshare.lab.verbs.simulation_watch import Watch
from fairshare.runtime.journal.memory import ForgetfulJournal
from fairshare.settings.directory import read_directory
from fairshare.settings.linting import lint as linted

Name = str | PathLike[str]
"""The path of a file or a directory."""

MOST: Final = 2**31 - 1
MOST_S: Final = MOST_MS / 1_000


def simulate(
    conf: Name,
    workload: Name,
    *,
    scheduler: str | None = None,
    nodes: int | None = None,
    node_memory_mb: int = 8192,
    node_vcores: int = 8,
    until_s: float | None = None,
    faults: str | None = None,
    seed: int = 1,
    mapping: Name | None = None,
    limit: int | None = None,
    span_s: float | None = None,
) -> Report:
    """Simulate a workload, or a trace of a real cluster, under a configuration directory.

    Without `nodes` the nodes are those of the workload, or of fairshare.toml. `faults` are as
    `mtbf=7d,repair=2h,tasks=0.01`. `mapping`, `limit` and `span_s` are for traces: a file that maps
    its queues, its first jobs, its first seconds.
    """
    path = Path(workload)
    configuration = read_directory(_directory(conf), scheduler=scheduler)
    types = configuration.types
    offered: tuple[NodeJoined, ...] = ()
    if nodes is not None:
        _check_amount("nodes", nodes, most=MOST_NODES)
        _check_amount("node_memory_mb", node_memory_mb)
        _check_amount("node_vcores", node_vcores)
        further = configuration.shell.engine.resources
        each = {**further, MEMORY: node_memory_mb, VCORES: node_vcores}
        offered = alike(nodes, types.vector(each))
    with _as_values():
        if is_workload(path):
            if (mapping, limit, span_s) != (None, None, None):
                raise ValueError(f"{path} is a workload: mapping, limit and span_s are for traces")
            read = read_workload(path, ReaderOptions(types=types))
        else:
            options = msgspec.structs.replace(
                _options(mapping, limit, span_s), nodes=offered, divide=False
            )
            read = read_trace(path, configuration.scheduler, types, configuration.settings, options)
        offered = offered or read.nodes or nodes_of_engine(configuration)
        if not offered:
            raise ValueError(f"{path} names no nodes: say how many with nodes=")
        faulty = None if faults is None else parse_faults(faults)
        setup = Setup.of(configuration, read, offered, _ms("until_s", until_s), faulty)
        return run(setup, seed, ForgetfulJournal(), lambda _: False, lambda: False)


def compare(reports: Mapping[str, Report]) -> Comparison:
    """Compare simulations by name; all others with the first."""
    if not reports:
        raise ValueError("there are no reports: compare({'before': report, 'after': report})")
    return compared(list(reports.items()))


def plan(
    against: Name,
    conf: Name | None = None,
    *,
    nodes: Sequence[str] = (),
    load: float | None = None,
    join: Name | None = None,
    queue: str | None = None,
    seed: int = 1,
    last_s: float | None = None,
    present: Name | None = None,
    mapping: Name | None = None,
    limit: int | None = None,
    span_s: float | None = None,
    seeds: int = 0,
    goal: str | None = None,
) -> Plan:
    """What a configuration directory, other nodes, another load or more work would have done to the
    history of a server, whose state directory is `against`, or to a trace under `present`.

    `nodes` are changes such as `2x`, `+n4:64g,16c` and `-n3`; `load` is a factor, with `queue` of
    its applications only; the applications of the workload `join` come besides. `last_s` takes the
    last part of a history, `mapping`, `limit` and `span_s` those of a trace. With `seeds` the
    changes are also those of so many other draws of the history (`Plan.draws`). With `goal`, as
    'root.prod wait_p95 < 5m', the plan is that of the smallest change that meets it.
    """
    if seeds:
        _check_amount("seeds", seeds, 2, MOST_SEEDS)
    if isinstance(nodes, str):
        nodes = (nodes,)
    changes = Changes(nodes, load, queue, seed, None if join is None else Path(join))
    if conf is None and not changes.edits() and goal is None:
        raise ValueError("nothing changes: name conf, nodes, load, join or a goal")
    if queue is not None and load is None:
        raise ValueError("queue says whose load changes: name load, too")
    if load is not None and not 0 < load <= 100:
        raise ValueError(f"load is {load}: write a factor above 0, up to 100")
    question = Question(
        None if conf is None else _directory(conf),
        Path(against),
        changes,
        _ms("last_s", last_s),
        None if present is None else _directory(present),
        _options(mapping, limit, span_s),
        seeds,
        None if goal is None else parse_condition(goal),
    )
    with _as_values():
        return planned(question, Watch())


@contextmanager
def at(against: Name, moment: str = "now") -> Iterator[Client]:
    """A client that asks the cluster as it was at a moment of the history of a server, whose state
    directory is `against`: `with fairshare.at(directory, "2h") as past: past.queues()`.

    `moment` is as the verb `at` takes it: an instant, an age, `record:1234` or `now`. The client
    only answers questions.
    """
    with _as_values():
        cut = CUT.convert(moment, None, None)
        with History.open(Path(against)) as history:
            found = history.moment(cut)
    with client_of(found) as client:
        yield client


def check(*paths: Name) -> Rows[Result]:
    """Check scenario files, and all below directories; a result for each file."""
    named = [Path(path) for path in paths]
    if not named:
        raise ValueError("name files of scenarios, or directories of them")
    results = [of_named_file(check_file(path), path in named) for path in find_files(named)]
    if all(one.result == "skipped" for one in results):
        raise ValueError(
            f"no scenario in {', '.join(map(str, named))}: one is a *.yaml file with steps"
        )
    return Rows(results, Result)


def lint(path: Name, cluster: Mapping[str, int] | None = None) -> Rows[Problem]:
    """Errors and likely mistakes in a configuration directory or one file of it. `cluster` is what
    all nodes offer together: `{"memory-mb": 81920, "vcores": 80}`."""
    if not Path(path).exists():
        raise ValueError(f"there is no {path}")
    return Rows(linted(Path(path), cluster), Problem)


def _directory(conf: Name) -> Path:
    if not Path(conf).is_dir():
        raise ValueError(f"{conf} is not a directory: name one with a configuration, as for serve")
    return Path(conf)


def _check_amount(name: str, amount: float, least: int = 1, most: float = MOST) -> None:
    if not least <= amount <= most:
        raise ValueError(f"{name} is {amount}: write a number from {least} to {most:,.0f}")


def _options(mapping: Name | None, limit: int | None, span_s: float | None) -> TraceOptions:
    if limit is not None:
        _check_amount("limit", limit)
    return TraceOptions(None if mapping is None else Path(mapping), limit, _ms("span_s", span_s))


def _ms(name: str, seconds: float | None) -> int | None:
    if seconds is None:
        return None
    _check_amount(name, seconds, 0, MOST_S)
    return round(seconds * 1_000)


@contextmanager
def _as_values() -> Iterator[None]:
    """What a verb would print and exit with is a ValueError here."""
    try:
        yield
    except click.ClickException as error:
        raise ValueError(error.message) from error
