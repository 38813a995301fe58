"""When cron jobs are submitted, and what happens if the last application is not over.

A run is written before it is submitted; so after a crash the next server looks for its application,
and submits it if there is none. Times that passed while no server ran count as one.
"""

import asyncio
import contextlib
import datetime
import logging
import math
import os
import zoneinfo
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final, TypeVar

from cronsim import CronSim, CronSimError
from msgspec import structs

from fairshare.core.model.events import ApplicationEnded
from fairshare.core.model.identifiers import ApplicationId, application_name
from fairshare.core.record import Record
from fairshare.core.schedulers.protocol import State
from fairshare.errors import FairshareError, InputError
from fairshare.runtime.observers import Observers
from fairshare.server.cron.store import FILE, CronError, CronStore, Job, Key, Run
from fairshare.server.side_file import to_the_end

LONGEST_LINE: Final = 200
HOW_TO_WRITE: Final = (
    "write minute, hour, day of the month, month and day of the week, such as '30 2 * * mon-fri',"
    " or @daily"
)
ALIASES: Final = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
_LOCAL: Final = Path("/etc/localtime")


def parse_line(text: str) -> str:
    """The five fields of a cron line. Raises ValueError.

    >>> parse_line("@daily"), parse_line(" 5  4 * * sun ")
    ('0 0 * * *', '5 4 * * sun')
    """
    if len(text) > LONGEST_LINE:
        raise ValueError(f"a cron line has at most {LONGEST_LINE} characters")
    fields = ALIASES.get(text.strip().lower(), text).split()
    if len(fields) != 5:
        raise ValueError(f"{text!r} is not a cron line: {HOW_TO_WRITE}")
    line = " ".join(fields)
    try:
        CronSim(line, datetime.datetime(2000, 1, 1, tzinfo=datetime.UTC))
    except CronSimError as error:
        problem = str(error).lower().replace("bad", "wrong", 1)
        raise ValueError(f"{text!r} is not a cron line ({problem}): {HOW_TO_WRITE}") from error
    return line


def zone_of(name: str) -> datetime.tzinfo:
    """A time zone by name. Raises ValueError."""
    if name == "UTC":
        return datetime.UTC
    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ValueError(
            f"{name!r} is not a time zone that the server knows: write one such as Europe/Berlin,"
            " or UTC"
        ) from error


def local_zone() -> str:
    """The name of this machine's time zone; UTC if it cannot be found out."""
    names = [os.environ.get("TZ", "").lstrip(":")]
    if _LOCAL.is_symlink():
        names.append(str(_LOCAL.readlink()).rpartition("zoneinfo/")[2])
    for name in names:
        try:
            zone_of(name)
        except ValueError:
            continue
        return name
    return "UTC"


def next_ms(line: str, zone: str, after_ms: int) -> int | None:
    """The first instant after another one; None if there is none within 50 years."""
    return _found(line, zone, after_ms, back=False)


def last_ms(line: str, zone: str, until_ms: int) -> int | None:
    """The last instant that is not after another one; None if there is none within 50 years."""
    return _found(line, zone, until_ms + 1_000, back=True)


