"""The verb `demo` and the course of a demonstration: what each team has and got, and whether all
results are right.
"""

import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import mean, median

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from fairshare.cli.options import SchedulerChoice
from fairshare.cli.tables import open_console
from fairshare.client.answers import Application, Container, Queue
from fairshare.client.client import Client
from fairshare.demo import work
from fairshare.demo.server import EXAMPLES, DemonstrationFailed, Server
from fairshare.demo.work import ADHOC, PRODUCTION, RESEARCH, TEAMS, Check, Work
from fairshare.errors import FairshareError
from fairshare.settings.registry import FILE_DEFAULT, family_of

STYLES = {RESEARCH: "magenta", PRODUCTION: "cyan", ADHOC: "yellow"}
LOOK_EVERY_S, LINE_EVERY_S, LONGEST_S = 0.25, 4.0, 240.0
CELLS = 24

PROGRAM = sys.argv[0] if sys.argv[0].endswith("fairshare") else "fairshare"
"""How the user calls fairshare: `.venv/bin/fairshare` with `make demo`."""


def configuration_of(variant: work.Variant) -> Path:
    """The directory of a variant's configuration, as a user can type it."""
    place = (EXAMPLES / variant.configuration).resolve()
    return place.relative_to(Path.cwd()) if place.is_relative_to(Path.cwd()) else place


