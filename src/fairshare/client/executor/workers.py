"""The workers of an executor: containers that take short calls one after the other.

A worker is a task that comes for calls over a socket of this machine (`remote.py`), until no call
waits for a moment, or until it has lived for a while: then the scheduler decides again who gets its
container.

How long calls of each function take, and what follows for the number of containers, is computed
without clock and server (`Durations`).
"""

import contextlib
import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import ceil

from fairshare.client.errors import ApplicationFailed, CallFailed, Refused
from fairshare.client.executor.calls import Call, Sender, State
from fairshare.client.executor.links import Link, WorkerSocket
from fairshare.client.executor.remote import UNREACHABLE, value_or_error, worker_callable
from fairshare.client.waiting import SERVICE_UNAVAILABLE, Patience
from fairshare.errors import FairshareError

SAMPLES = 10
"""The number of calls over which the time of a call is averaged."""

MOST_FUNCTIONS = 100
"""The functions that are remembered: the last ones whose calls have ended."""

LONG_S = 1.0
"""Calls that take this long get containers of their own."""

SHARE_S = 0.5
"""So much work is worth a worker."""

LIFE_S = 5.0
"""How long a worker takes calls before the scheduler decides again who gets its container."""

PROBES = 8
"""The workers for calls of a function that is not known yet."""


class Durations:
    """The mean duration of calls of each function, in seconds."""

    def __init__(self) -> None:
        self._means: dict[bytes, tuple[float, int]] = {}

    def add(self, function: bytes, seconds: float) -> None:
        """A call of a function has ended."""
        mean, samples = self._means.pop(function, (0.0, 0))
        samples = min(samples + 1, SAMPLES)
        self._means[function] = mean + (seconds - mean) / samples, samples
        while len(self._means) > MOST_FUNCTIONS:
            del self._means[next(iter(self._means))]

    def estimate(self, function: bytes, running_s: Iterable[float] = ()) -> float | None:
        """How long a call takes; None if that is unknown. Calls that run for longer than the mean
        count as if they ended now.

        >>> durations = Durations()
        >>> durations.add(b"f", 0.25)
        >>> durations.estimate(b"f", [0.1, 0.75])
        0.5
        """
        mean, samples = self._means.get(function, (0.0, 0))
        longer = [seconds for seconds in running_s if seconds > mean]
        if not samples and max(longer, default=0.0) < SHARE_S:
            return None
        return (mean * samples + sum(longer)) / (samples + len(longer))


def workers_wanted(waiting: Mapping[bytes, int], estimates: Mapping[bytes, float | None]) -> int:
    """How many workers the waiting calls of each function are worth: one for SHARE_S of work, but
    no more than calls, and at most PROBES for calls of unknown length.

    >>> workers_wanted({b"f": 2_000, b"g": 3}, {b"f": 0.001, b"g": 4.0})
    7
    """
    return sum(
        min(count, PROBES)
        if (seconds := estimates[function]) is None
        else min(count, max(1, ceil(count * seconds / SHARE_S)))
        for function, count in waiting.items()
    )


def lives_wanted(waiting: Mapping[bytes, int], estimates: Mapping[bytes, float | None]) -> int:
    """How many workers one after the other the waiting calls need, each for LIFE_S."""
    work_s = sum(count * (estimates[function] or 0.0) for function, count in waiting.items())
    return ceil(work_s / LIFE_S)


def by_function(
    functions: Sequence[bytes], chosen: Callable[[bytes], bool] = lambda function: True
) -> dict[bytes, int]:
    """How many there are of each function.

    >>> by_function([b"f", b"g", b"f"])
    {b'f': 2, b'g': 1}
    """
    counts: dict[bytes, int] = {}
    for function in functions:
        if chosen(function):
            counts[function] = counts.get(function, 0) + 1
    return counts


IDLE_S = 0.5
"""How long a worker without calls keeps its container."""

GRACE_S = 1.0
"""How long workers that have not started are waited for when no call is left."""

MOST_WORKERS = 500
PACE_S = 0.1

_log = logging.getLogger("fairshare.executor")


class Team:
    """The workers of one application. A task is `over` when its worker takes no more calls."""

    def __init__(self, application: str, count: int, door: WorkerSocket | None) -> None:
        self.application = application
        self.count = count
        self.door = door  # where they come
        self.met: set[str] = set()  # the containers that have connected
        self.over: set[int] = set()
        self.killed = False

    @property
    def left(self) -> int:
        """How many workers take calls, or will."""
        return self.count - len(self.over)


