"""How `simulate` runs a simulation: once, or several times with one process for each seed; and
which applications have not ended then, and why.

Ctrl-C ends what runs; the runs that are over are the answer.
"""

import concurrent.futures
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any, Final, Self

import click
import msgspec

from fairshare.core.manager.resource_manager import ResourceManager
from fairshare.core.model.applications import Application
from fairshare.core.model.identifiers import application_name
from fairshare.core.model.inputs import NodeJoined
from fairshare.core.model.resources import MEMORY, VCORES, fits
from fairshare.core.schedulers.protocol import Scheduler
from fairshare.core.schedulers.reasons import Cause, Lasts, Reason, reasons
from fairshare.lab.simulate.faults import Faults, FaultSettings
from fairshare.lab.simulate.repetition import RunNumbers, numbers_of
from fairshare.lab.simulate.report import Report, Unfinished
from fairshare.lab.simulate.simulator import Simulator
from fairshare.lab.simulate.workload import Workload, alike
from fairshare.runtime.collection import collect_rarely
from fairshare.runtime.journal.memory import ForgetfulJournal
from fairshare.runtime.journal.protocol import Journal
from fairshare.runtime.runtime import Observer
from fairshare.server.insight.why import Words, words_of
from fairshare.settings.configuration import Configuration
from fairshare.settings.registry import family_of
from fairshare.settings.reservations import with_reservations
from fairshare.wording import counted

_LOOK_S: Final = 0.25
EXPLAINED: Final = 100
"""The number of applications whose reasons to wait are printed if Ctrl-C ended the simulation."""


def nodes_of_engine(configuration: Configuration) -> tuple[NodeJoined, ...]:
    """The nodes that fairshare.toml describes; none if it does not say how large they are."""
    engine = configuration.shell.engine
    if not (engine.memory_mb and engine.vcores):
        return ()
    amounts = {**engine.resources, MEMORY: engine.memory_mb, VCORES: engine.vcores}
    return alike(engine.nodes, configuration.types.vector(amounts))


class Setup(msgspec.Struct, frozen=True):
    """What is simulated; `until_ms` None: to the end."""

    configuration: Configuration
    workload: Workload
    nodes: tuple[NodeJoined, ...]
    until_ms: int | None = None
    faults: FaultSettings | None = None

    @classmethod
    def of(
        cls,
        configuration: Configuration,
        workload: Workload,
        nodes: tuple[NodeJoined, ...],
        until_ms: int | None = None,
        faults: FaultSettings | None = None,
    ) -> Self:
        """A simulation under a configuration, with what the workload changes of its settings and
        what a server reserves on so many nodes."""
        if workload.maximum is not None:
            settings = msgspec.structs.replace(
                configuration.settings, maximum_allocation=workload.maximum
            )
            configuration = msgspec.structs.replace(configuration, settings=settings)
        configuration = with_reservations(configuration, len(nodes))
        return cls(configuration, workload, nodes, until_ms, faults)

    @property
    def has_chance(self) -> bool:
        """Whether anything depends on a seed."""
        return self.faults is not None or self.workload.has_chance


def simulate(
    setup: Setup,
    seed: int,
    journal: Journal,
    stops: Callable[[int], bool],
    stopped: Callable[[], bool],
    observers: Sequence[Observer] = (),
) -> Report:
    """One run. `stops` is asked after each instant, and `stopped` within them, whether to end with
    a report of what there is. `observers` see each record."""
    configuration = setup.configuration
    manager = ResourceManager(family_of(configuration.scheduler).create(configuration.types))
    simulator = Simulator(
        manager,
        msgspec.json.encode(configuration.settings),
        setup.workload,
        journal,
        nodes=setup.nodes,
        observers=observers,
        beat_interval_ms=configuration.heartbeat_interval_ms,
        stops=stops,
        hurries=stopped,
        forgets=True,
        starts=not isinstance(journal, ForgetfulJournal),
        faults=None if setup.faults is None else Faults(setup.faults, seed),
        seed=seed,
    )
    report = simulator.run(setup.until_ms)
    most = EXPLAINED if stopped() else None
    return msgspec.structs.replace(report, unfinished=unfinished(manager.scheduler, most))