class Team:
    """One team. `wants` (includes `has`), `owed` and `has` are parts of the cluster's amount of the
    resource that is shown; `looks` collects them while all teams have work. `owed` is None where
    the scheduler has no shares."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.ids: list[str] = []
        self.applications: Sequence[Application] = ()
        self.wants = self.has = 0.0
        self.owed: float | None = None
        self.looks: list[tuple[float, float, float]] = []

    def update(self, queue: Queue | None, resource: str, total: int) -> None:
        """Take over what the server said."""
        self.has = sum(each.used.get(resource, 0) for each in self.applications) / total
        self.wants = sum(each.demand.get(resource, 0) for each in self.applications) / total
        if queue is not None and queue.pool is not None:
            self.owed = queue.pool.maps.fair_share / total
        elif queue is not None and queue.fair_share is not None:
            self.owed = queue.fair_share.get(resource, 0) / total

    @property
    def active(self) -> bool:
        """Whether an application is not over."""
        return not all(each.over for each in self.applications)

    @property
    def words(self) -> str:
        """What it has and how far it is: `research 33% of 40%, 70/133`."""
        progress = [each.progress for each in self.applications if each.progress is not None]
        owed = "" if self.owed is None else f" of {self.owed:.0%}"
        done = f"{sum(p.succeeded for p in progress)}/{sum(p.total for p in progress)}"
        return f"{self.name} {self.has:.0%}{owed}, {done}"


class Course:
    """One course: submits what is due, looks at the cluster until all is over, and shows it."""

    def __init__(self, client: Client, plan: Work, console: Console) -> None:
        self._client, self._plan, self._console = client, plan, console
        self._variant = plan.variant
        self.teams = {name: Team(name) for name in TEAMS}
        self._used: list[float] = []
        self._users: list[list[int]] = []  # what each of several researchers had, at each look
        self._begun_ms: dict[str, int] = {}  # when applications got their first containers
        self._began_s = time.monotonic()

    def run(self, restart: Callable[[], None] | None) -> None:
        """Raises DemonstrationFailed. `restart` kills the server and waits for another one."""
        waiting, next_line_s = list(self._plan.arrivals), 0.0
        while waiting or any(team.active for team in self.teams.values()):
            at_s = time.monotonic() - self._began_s
            while waiting and waiting[0].at_s <= at_s:
                arrival = waiting.pop(0)
                team = self.teams[arrival.team]
                team.ids.append(arrival.submit(self._client))
                if len(team.ids) == 1:
                    self._say(f"* {team.name} arrives: {arrival.work.name}, {arrival.tasks} tasks")
            if restart is not None and self._crash(restart):
                restart = None
            self._look()
            if at_s >= next_line_s:
                next_line_s = at_s + LINE_EVERY_S
                self._say(self._line())
            if at_s > LONGEST_S:
                words = "this machine has become much slower; try again when it has less to do"
                raise DemonstrationFailed(f"not over after {LONGEST_S:g} s: {words}")
            time.sleep(LOOK_EVERY_S)
        for name in (name for team in self.teams.values() for name in team.ids):
            self._begun_ms[name] = min(c.allocated_ms for c in self._client.containers(name))

    def _say(self, text: str | Text) -> None:
        at_s = int(time.monotonic() - self._began_s)
        words = Text.assemble(f"{at_s // 60}:{at_s % 60:02d}  ", text)
        self._console.print(words, soft_wrap=True)
        self._console.file.flush()

    def _line(self) -> Text:
        """The machine, with a letter in the place of each team's part, and the parts as numbers."""
        line, free = Text(), CELLS
        for team in self.teams.values():
            cells = min(free, round(team.has * CELLS))
            line.append(team.name[0].upper() * cells, style=f"reverse {STYLES[team.name]}")
            free -= cells
        line.append("." * free, style="dim")
        for team in self.teams.values():
            line.append(f"  {team.words}" if team.ids else "", style=STYLES[team.name])
        return line

    def _crash(self, restart: Callable[[], None]) -> bool:
        """Kill the server if all teams have applications, and there are containers to take over."""

        def containers() -> list[Container]:
            names = [name for team in self.teams.values() for name in team.ids]
            return [container for name in names for container in self._client.containers(name)]

        before = {container.id for container in containers() if container.state == work.RUNNING}
        if len(before) < 2 or not all(team.ids for team in self.teams.values()):
            return False
        restart()
        after = {container.id: container for container in containers() if container.id in before}
        lost = [name for name in before if name not in after or (after[name].exit_code or 0) < 0]
        if lost:
            raise DemonstrationFailed(f"the crash has cost containers: {', '.join(sorted(lost))}")
        ended = sum(container.over for container in after.values())
        self._say(
            f"* the server was killed; another one has taken over: of {len(before)} containers"
            f" {len(before) - ended} run on, {ended} have ended meanwhile with their exit codes"
        )
        return True

    def _look(self) -> None:
        client, resource, teams = self._client, self._variant.resource, self.teams.values()
        total = client.cluster().total[resource]
        queues = {queue.name: queue for queue in client.queues()}
        every = {each.id: each for each in client.applications()}
        for team in teams:
            team.applications = [every[name] for name in team.ids]
            team.update(queues.get(f"root.{team.name}"), resource, total)
            for each in team.applications:
                if each.over and each.state != "FINISHED":
                    raise DemonstrationFailed(
                        f"{each.name} of {each.user} ended as {each.state}: {each.diagnostics}\n"
                        + client.failure_log(each.id)
                    )
        self._used.append(sum(team.has for team in teams))
        if all(team.active for team in teams):
            for team in teams:
                team.looks.append((min(1.0, team.wants), team.owed or 0.0, team.has))
        researchers = self.teams[RESEARCH].applications
        if all(each.used and each.demand != each.used for each in researchers):
            self._users.append([each.used[resource] for each in researchers])
        for name in self.teams[PRODUCTION].ids:
            for event in self._plan.act(client, client.application(name)):
                self._say(f"* {event}")

    def report(self, checks: Sequence[Check]) -> Iterator[Table | Text]:
        """What happened, what was checked, what to try next."""
        variant, looks = self._variant, len(self.teams[ADHOC].looks)
        yield Text("\nWhat happened", style="bold")
        yield Text(
            f"{variant.title}. {mean(self._used):.0%} of {variant.resource} was in use.\n"
            f"Parts of it, in the {looks} looks that found work of all three teams:"
        )
        yield self._table()
        users = variant.researchers
        had = [sum(amounts) for amounts in zip(*self._users, strict=True)]
        for (user, weight), amount in zip(users.items(), had if users else (), strict=False):
            expected = f"and can expect {weight / sum(users.values()):.0%}"
            part = f"{amount / sum(had):.0%} of {RESEARCH}'s part, {expected}."
            yield Text(f"{user}, with weight {weight}, had {part}")
        queries = self.teams[ADHOC].applications
        begun_s = [(self._begun_ms[each.id] - each.submitted_ms) / 1000 for each in queries]
        took_s = [((each.finished_ms or 0) - each.submitted_ms) / 1000 for each in queries]
        yield Text(
            f"{len(queries)} {variant.queries} beside the big ones: half of them began within"
            f" {median(begun_s):.2f} s and were answered within {median(took_s):.1f} s;\n"
            f"the slowest began after {max(begun_s):.2f} s, and took {max(took_s):.1f} s.",
            style=STYLES[ADHOC],
        )
        yield Text("\nWhat was checked", style="bold")
        unicode = self._console.encoding.lower().startswith("utf")
        for check in checks:
            good, bad = "✓✗" if unicode else ("ok", "BAD")
            mark = Text(good, style="green") if check.passed else Text(bad, style="bold red")
            yield Text.assemble(mark, f" {check.text}")
        other = work.FAIR if variant is work.FIFO else work.FIFO
        yield Text("\nWhat to try next", style="bold")
        yield Text(
            f"  Compare how long queries wait with {other.title}:\n"
            f"      {PROGRAM} demo --scheduler {other.scheduler}\n"
            "  This cluster for yourself, and how to use it from another terminal:\n"
            f"      {PROGRAM} serve --conf {configuration_of(variant)}\n"
            f"      {PROGRAM} submit --queue research --memory 256m -- echo hello\n"
            f"      {PROGRAM} top"
        )

    def _table(self) -> Table:
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
        for title in ("", "wanted", "owed", "got", "first container after", "all done after"):
            table.add_column(title, justify="right" if title else "left", no_wrap=True)
        for team in self.teams.values():
            wanted, owed, got = map(mean, zip(*team.looks or [(0.0, 0.0, 0.0)], strict=True))
            parts = (f"{wanted:.0%}", "-" if team.owed is None else f"{owed:.0%}", f"{got:.0%}")
            first_ms = team.applications[0].submitted_ms
            begun_ms = min(self._begun_ms[name] for name in team.ids) - first_ms
            ended_ms = max(each.finished_ms or 0 for each in team.applications) - first_ms
            times = (f"{begun_ms / 1000:.2f} s", f"{ended_ms / 1000:.1f} s")
            table.add_row(team.name, *parts, *times, style=STYLES[team.name])
        return table


