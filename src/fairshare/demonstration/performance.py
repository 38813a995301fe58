"""Owns one demonstration from its beginning to its end.

Everything that is set up is put away again, whatever happens in between.
"""

import time
from collections.abc import Callable
from pathlib import Path

from rich.console import Console

from fairshare.client.client import Client
from fairshare.demonstration import archive, machine
from fairshare.demonstration.director import Director
from fairshare.demonstration.errors import DemonstrationFailed
from fairshare.demonstration.folder import NOTHING_LEFT, temporary_folder
from fairshare.demonstration.interruption import ended_by_signals
from fairshare.demonstration.invocation import PROGRAM
from fairshare.demonstration.plan import WHOLE, Pace, Plan
from fairshare.demonstration.preparation import Prepared, prepare
from fairshare.demonstration.presentation import presentation_on
from fairshare.demonstration.results import Outcome, outcome_of
from fairshare.demonstration.server import Server, configuration_directory, confined
from fairshare.demonstration.summary import summary
from fairshare.demonstration.teams import SETTINGS, arrivals
from fairshare.errors import FairshareError
from fairshare.wording import failed_call


class Performance:
    """One demonstration with one scheduler, told on a console."""

    def __init__(
        self, scheduler: str, pace: Pace, console: Console, archive_path: Path, crash: bool
    ) -> None:
        self._scheduler = scheduler
        self._crash = crash
        self._pace = pace
        self._console = console
        self._archive_path = archive_path
        self._archive = archive.read_archive(archive_path)

    def run(self) -> bool:
        """Run it; whether all checks were passed. Raises DemonstrationFailed, KeyboardInterrupt."""
        configuration = configuration_directory(self._scheduler)
        with ended_by_signals():
            try:
                plan, outcome = self._perform(configuration)
            except (KeyboardInterrupt, SystemExit):
                self._say("Interrupted. The server and its containers are ended, nothing is left.")
                raise
        self._console.print(
            summary(
                outcome.figures,
                (*outcome.checks, NOTHING_LEFT),
                plan,
                outcome.places,
                self._remember(plan, outcome),
                outcome.frequent,
                ascii_only=not self._console.encoding.lower().startswith("utf"),
            ),
            soft_wrap=not self._console.is_terminal,
        )
        return all(check.passed for check in outcome.checks)

    def _perform(self, configuration: Path) -> tuple[Plan, Outcome]:
        repeated = None
        if self._archive is not None:
            repeated = self._archive.plan_to_repeat(self._scheduler, self._pace, time.time())
        with temporary_folder() as folder:
            server = Server(folder, configuration, self._scheduler)
            try:
                with confined(machine.processors()):
                    prepared = prepare(self._pace, repeated, folder, self._say)
                    client = server.start()
                restart = self._restart(server) if self._crash else None
                return prepared.plan, self._watch(client, configuration, prepared, folder, restart)
            except FairshareError as error:
                if server.ended_by_itself(error):
                    raise DemonstrationFailed(
                        f"the server has ended in the middle:\n{server.last_words()}"
                    ) from error
                raise
            finally:
                server.stop()

    @staticmethod
    def _restart(server: Server) -> Callable[[], None]:
        def restart() -> None:
            with confined(machine.processors()):
                server.crash()

        return restart

    def _watch(
        self,
        client: Client,
        configuration: Path,
        prepared: Prepared,
        folder: Path,
        restart: Callable[[], None] | None,
    ) -> Outcome:
        self._say(f"A server runs with {configuration}")
        self._say(
            f"Look at it meanwhile: open {client.url}/cluster/scheduler in a browser, or run"
            f" {PROGRAM} top --url {client.url} in another terminal\n"
        )
        with presentation_on(self._console) as presentation:
            plan = prepared.plan
            setting = SETTINGS[self._scheduler]
            work = arrivals(plan, folder, setting)
            director = Director(client, work, plan.pace.kill_after, presentation.show, setting)
            if restart is not None:
                director.crash_with(restart)
            director.run()
        self._say("\nChecking the results ...")
        exchange = folder / "exchange"
        return outcome_of(client, self._scheduler, configuration, director, prepared, exchange)

    def _remember(self, plan: Plan, outcome: Outcome) -> archive.Run | None:
        """Keep the figures for the next time; returns the other scheduler's, of the same work.
        Those of a run with a crash are not for comparing."""
        if self._crash or not all(check.passed for check in outcome.checks):
            return None
        updated = archive.with_run(self._archive, plan, outcome.figures, time.time())
        try:
            archive.write_archive(self._archive_path, updated)
        except OSError as error:
            self._say(f"The figures are not kept for the next time: {failed_call(error)}")
        return updated.other_run(self._scheduler)

    def _say(self, text: str) -> None:
        self._console.print(text, soft_wrap=True)


def demonstrate(
    scheduler: str,
    console: Console,
    *,
    pace: Pace = WHOLE,
    archive_path: Path | None = None,
    crash: bool = False,
) -> bool:
    """Show a scheduler (`fair`, `capacity`, `fifo`) at work, and with `crash` what becomes of it
    all when the server is killed in the middle; whether all was as it should be."""
    kept = archive_path or archive.archive_path()
    return Performance(scheduler, pace, console, kept, crash).run()