class _Worker:
    """What a process of `simulate_seeds` has."""

    setup: Setup
    stopped: Any


def _begin(setup: Setup, stopped: object) -> None:
    collect_rarely()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that waits decides
    _Worker.setup, _Worker.stopped = setup, stopped


def _run(seed: int) -> RunNumbers | None:
    """The numbers of one run; None if it was ended."""
    stopped = _Worker.stopped
    if stopped.value:
        return None

    def is_stopped() -> bool:
        return bool(stopped.value)

    journal = ForgetfulJournal()
    report = simulate(_Worker.setup, seed, journal, lambda _: is_stopped(), is_stopped)
    return None if stopped.value else numbers_of(report, seed)


def simulate_seeds(setup: Setup, count: int) -> tuple[list[RunNumbers], bool]:
    """Runs with the seeds 1 to `count`, as many at once as there are processors; and whether Ctrl-C
    ended them, so that some are missing."""
    # Where there is fork, the processes have the workload without a copy.
    method = "fork" if "fork" in multiprocessing.get_all_start_methods() else "spawn"
    context = multiprocessing.get_context(method)
    stopped = context.Value("b", 0, lock=False)
    interrupted = False

    def interrupt(_: int, __: FrameType | None) -> None:
        nonlocal interrupted
        interrupted = True
        stopped.value = 1

    with concurrent.futures.ProcessPoolExecutor(
        min(count, _processors()), mp_context=context, initializer=_begin, initargs=(setup, stopped)
    ) as pool:
        earlier = signal.signal(signal.SIGINT, interrupt)
        try:
            futures = [pool.submit(_run, seed) for seed in range(1, count + 1)]
            _wait(futures)
            runs = [run for future in futures if (run := future.result()) is not None]
        except BaseException:
            stopped.value = 1
            raise
        finally:
            signal.signal(signal.SIGINT, earlier)
    return runs, interrupted


def _processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _wait(futures: list[concurrent.futures.Future[RunNumbers | None]]) -> None:
    """Wait for all runs; a terminal sees how many are over."""
    began_s = time.monotonic()
    left = set(futures)
    shown = sys.stderr.isatty()
    while left:
        left = concurrent.futures.wait(left, _LOOK_S).not_done
        if shown:
            done = len(futures) - len(left)
            text = f"{done:,} of {counted(len(futures), 'run')} over"
            if done and left:
                left_s = (time.monotonic() - began_s) / done * len(left)
                text += f", about {left_s:.0f} s left"
            click.echo(f"\r\x1b[K{text}", nl=False, err=True)
    if shown:
        click.echo("\r\x1b[K", nl=False, err=True)


NOT_SAID: Final = "Why it waits was not looked at."


def unfinished(scheduler: Scheduler, most: int | None = None) -> tuple[Unfinished, ...]:
    """The applications that are not over, each with the most important reason why it waits; at
    most `most` of them, as each takes a while."""
    state = scheduler.state
    words = words_of(state)
    waiting: list[Unfinished] = []
    for application in state.applications.values():
        if application.over:
            continue
        if most is not None and len(waiting) >= most:
            name = application_name(state.epoch_ms, application.id)
            submission = application.submission
            waiting.append(Unfinished(name, submission.name, application.queue, sentence=NOT_SAID))
            continue
        why = reasons(application, scheduler.limits_of(application.id), state)
        waiting.append(_of(application, state.epoch_ms, why, words))
    return tuple(waiting)


def _of(application: Application, epoch_ms: int, why: list[Reason], words: Words) -> Unfinished:
    name = application_name(epoch_ms, application.id)
    submission = application.submission
    if not why:
        return Unfinished(name, submission.name, application.queue)
    explained = words.explain(why[0])
    return Unfinished(
        name,
        submission.name,
        application.queue,
        any(_for_ever(reason) for reason in why),
        why[0].cause.value,
        explained.sentence,
        explained.remedy,
    )


def _for_ever(reason: Reason) -> bool:
    """Whether waiting is useless; this includes a single container above its queue's maximum."""
    if reason.cause == Cause.QUEUE_MAXIMUM and reason.wanted and reason.limit:
        return not fits(reason.wanted, reason.limit)
    return reason.cause.lasts is Lasts.PERMANENT
