"""The driver of a job that needs one: `python -m fairshare.mapreduce.driver OUTPUT`.

It adds the groups of tasks, which the server runs, and makes two decisions while they run:
* a straggler gets a second attempt (see below), in a separate group, `map-backup-3`. The first
  of both that commits wins. The driver releases the other; the server then runs its task again,
  which finds that it is committed, and ends at once.
* reduces that wait for maps are released if maps lack room.

A restarted driver adds the same groups; committed tasks end at once.

A task is a straggler when

* at least half of the tasks of its kind have succeeded, so that their mean duration is known,
* it has run for at least `delay_ms`, and for twice that mean,
* it would end later than a new attempt: with progress p after the time t, it needs t (1 - p) / p
  more, and a new attempt needs the mean.

Example: tasks take 10 s; one has run for 30 s and reports 0.6: it needs 20 s more, so that a new
attempt would end before it. At 0.9 it needs 3.3 s, and gets no second attempt.
"""

import json
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from fairshare.client import Driver, Refused, ServerUnreachable
from fairshare.client.answers import Container, GroupProgress
from fairshare.mapreduce.job import COMMIT, MAP, PROGRESS, REDUCE, Layout
from fairshare.mapreduce.submission import Plan

FACTOR = 2.0
MOST_AT_ONCE = 0.1
"""The fraction of the tasks of a kind that may have second attempts at once, at least one task."""


class Run(msgspec.Struct, frozen=True):
    """A running task: the instant of its start, and its reported progress (0 to 1)."""

    index: int
    started_ms: int
    progress: float


def stragglers(
    now_ms: int,
    count: int,
    durations_ms: Sequence[int],
    running: Sequence[Run],
    doubled: int,
    delay_ms: int,
) -> list[int]:
    """The tasks that get a second attempt, the one that would end last first.

    `count` is the number of tasks of the kind, `durations_ms` are the durations of successful ones,
    `doubled` is the number of current second attempts. No task in `running` may have one.
    """
    if not durations_ms or 2 * len(durations_ms) < count:
        return []
    mean_ms = sum(durations_ms) / len(durations_ms)
    slow = []
    for run in running:
        elapsed_ms = now_ms - run.started_ms
        if elapsed_ms < max(delay_ms, FACTOR * mean_ms):
            continue
        left_ms = elapsed_ms * (1 - run.progress) / max(run.progress, 0.001)
        if left_ms > mean_ms:
            slow.append((-left_ms, run.index))
    room = max(1, int(count * MOST_AT_ONCE)) - doubled
    return [index for _, index in sorted(slow)[: max(0, room)]]


PACE_S = 0.5
STALL_S = 5.0
"""How long maps may lack room before the driver releases a reduce that waits for them."""

PATIENCE_S = 60.0
"""How long the server may be unreachable, as during a restart."""

PASSING = ("unknown-container", "stopping", "busy")
"""The codes of temporary refusals."""

BACKUP = "backup"
BACKUP_ATTEMPTS = 1000
"""The maximum of attempts of a backup task: its failure is not a failure of the task, whose first
attempt still runs."""