class Workers:
    """Runs short calls in containers that they share."""

    def __init__(self, state: State, sender: Sender) -> None:
        self.usable = True
        self.durations = Durations()
        self._state = state
        self._sender = sender
        self._worker_socket: WorkerSocket | None = None
        self._teams: dict[str, Team] = {}
        self._begun_s: dict[str, float] = {}  # of the calls that run in workers, by name
        self._busy = 0
        self._served_s = time.monotonic()  # when a call was last left

    @property
    def followed(self) -> bool:
        """Whether there are applications that are not over."""
        return bool(self._teams)

    @property
    def left(self) -> int:
        """How many workers take calls, or will."""
        with self._state.turn:
            return sum(team.left for team in self._teams.values())

    def long_functions(self) -> set[bytes]:
        """The functions of waiting calls that are to have containers of their own."""
        with self._state.turn:
            functions = [call.function for call in self._state.waiting]
            found = self._estimates(functions)
        return {function for function, seconds in found.items() if (seconds or 0.0) >= LONG_S}

    def missing(self) -> int:
        """How many more workers the waiting calls are worth."""
        with self._state.turn:
            functions = [call.function for call in self._state.waiting]
            estimates = self._estimates(functions)
            waiting = by_function(functions, lambda function: (estimates[function] or 0) < LONG_S)
            most = min(MOST_WORKERS, self._sender.fitting)
            missing = min(most, workers_wanted(waiting, estimates) + self._busy) - self.left
            if missing <= 0:
                return 0
            return min(MOST_WORKERS, max(missing, lives_wanted(waiting, estimates)))

    def _estimates(self, functions: list[bytes]) -> dict[bytes, float | None]:
        now_s = time.monotonic()
        running: dict[bytes, list[float]] = {}
        with self._state.turn:
            for call in self._state.running():
                begun_s = self._begun_s.get(call.name)
                if begun_s is not None:
                    running.setdefault(call.function, []).append(now_s - begun_s)
        return {
            function: self.durations.estimate(function, running.get(function, ()))
            for function in dict.fromkeys(functions)
        }

    def send(self, count: int, patience: Patience) -> None:
        """Submit an application of workers. What goes wrong is the error of all waiting calls."""
        try:
            if self._worker_socket is None:
                self._worker_socket = WorkerSocket(self._serve)
            door = self._worker_socket
            run = worker_callable(door.path, door.token)
            application = self._sender.submit(run, count, patience, keep_going=True)
        except BaseException as error:
            self._fail_waiting(error)
            return
        with self._state.turn:
            known = self._teams.setdefault(application, Team(application, count, door))
            known.count = count
            self._state.turn.notify_all()

    def drop(self, call: Call) -> None:
        """A call was cancelled: its worker ends with it."""
        container = call.container
        if container is not None:
            self._state.order(lambda: self._sender.client.stop_container(container))

    # The thread of one worker.

    def _serve(self, link: Link) -> None:
        worker = link.worker
        with self._state.turn:  # a worker may come before the submission is answered
            new = Team(worker.application, 0, self._worker_socket)
            team = self._teams.setdefault(worker.application, new)
            team.met.add(worker.container)
            team.over.discard(worker.index)
        while (call := self._next_call(link, team)) is not None:
            try:
                outcome = link.ask(call)
            except Exception:  # the connection is lost, or what came is not an outcome
                link.close()
                self._lost(call, link)
                return
            with self._state.turn:
                self.durations.add(call.function, outcome[3])
            self._leave(call)
            self._state.settle(call, *value_or_error(outcome))
        link.end()

    def _next_call(self, link: Link, team: Team) -> Call | None:
        """The next call for a worker; None: it is to end."""
        state = self._state
        lived_s = time.monotonic() - link.began_s
        with state.turn:
            ending = team.killed or (link.calls > 0 and lived_s > LIFE_S)
            end_s = time.monotonic() + IDLE_S
            while not ending:
                while state.waiting:
                    call = state.waiting.popleft()
                    if call.future.done():
                        continue
                    call.application = link.worker.application
                    call.container = link.worker.container
                    self._begun_s[call.name] = time.monotonic()
                    self._busy += 1
                    return call
                left_s = end_s - time.monotonic()
                if state.over or left_s <= 0:
                    break
                state.turn.wait(left_s)
            team.over.add(link.worker.index)
            state.turn.notify_all()
        return None

    def _leave(self, call: Call) -> None:
        """A call runs no longer."""
        with self._state.turn:
            if self._begun_s.pop(call.name, None) is not None:
                self._busy -= 1
            call.container = None
            self._served_s = time.monotonic()

    def _lost(self, call: Call, link: Link) -> None:
        """The worker of a call died: see why, and answer the call or let it wait again."""
        # The worker may be lost because the server is: it has answered, as the worker is there.
        patience = Patience(self._sender.client.patience_s, answered=True)
        error: BaseException | None
        try:
            error = self._sender.outlasting(patience, lambda: self._fate(call, link))
        except BaseException as raised:
            error = raised
        self._leave(call)
        if error is not None:
            self._state.settle(call, error=error)
            return
        with self._state.turn:
            if not call.future.done():
                self._state.waiting.appendleft(call)
                self._state.turn.notify_all()

    def _fate(self, call: Call, link: Link) -> Exception | None:
        """What a call failed with whose worker died; None if it is to run again."""
        client = self._sender.client
        while True:
            containers = client.containers(link.worker.application)
            container = next(
                (each for each in containers if each.id == link.worker.container), None
            )
            if container is None or container.over or call.future.done():
                break
            time.sleep(PACE_S)
        application = client.application(link.worker.application)
        if application.state == "KILLED":
            return ApplicationFailed(application.id, application.state, application.diagnostics)
        # A worker ends well only when it is asked to: the call has closed its connection.
        if container is None or not (container.failed or container.exit_code == 0):
            return None
        call.failures += 1
        if call.failures < self._sender.attempts:
            return None
        log = client.failure_log(application.id) if container.failed else ""
        reason = container.diagnostics or "it has closed the connection of its worker"
        return CallFailed.of_process(reason, log)

    # The thread that follows.

    def look(self) -> None:
        """See how the applications are."""
        with self._state.turn:
            teams = list(self._teams.values())
        for team in teams:
            try:
                self._look(team)
            except Refused as error:
                if error.status == SERVICE_UNAVAILABLE:
                    raise
                self._end(team)  # the server does not know it any more
        with self._state.turn:
            quiet = self._state.idle and time.monotonic() - self._served_s > GRACE_S
            late = [team for team in self._teams.values() if not team.killed] if quiet else []
        for team in late:
            team.killed = True
            with contextlib.suppress(Refused):
                self._sender.client.kill(team.application, "No call is left for its workers.")

    def _look(self, team: Team) -> None:
        application = self._sender.client.application(team.application)
        for task in self._sender.client.tasks(team.application):
            if task.state not in ("SUCCEEDED", "FAILED", "KILLED") or task.index in team.over:
                continue
            with self._state.turn:
                team.over.add(task.index)
                self._state.turn.notify_all()
            if task.container is None or task.container in team.met:
                continue
            if task.state == "FAILED":
                reason = task.diagnostics or application.diagnostics
                self._blame(CallFailed.of_process(reason))
            elif (service := self._sender.client.result(task.container))[0] == UNREACHABLE:
                self._give_way(team, service[1])
        if application.over:
            self._end(team)
            if application.state == "KILLED" and not team.killed and not self._teams:
                state, diagnostics = application.state, application.diagnostics
                self._fail_waiting(ApplicationFailed(application.id, state, diagnostics))

    def _end(self, team: Team) -> None:
        with self._state.turn:
            self._teams.pop(team.application, None)
            self._state.turn.notify_all()

    def _blame(self, error: FairshareError) -> None:
        """A worker has failed again and again before it took a call: the oldest call fails, for
        which it was started."""
        with self._state.turn:
            call = next((one for one in self._state.waiting if not one.future.done()), None)
        if call is not None:
            self._state.settle(call, error=error)

    def _give_way(self, team: Team, reason: str) -> None:
        """Containers do not find the socket: they run under another account, or their /tmp is not
        that of this program."""
        with self._state.turn:
            door = self._worker_socket
            if team.door is not door:  # an earlier one
                return
            if door is not None and not door.is_shared:
                self._worker_socket = WorkerSocket(self._serve, is_shared=True)
                self._state.turn.notify_all()
                door.close()
                return
        if self.usable:
            _log.warning(
                "each call gets a container: workers cannot reach the program (%s)", reason
            )
        with self._state.turn:
            self.usable = False
            self._state.turn.notify_all()

    def give_up(self, error: BaseException) -> None:
        """Answer the waiting calls with an error: the server has been away for too long."""
        with self._state.turn:
            self._teams.clear()
        self._fail_waiting(error)

    def _fail_waiting(self, error: BaseException) -> None:
        for call in self._state.take_all():
            self._state.settle(call, error=error)

    def close(self) -> None:
        """Accept no more workers."""
        if self._worker_socket is not None:
            self._worker_socket.close()