def _found(line: str, zone: str, from_ms: int, *, back: bool) -> int | None:
    start = datetime.datetime.fromtimestamp(from_ms // 1_000, zone_of(zone))
    try:
        found = next(CronSim(line, start, reverse=back))
    except (StopIteration, OverflowError):
        return None
    return int(found.timestamp()) * 1_000


MAX_OF_USER: Final = 100
MAX_JOBS: Final = 10_000
LOOK_S: Final = 30.0
"""How long at most until the clock is looked at again, as it may be set."""
RETRY_S: Final = 30.0
POSTPONED_MS: Final = 60_000
"""After a failure of its own a job is looked at again so much later."""
NOT_NOW: Final = frozenset(
    (
        "accounts-unavailable",
        "busy",
        "disk-full",
        "groups-unavailable",
        "no-database",
        "safe-mode",
        "too-long",
    )
)
"""Refusals of which the server, and not the job, is the cause: the run is tried again."""
REPLACED: Final = "Killed by its cron job, which was due again and replaces it."

Result = TypeVar("Result")

_log = logging.getLogger("fairshare.cron")


class Cron:
    """The cron jobs of one server; all in its event loop.

    `submit` submits the application of a job, and `kill` kills one; both are set before the first
    call, and raise InputError. Until then nothing is submitted.
    """

    def __init__(self, directory: Path, state: State, now_ms: Callable[[], int]) -> None:
        self._directory = directory
        self._state = state
        self._now_ms = now_ms
        self._jobs: dict[Key, Job] = {}
        self._followed: set[ApplicationId] = set()
        self._unsure: dict[Key, Run] = {}
        self._again_ms: dict[Key, int] = {}  # when runs that could not be submitted are tried again
        self._store: CronStore | None = None
        self._loaded = asyncio.Event()
        self._problem: CronError | None = None
        self._wake = asyncio.Event()
        self._changing = asyncio.Lock()
        self._submit: Callable[[Job], Awaitable[ApplicationId]] | None = None
        self._kill: Callable[[ApplicationId, str], Awaitable[None]] | None = None

    def connect(
        self,
        submit: Callable[[Job], Awaitable[ApplicationId]],
        kill: Callable[[ApplicationId, str], Awaitable[None]],
    ) -> None:
        """Begin to submit in this way."""
        self._submit, self._kill = submit, kill
        self._wake.set()

    def subscribe(self, observers: Observers) -> None:
        """Follow the records."""
        observers.events(self._ended, ApplicationEnded)

    def _ended(self, record: Record, event: ApplicationEnded) -> None:
        if event.application in self._followed:
            self._followed.discard(event.application)
            self._wake.set()

    async def _read(self) -> None:
        """Wait until the file was read. Raises CronError if it cannot be."""
        if self._problem is not None and not self._loaded.is_set():
            raise self._problem
        await self._loaded.wait()

    # What users do.

    async def jobs(self) -> list[Job]:
        """All jobs, in the order of users and names. Raises CronError."""
        await self._read()
        return [self._jobs[key] for key in sorted(self._jobs)]

    async def job(self, key: Key) -> Job:
        """One job. Raises InputError, CronError."""
        await self._read()
        found = self._jobs.get(key)
        if found is None:
            raise InputError("unknown-cron-job", f"{key[0]} has no cron job {key[1]}")
        return found

    async def runs(self, job: Job) -> list[Run]:
        """The last runs of a job, the newest first. Raises CronError."""
        return await self._stored(lambda store: store.runs(job.key))

    async def add(self, job: Job, *, replace: bool) -> None:
        """Take a new job, which is due at `next_ms` first. Raises InputError, CronError."""
        await self._read()
        async with self._changing:
            before = self._jobs.get(job.key)
            if before is not None:
                if not replace:
                    raise InputError(
                        "cron-exists",
                        f"{job.user} has a cron job {job.name} already: choose another name, or"
                        " replace it",
                    )
                job = structs.replace(
                    job, epoch_ms=before.epoch_ms, last=before.last, queued_run=before.queued_run
                )
            elif sum(one.user == job.user for one in self._jobs.values()) >= MAX_OF_USER:
                raise InputError(
                    "too-many-cron-jobs",
                    f"{job.user} has {MAX_OF_USER} cron jobs, the most: delete one first",
                )
            elif len(self._jobs) >= MAX_JOBS:
                raise InputError(
                    "too-many-cron-jobs",
                    f"the server has {MAX_JOBS} cron jobs, the most: delete one first",
                )
            await self._write(job)
        self._wake.set()

    async def pause(self, key: Key, *, paused: bool) -> Job:
        """Let a job not be submitted any more, or again from the next time on. Raises InputError,
        CronError."""
        async with self._changing:
            job = await self.job(key)
            due_ms = next_ms(job.schedule, job.time_zone, self._now_ms())
            job = await self._write(structs.replace(job, paused=paused, next_ms=due_ms))
        self._wake.set()
        return job

    async def delete(self, key: Key) -> Job:
        """Delete a job with its history; its applications go on. Raises InputError, CronError."""
        async with self._changing:
            job = await self.job(key)
            await self._stored(lambda store: store.delete(key))
            self._jobs.pop(key)
            self._again_ms.pop(key, None)
            self._unsure.pop(key, None)
        return job

    # What happens by itself.

    async def watch(self) -> None:
        """Submit what is due, until cancelled."""
        await self._load()
        while True:
            self._wake.clear()
            wait_s = LOOK_S if self._jobs else 3_600.0
            if self._submit is not None:
                try:
                    for key in tuple(self._jobs):
                        async with self._changing:
                            await self._looked(key)
                except CronError as error:
                    _log.error("cron jobs are not submitted for now: %s", error)
                    wait_s = RETRY_S
                else:
                    wait_s = max(0.05, min(wait_s, self._next_s()))
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(wait_s):
                    await self._wake.wait()

    def _next_s(self) -> float:
        """After how many seconds something is due; infinite: never."""
        instants = []
        for job in self._jobs.values():
            if job.paused:
                continue
            if job.next_ms is not None:
                instants.append(job.next_ms)
            again_ms = self._again_ms.get(job.key)
            if again_ms is not None and job.queued_run and self._live(job) is None:
                instants.append(again_ms)
        return (min(instants) - self._now_ms()) / 1_000 if instants else math.inf

    async def _load(self) -> None:
        while (self._directory / FILE).exists():
            try:
                jobs, unsure, problems = await self._stored(lambda store: store.load())
            except CronError as error:
                self._problem = error
                _log.error("cron jobs are not submitted for now: %s", error)
                await asyncio.sleep(RETRY_S)
                continue
            for problem in problems:
                _log.error("%s: add it again with --replace", problem)
            self._jobs = {job.key: job for job in jobs}
            self._unsure = dict(unsure)
            for job in jobs:
                self._follow(job)
            break
        self._loaded.set()

    async def _looked(self, key: Key) -> None:
        """Look at a job; what is wrong with one does not keep the others from being submitted."""
        try:
            await self._look(key)
        except (CronError, asyncio.CancelledError):
            raise
        except Exception:
            _log.exception("the cron job %s of %s cannot be submitted", key[1], key[0])
            job = self._jobs.get(key)
            if job is not None:
                self._jobs[key] = structs.replace(job, next_ms=self._now_ms() + POSTPONED_MS)

    async def _look(self, key: Key) -> None:
        """Submit a job if it is due."""
        job = self._jobs.get(key)
        if job is None:
            return
        unsure = self._unsure.get(key)
        if unsure is not None:
            job = await self._settle(job, unsure)
            del self._unsure[key]
        if job.paused:
            return
        now_ms = self._now_ms()
        if job.next_ms is not None and job.next_ms <= now_ms:
            job = await self._due(job, now_ms)
        waits = now_ms < self._again_ms.get(key, 0)
        if job.queued_run and self._live(job) is None and not waits:
            runs = await self.runs(job)
            queued = [run for run in runs if run.number == job.queued_run]
            job = structs.replace(job, queued_run=0)
            if queued:
                await self._run(job, queued[0])
            else:
                await self._write(job)

    async def _settle(self, job: Job, run: Run) -> Job:
        """Find out whether an earlier server has submitted a run."""
        numbers = [
            application.id
            for application in self._state.applications.values()
            if application.user == job.user
            and job.tag in application.brief.tags
            and application.id >= run.first_application
        ]
        if numbers:
            return await self._submitted(job, run, max(numbers))
        self._jobs[job.key] = job = structs.replace(job, queued_run=run.number)
        return job

    async def _due(self, job: Job, now_ms: int) -> Job:
        due_ms = last_ms(job.schedule, job.time_zone, now_ms) or now_ms
        job = structs.replace(job, next_ms=next_ms(job.schedule, job.time_zone, now_ms))
        run = Run(due_ms=due_ms, outcome="submitting")
        live = self._live(job)
        if live is None and job.queued_run:
            run.outcome, run.reason = "skipped", "an earlier run could not be submitted yet"
            return await self._write(job, run)
        if live is not None and job.overlap != "replace":
            name = application_name(self._state.epoch_ms, live)
            run.reason = f"{name} is not over"
            run.outcome = "skipped"
            if job.overlap == "queue":
                if job.queued_run:
                    run.reason = f"{name} is not over, and a run waits for its end"
                else:
                    run.outcome = "queued"
            return await self._write(job, run)
        if live is not None and self._kill is not None:
            with contextlib.suppress(InputError):  # it has ended meanwhile
                await self._kill(live, REPLACED)
            run.reason = f"{application_name(self._state.epoch_ms, live)} was killed for it"
        return await self._run(job, run)

    async def _run(self, job: Job, run: Run) -> Job:
        assert self._submit is not None
        run.outcome, run.first_application = "submitting", self._state.next_application
        job = await self._write(job, run)
        self._again_ms.pop(job.key, None)
        try:
            number = await self._submit(job)
        except InputError as error:
            if error.code == "stopping":  # the next server submits it
                return job
            if error.code in NOT_NOW:
                _log.warning("a run of %s of %s is tried again: %s", job.name, job.user, error)
                run.outcome, run.reason = "queued", str(error)
                self._again_ms[job.key] = self._now_ms() + int(RETRY_S * 1_000)
                self._jobs[job.key] = job = structs.replace(job, queued_run=run.number)
                return await self._write(job, run)
            run.outcome, run.reason = "refused", str(error)
        except FairshareError as error:
            run.outcome, run.reason = "refused", str(error)
        else:
            return await self._submitted(job, run, number)
        _log.warning("the cron job %s of %s was refused: %s", job.name, job.user, run.reason)
        return await self._write(job, run)

    async def _submitted(self, job: Job, run: Run, number: ApplicationId) -> Job:
        # This is so, whether it can be written or not.
        self._jobs[job.key] = job = structs.replace(job, epoch_ms=self._state.epoch_ms, last=number)
        run.outcome = "submitted"
        run.application = application_name(job.epoch_ms, number)
        self._follow(job)
        return await self._write(job, run)

    async def _write(self, job: Job, run: Run | None = None) -> Job:
        """Write a job as it is from now on, and a run; the job as it was written. Raises CronError:
        then the job is what it was."""
        job = await self._stored(lambda store: store.write(job, run))
        self._jobs[job.key] = job
        return job

    def _live(self, job: Job) -> ApplicationId | None:
        """The last application of a job, if it is not over."""
        if not job.last or job.epoch_ms != self._state.epoch_ms:
            return None
        application = self._state.applications.get(job.last)
        return job.last if application is not None and not application.over else None

    def _follow(self, job: Job) -> None:
        live = self._live(job)
        if live is not None:
            self._followed.add(live)

    async def _stored(self, use: Callable[[CronStore], Result]) -> Result:
        """What `use` makes of the file, in a thread."""

        def work() -> Result:
            if self._store is None:
                self._store = CronStore(self._directory)
                if self._store.moved_aside is not None:
                    _log.error("%s was damaged, and is moved aside", self._store.path)
            return use(self._store)

        return await to_the_end(work)

    async def close(self) -> None:
        """Close the file."""
        store, self._store = self._store, None
        if store is not None:
            await asyncio.to_thread(store.close)