def demonstrate(
    scheduler: str, console: Console, *, quick: bool, crash: bool, keep: Path | None
) -> bool:
    """Show a scheduler of `VARIANTS` at work; whether all checks were passed. `keep` is a new
    directory for the server's record. Raises DemonstrationFailed and KeyboardInterrupt."""
    variant = work.VARIANTS[scheduler]
    configuration = configuration_of(variant)
    for number in (signal.SIGTERM, signal.SIGHUP):
        # A process that nohup started must not end with its terminal.
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, lambda number, _: sys.exit(128 + number))
    folder = Path(tempfile.mkdtemp(prefix="fairshare-demo-"))
    server = Server(folder, configuration, scheduler)

    def say(text: str) -> None:
        console.print(text, soft_wrap=True)

    try:
        client = server.start()
        say(f"A server runs with {configuration}; its pages: {client.url}")
        say(f"In another terminal: {PROGRAM} top --url {client.url}\n")
        pace = variant.pace.quick() if quick else variant.pace
        plan = (work.Jobs if variant is work.POOLS else work.Tasks)(variant, pace, folder)
        course = Course(client, plan, console)
        course.run(server.crash if crash else None)
        say("\nChecking the results ...")
        checks = [*plan.check(client, {name: team.ids for name, team in course.teams.items()})]
    except FairshareError as error:
        raise server.failure(error) from error
    except (KeyboardInterrupt, SystemExit):
        say("Interrupted. The server and its containers are ended, nothing is left.")
        raise
    finally:
        # Further signals must not interrupt this.
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        server.stop(keep)
        shutil.rmtree(folder)
    checks.append(Check(True, "nothing is left: no process, no file"))  # `stop` would have raised
    for part in course.report(checks):
        console.print(part, soft_wrap=not console.is_terminal)
    return all(check.passed for check in checks)


@click.command()
@click.option(
    "--scheduler",
    type=SchedulerChoice(["fair", "capacity", "pools", "fifo"]),
    default=FILE_DEFAULT,
    show_default=True,
    help="The scheduler, for the same work. fifo shows the problem that the others solve: first"
    " come, first served. With capacity, two users with weights share one queue. mapreduce"
    " is the original scheduler: MapReduce jobs of three pools on map slots and reduce slots.",
)
@click.option(
    "--crash",
    is_flag=True,
    help="Kill the server (kill -9) while all teams are at work, and start another one on the same"
    " directory: containers continue, and the results are still correct.",
)
@click.option(
    "--keep",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Keep the server's journal in this directory, which must be new or empty, for `replay`"
    " and `plan`.",
)
@click.option("--quick", is_flag=True, hidden=True, help="A shorter run, for tests.")
def command(scheduler: str, crash: bool, keep: Path | None, quick: bool) -> None:
    """Show the scheduler at work.

    Starts a server on this machine, on which three teams run real work, some of it large and some
    short. Shows what each team has, checks the results, and ends after about a minute. It leaves
    nothing.
    """
    if crash and family_of(scheduler).jobs:
        raise click.UsageError("--crash goes with the schedulers fair, capacity and fifo")
    if keep is not None and keep.is_dir() and any(keep.iterdir()):
        raise click.UsageError(f"--keep {keep}: the directory is not empty")
    if not demonstrate(scheduler, open_console(), quick=quick, crash=crash, keep=keep):
        raise SystemExit(1)