class JobDriver:
    """Runs one job."""

    def __init__(self, driver: Driver, layout: Layout) -> None:
        self._driver = driver
        self._layout = layout
        self._plan = Plan.read(layout)
        self._groups = {group.name: group for group in self._plan.groups}
        self._doubled: set[tuple[str, int]] = set()
        self._beaten: set[str] = set()
        self._stalled_since_s: float | None = None

    def run(self) -> None:
        """Run until the job is committed. If a task fails too often, the server ends the driver."""
        self._driver.register()
        self._driver.add_tasks(*self._plan.groups)
        seen_s = time.monotonic()
        done = False
        while not done:
            try:
                done = self.look()
                seen_s = time.monotonic()
            except (ServerUnreachable, Refused) as error:
                # The server is restarting, or a container to release has just ended by itself.
                if isinstance(error, Refused) and error.code not in PASSING:
                    raise
                if time.monotonic() - seen_s > PATIENCE_S:
                    raise
            if not done:
                time.sleep(PACE_S)
        self._driver.finish()

    def look(self) -> bool:
        """Make the decisions that are due; returns whether the job is done."""
        progress = {group.name: group for group in self._driver.application().groups}
        if progress[COMMIT].succeeded:
            return True
        busy = [kind for kind in (MAP, REDUCE) if kind in progress and progress[kind].running]
        if busy:
            containers = self._driver.containers()
            self._make_room(progress, containers)
            if self._plan.speculative:
                self._end_beaten(containers)
                for kind in busy:
                    self._double(kind, progress[kind], containers)
        return False

    def _double(self, kind: str, progress: GroupProgress, containers: Iterable[Container]) -> None:
        attempts = [
            container
            for container in containers
            if container.group == kind and container.task is not None
        ]
        durations_ms = [
            container.finished_ms - container.allocated_ms
            for container in attempts
            if container.exit_code == 0 and container.finished_ms and container.allocated_ms
        ]
        running = [
            Run(
                container.task or 0, container.allocated_ms or 0, self._progress_of(kind, container)
            )
            for container in attempts
            if not container.over and (kind, container.task or 0) not in self._doubled
        ]
        now_ms = int(time.time() * 1000)
        alive = sum(
            not self._layout.task(kind, index).exists() for of, index in self._doubled if of == kind
        )
        delay_ms = self._plan.speculation_delay_ms
        for index in stragglers(now_ms, progress.count, durations_ms, running, alive, delay_ms):
            self._doubled.add((kind, index))
            group = self._groups[kind]
            backup = msgspec.structs.replace(
                group,
                name=f"{kind}-{BACKUP}-{index}",
                count=1,
                arguments=(*group.arguments, str(index)),
                max_attempts=BACKUP_ATTEMPTS,
                after=(),
            )
            self._driver.add_tasks(backup)
            print(f"{kind} {index} takes long: it gets a second attempt", flush=True)

    def _progress_of(self, kind: str, container: Container) -> float:
        folder = self._layout.attempt(kind, container.task or 0, kind, container.id)
        try:
            return float(json.loads((folder / PROGRESS).read_bytes())["progress"])
        except (OSError, ValueError, KeyError):
            return 0.0

    def _end_beaten(self, containers: Iterable[Container]) -> None:
        """Release the attempts that continue although another one has committed their task.

        Only attempts that were also running at the last call, since the one that has committed
        needs some time to end.
        """
        beaten = {
            one.id
            for one in containers
            if not one.over and (task := _task_of(one)) in self._doubled
            if self._layout.task(*task).exists()
        }
        late = sorted(beaten & self._beaten)
        self._beaten = beaten - set(late)
        if late:
            self._driver.release(late)

    def _make_room(
        self, progress: dict[str, GroupProgress], containers: Iterable[Container]
    ) -> None:
        maps, reduces = progress.get(MAP), progress.get(REDUCE)
        stalled = maps and reduces and maps.waiting and not maps.running and reduces.running
        if not stalled:
            self._stalled_since_s = None
            return
        now_s = time.monotonic()
        if self._stalled_since_s is None:
            self._stalled_since_s = now_s
        elif now_s - self._stalled_since_s >= STALL_S:
            self._stalled_since_s = now_s
            waiting = [one for one in containers if one.group == REDUCE and not one.over]
            newest = max(waiting, key=lambda one: (one.allocated_ms or 0, one.id))
            self._driver.release([newest.id])
            print(f"reduce {newest.task} makes room for maps", flush=True)


def _task_of(container: Container) -> tuple[str, int]:
    """The kind and number of a container's task; ("", 0) for the driver itself."""
    kind, backup, index = (container.group or "").partition(f"-{BACKUP}-")
    return kind, int(index) if backup else container.task or 0


if __name__ == "__main__":
    with Driver() as connected:
        JobDriver(connected, Layout(Path(sys.argv[1]))).run()
