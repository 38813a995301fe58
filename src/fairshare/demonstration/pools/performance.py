"""Owns one demonstration of the pools from its beginning to its end.

Everything that is set up is put away again, whatever happens in between.
"""

import dataclasses
from pathlib import Path

from rich.console import Console

from fairshare.client.client import Client
from fairshare.demonstration import corpus, machine
from fairshare.demonstration.corpus import Document
from fairshare.demonstration.errors import DemonstrationFailed
from fairshare.demonstration.folder import NOTHING_LEFT, temporary_folder
from fairshare.demonstration.interruption import ended_by_signals
from fairshare.demonstration.invocation import PROGRAM
from fairshare.demonstration.pools.closing import closing
from fairshare.demonstration.pools.course import SCHEDULER, Course
from fairshare.demonstration.pools.figures import JobSpan, job_span
from fairshare.demonstration.pools.jobs import MAP_SLOTS, arrivals, question, word_count
from fairshare.demonstration.pools.plan import (
    QUESTION_BYTES,
    QUESTIONS,
    WHOLE,
    Pace,
    Plan,
    plan_of,
)
from fairshare.demonstration.pools.results import Outcome, outcome_of
from fairshare.demonstration.pools.texts import Text
from fairshare.demonstration.presentation import presentation_on
from fairshare.demonstration.server import Server, configuration_directory, confined
from fairshare.demonstration.teams import ADHOC, PRODUCTION, RESEARCH
from fairshare.errors import FairshareError
from fairshare.families.directory import read_directory
from fairshare.mapreduce import MapReduce
from fairshare.schedulers.pools.settings import PoolsSettings

PATIENCE_S = 60.0
SAMPLER = "sampler"
"""Whose jobs are measured before the beginning, so that nobody takes them for a pool's."""


class Performance:
    """One demonstration, told on a console."""

    def __init__(self, pace: Pace, console: Console) -> None:
        self._pace = pace
        self._console = console

    def run(self) -> bool:
        """Run it; whether all checks were passed. Raises DemonstrationFailed, KeyboardInterrupt."""
        configuration = configuration_directory(SCHEDULER)
        timeout_ms = timeout_of(configuration)
        with ended_by_signals():
            try:
                plan, outcome = self._perform(configuration)
            except (KeyboardInterrupt, SystemExit):
                self._say("Interrupted. The server and its containers are ended, nothing is left.")
                raise
        self._console.print(
            closing(
                outcome.figures,
                (*outcome.checks, NOTHING_LEFT),
                plan,
                timeout_ms,
                outcome.frequent,
                ascii_only=not self._console.encoding.lower().startswith("utf"),
            ),
            soft_wrap=not self._console.is_terminal,
        )
        return all(check.passed for check in outcome.checks)

    def _perform(self, configuration: Path) -> tuple[Plan, Outcome]:
        documents = list(corpus.documents(corpus.roots()))
        if not documents:
            raise DemonstrationFailed("this Python has no sources that words could be counted in")
        with temporary_folder() as folder:
            server = Server(folder, configuration, SCHEDULER)
            try:
                with confined(machine.processors()):
                    client = server.start()
                return self._watch(client, configuration, documents, folder)
            except FairshareError as error:
                if server.ended_by_itself(error):
                    raise DemonstrationFailed(
                        f"the server has ended in the middle:\n{server.last_words()}"
                    ) from error
                raise
            finally:
                server.stop()

    def _watch(
        self, client: Client, configuration: Path, documents: list[Document], folder: Path
    ) -> tuple[Plan, Outcome]:
        self._say("Measuring how fast this machine is ...")
        asked = Text(folder / "asked", documents, QUESTION_BYTES)
        plan, alone_ms = self._measured(client, documents, asked, folder)
        texts = {
            RESEARCH: Text(folder / RESEARCH, documents, plan.research_bytes),
            PRODUCTION: Text(folder / PRODUCTION, documents[::-1], plan.production_bytes),
            ADHOC: asked,
        }
        self._say(f"A server runs with {configuration}")
        self._say(f"Look at it from another terminal: {PROGRAM} top --url {client.url}\n")
        with presentation_on(self._console) as presentation:
            work = arrivals(plan, texts[RESEARCH], texts[PRODUCTION], asked)
            course = Course(client, work, presentation.show)
            course.run()
        self._say("\nChecking the results ...")
        return plan, outcome_of(client, course, texts, alone_ms)

    def _measured(
        self, client: Client, documents: list[Document], asked: Text, folder: Path
    ) -> tuple[Plan, int]:
        """The plan, by a job that fills all map slots; and how long a small one takes alone."""
        slots = client.cluster().total[MAP_SLOTS]
        # From everywhere, so that the sample is like the whole.
        spread = documents[:: max(1, len(documents) // 200)]
        measured = folder / "measured"
        measured.mkdir()
        sample = Text(measured / "text", spread, slots * self._pace.sample_bytes)
        split_bytes = -(-sample.size_bytes // slots)
        count = word_count(RESEARCH, sample, measured, split_bytes, reduces=1)
        maps = self._job_of(client, count).maps.containers
        took_ms = max(one.finished_ms for one in maps[:slots]) - maps[0].allocated_ms
        small = question(QUESTIONS[0], asked, measured, "alone")
        alone_ms = self._job_of(client, small).took_ms
        return plan_of(self._pace, sample.size_bytes, took_ms), alone_ms

    def _job_of(self, client: Client, job: MapReduce) -> JobSpan:
        """The record of a job that is run by itself."""
        result = dataclasses.replace(job, user=SAMPLER).run(client, timeout_s=PATIENCE_S)
        name = result.application
        return job_span(client.application(name), client.containers(name))

    def _say(self, text: str) -> None:
        self._console.print(text, soft_wrap=True)


def timeout_of(configuration: Path) -> int:
    """How long (ms) production waits for its minimum before others' tasks are killed for it."""
    settings = read_directory(configuration).settings
    if not isinstance(settings, PoolsSettings):
        raise DemonstrationFailed(f"{configuration} is not for the Fair Scheduler of MapReduce")
    pool = settings.allocations.pools.get(PRODUCTION)
    if pool is None or pool.min_share_timeout_ms is None:
        raise DemonstrationFailed(
            f"the pools file has no pool {PRODUCTION} with a minSharePreemptionTimeout: write it"
            " again"
        )
    return pool.min_share_timeout_ms


def demonstrate(console: Console, *, pace: Pace = WHOLE) -> bool:
    """Show the pools at work; whether all was as it should be."""
    return Performance(pace, console).run()
