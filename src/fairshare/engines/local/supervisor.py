"""The supervision of one container from its start to its end, in a process of its own.

The supervisor starts the command, enforces memory and time limits, ends the whole process tree, and
writes the outcome. It works without the server and the zygote. As the subreaper of all descendants
of the command it loses none, including daemons and new sessions. Must stay light.

    running ──(first process ends | stop | time)──> ending ──(grace is over)──> killing ──> ended
       └────────────────(memory)────────────────────────────────────────────────┘
"""

import contextlib
import json
import math
import os
import resource
import select
import signal
import socket
import time
from typing import TYPE_CHECKING

from fairshare.engines.local import execution, groups, processes
from fairshare.engines.local.directories import (
    ContainerDirectory,
    read_json,
    reserve,
    write_atomically,
)
from fairshare.engines.local.enforcement import LogLimit, MemoryHolder, ProcessLimit, memory_holder
from fairshare.engines.local.launch import LIMIT_CHANGED, Launch
from fairshare.engines.local.outcome import (
    ABORTED,
    DISK_FAILED,
    Cause,
    Ending,
    StartFailure,
    verdict,
)

if TYPE_CHECKING:
    from fairshare.engines.local.sessions.console import Console

_LEFT_BEHIND_MS = 250
"""The longest grace time of processes that outlive the first one."""
_KILL_PAUSE_MS = 5
_LONGEST_KILL_PAUSE_MS = 320
_WRITE_ATTEMPTS = 600
_WRITE_PAUSE_S = 1.0
_EXIT_BYTES = 32 * 1024
"""The space for exit.json with the longest tail of stderr, reserved so that the outcome can be
written to a full disk."""


_ENDS: dict[Cause, str] = {
    "stop": "this is asked to end, as it was killed or preempted",
    "time": "the time limit is over",
    "idle": "this was idle for too long",
}
"""The words for the user of a terminal."""


class Supervisor:
    """Supervises one container, in the process forked for it."""

    def __init__(self, directory: ContainerDirectory, launch: Launch) -> None:
        self._directory = directory
        self._launch = launch
        self._stop_wanted = False
        self._limit_changed = False
        self._first = 0  # the container's first process
        self._status: int | None = None  # its wait status
        self._cause: Cause = ""  # why the supervisor ends it
        self._failure = 0  # the errno that goes with the cause
        self._kill_at: float | None = None  # set while ending
        self._kill_pause_ms = _KILL_PAUSE_MS
        self._over_memory = False
        self._warned = False
        self._terminated = False
        self._logs = LogLimit((directory.stdout, directory.stderr), launch.log_limit_bytes)
        self._unheard: socket.socket | None = None  # where to report that it runs
        self._poll = select.poll()
        self._console: Console | None = None  # of a container with a terminal
        self._wake, waker = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._waker = waker
        self._poll.register(self._wake, select.POLLIN)
        signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, self._on_stop)
        signal.signal(LIMIT_CHANGED, self._on_limit)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())

    def _on_limit(self, *_: object) -> None:
        self._limit_changed = True

    def _on_stop(self, *_: object) -> None:
        self._stop_wanted = True

    def run(self, channel: socket.socket, lock: int) -> bytes:
        """Run the container to its end; returns the content of exit.json.

        `lock` is closed when pid.json exists (or will never exist), so that the next server knows
        that no further file will appear. Then `channel` gets one message, if its reader is alive.
        """
        launch = self._launch
        try:
            if self._stop_wanted:
                raise StartFailure(128 + signal.SIGTERM, "stopped before it started")
            try:
                reserve(self._directory.exit, _EXIT_BYTES)
            except OSError as error:
                why = f"cannot write {self._directory.exit}: {error.strerror}"
                raise StartFailure(DISK_FAILED, why) from error
            try:
                for plan in launch.groups:
                    groups.create(plan)
                holder = memory_holder(launch)
                self._processes = ProcessLimit(launch, self._poll)
            except OSError as error:
                why = f"{error.strerror} ({error.filename})"
                raise StartFailure(ABORTED, f"cannot set the container's limits: {why}") from error
            secrets = self._directory.take_secrets()
            self._first = self._start(launch.with_secrets(secrets))
        except StartFailure as failure:
            self._remove_groups()
            self._directory.say(failure.diagnostics)
            return verdict(
                launch.container,
                failure.exit_code,
                failure.diagnostics,
                cannot_start=failure.is_final,
                node_failed=failure.of_node,
            )
        started = time.monotonic()
        try:
            self._write_pid()
        except OSError as error:
            # Without this file no later server would find the container.
            self._end("no-pid", 0, error.errno or 0)
        os.close(lock)
        self._unheard = channel
        self._supervise(started, holder)
        execution.run_quietly(launch, launch.at_end)
        if self._console is not None:
            self._console.close(self._status or 0)
        peak_bytes = holder.peak_bytes()
        self._over_memory = self._over_memory or holder.exceeded(())
        self._remove_groups()
        self._logs.look(math.inf)
        if launch.account:
            self._directory.take_result(launch.uid)
        return self._ending(peak_bytes).encode()

    def _start(self, launch: Launch) -> int:
        """Start the first process; returns its pid. Raises StartFailure."""
        if not launch.terminal:
            return execution.start(launch, self._directory)
        from fairshare.engines.local.sessions.console import Console  # few containers have one

        try:
            console = Console(launch, self._directory.path, self._waker)
        except OSError as error:
            why = f"cannot open a terminal: {error.strerror or error}"
            # One user can hold all terminals of a node, which others need for terminals only.
            raise StartFailure(DISK_FAILED, why, of_node=False) from error
        first = execution.start(launch, self._directory, console.slave)
        self._console = console
        console.start()
        return first

    def _write_pid(self) -> None:
        pid = os.getpid()
        record = {
            "supervisor": pid,
            "supervisor_start": processes.start_time(pid),
            "pid": self._first,
            "start": processes.start_time(self._first),
            "boot": processes.boot_id(),
            "started_at_ms": _now_ms(),
        }
        write_atomically(self._directory.pid, json.dumps(record).encode())

    def _supervise(self, started: float, holder: MemoryHolder) -> None:
        """Enforce the limits until no process of the container is left."""
        end_at, warn_at = self._deadlines(started)
        look_at = started
        if holder.descriptor is not None:
            self._poll.register(holder.descriptor, select.POLLIN)
        while self._reap():
            now = time.monotonic()
            if self._limit_changed:
                self._limit_changed = False
                self._read_limit()
                end_at, warn_at = self._deadlines(started)
            self._report_start()
            if not self._over_memory:
                look = holder.interval_ms is not None and now >= look_at
                if look or holder.descriptor is not None:
                    self._look(holder, now)
                if look:
                    look_at = now + (holder.interval_ms or 0) / 1000
            crowded, full = self._processes.look(now), self._logs.look(now)
            if self._kill_at is None:
                if crowded:
                    self._end("processes", self._launch.grace_ms)
                elif full:
                    self._end("logs", self._launch.grace_ms, self._logs.failure)
                elif self._status is not None:
                    self._end("", min(self._launch.grace_ms, _LEFT_BEHIND_MS))
                elif self._stop_wanted:
                    self._end("stop", self._launch.grace_ms)
                elif self._console is not None and self._console.over:
                    self._end(self._console.over, self._launch.grace_ms)
                elif end_at is not None and now >= end_at:
                    self._end("time", self._launch.grace_ms)
            if self._kill_at is not None and self._status is not None and not self._terminated:
                self._terminate()  # those who did not get the signal of their own
            if warn_at is not None and now >= warn_at and self._kill_at is None:
                self._warn()
                warn_at = None
            killing = self._kill_at is not None and now >= self._kill_at
            moments = [now + self._kill() if killing else self._kill_at or end_at]
            moments += (self._logs.look_at, self._processes.look_at, warn_at)
            if holder.interval_ms is not None and not self._over_memory:
                moments.append(look_at)
            if self._unheard is not None:
                moments.append(now + self._launch.watch_ms / 1000)
            self._wait(min((moment for moment in moments if moment is not None), default=None))

    def _deadlines(self, started: float) -> tuple[float | None, float | None]:
        """When its time is over, and when it is warned of that, if it is."""
        limit_ms, before_ms = self._launch.time_limit_ms, self._launch.signal_before_ms
        end_at = None if limit_ms is None else started + limit_ms / 1000
        warns = end_at is not None and before_ms and not self._warned
        return end_at, end_at - before_ms / 1000 if end_at is not None and warns else None

    def _read_limit(self) -> None:
        """Take the time limit of the order, which the engine has written again."""
        with contextlib.suppress(OSError, ValueError):
            limit_ms = (read_json(self._directory.launch) or {}).get("time_limit_ms")
            if limit_ms is None or type(limit_ms) is int:
                self._launch = self._launch._replace(time_limit_ms=limit_ms)

    def _look(self, holder: MemoryHolder, now: float) -> None:
        pids = processes.descendants(os.getpid()) if holder.descriptor is None else ()
        if holder.exceeded(pids):
            self._over_memory = True
            self._kill_at = now

    def _wait(self, until: float | None) -> None:
        """Wait for a signal, a memory event, or the instant `until`."""
        timeout = None if until is None else max(0.0, until - time.monotonic()) * 1000
        for descriptor, _ in self._poll.poll(timeout):
            if descriptor == self._wake:
                with contextlib.suppress(BlockingIOError):
                    os.read(self._wake, 4096)

    def _reap(self) -> bool:
        """Reap every ended process; False when none is left."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            if pid == self._first:
                self._status = status

    def _report_start(self) -> None:
        """Report once that the container runs, without waiting for the receiver."""
        if self._unheard is None:
            return
        try:
            self._unheard.send(b"S " + os.fsencode(self._directory.path), socket.MSG_DONTWAIT)
        except BlockingIOError:
            return
        except OSError:  # the server has ended; the next one reads pid.json
            pass
        self._unheard.close()
        self._unheard = None

    def _end(self, cause: Cause, grace_ms: int, failure: int = 0) -> None:
        self._cause = cause
        self._failure = failure
        self._kill_at = time.monotonic() + grace_ms / 1000
        if self._console is not None and cause:
            self._console.say(f"{_ENDS.get(cause, 'this ends')}; {grace_ms / 1000:g} s are left")
        if self._launch.signal and not self._warned and cause:
            self._warn()
        else:
            self._terminate()

    def _terminate(self) -> None:
        pids = processes.descendants(os.getpid())
        processes.send(pids, signal.SIGTERM)
        if self._console is not None:  # a shell ignores SIGTERM
            processes.send(pids, signal.SIGHUP)
            processes.send(pids, signal.SIGCONT)
        self._terminated = True

    def _warn(self) -> None:
        """Send the signal that announces the end."""
        pids = processes.descendants(os.getpid())
        others = [pid for pid in pids if pid != self._first]
        wanted = [self._first] if self._launch.signal_first or not others else others
        processes.send([pid for pid in pids if pid in wanted], signal.Signals(self._launch.signal))
        self._warned = True

    def _kill(self) -> float:
        """Kill all processes; returns the pause in seconds until the next attempt.

        A process that ends wakes the supervisor earlier. The pause grows for processes that cannot
        end now because they wait for a device.
        """
        # The group first, since it includes concurrent forks. The descendants too: there may be no
        # group, and a privileged container can leave it.
        if self._launch.kill_group is not None:
            groups.kill(self._launch.kill_group)
        processes.send(processes.descendants(os.getpid()), signal.SIGKILL)
        pause_ms = self._kill_pause_ms
        self._kill_pause_ms = min(2 * pause_ms, _LONGEST_KILL_PAUSE_MS)
        return pause_ms / 1000

    def _remove_groups(self) -> None:
        for plan in self._launch.groups:
            groups.remove(plan.path)

    def _ending(self, peak_bytes: int) -> Ending:
        assert self._status is not None  # no child is left, so the first one was reaped
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return Ending(
            container=self._launch.container,
            status=self._status,
            cause=self._cause,
            failure=self._failure,
            over_memory=self._over_memory,
            peak_bytes=self._with_largest(peak_bytes),
            cpu_ms=round((usage.ru_utime + usage.ru_stime) * 1000),
            ended_at_ms=_now_ms(),
            dropped=self._logs.dropped,
        )

    def _with_largest(self, peak_bytes: int) -> int:
        if self._launch.memory_limit != "watch":
            return peak_bytes
        # The exact peak of the largest process. Before exec it had the supervisor's size.
        largest = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        if largest > resource.getrusage(resource.RUSAGE_SELF).ru_maxrss:
            return max(peak_bytes, largest * 1024)
        return peak_bytes


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def supervise(directory: ContainerDirectory, channel: socket.socket, lock: int) -> None:
    """The whole life of a supervisor: from launch.json to exit.json.

    Expects SIGTERM, SIGCHLD and LIMIT_CHANGED to be blocked. Raises for an invalid launch.json.
    """
    execution.name_process(processes.SUPERVISOR)
    os.chdir(directory.path)
    execution.adopt_orphans()
    value = read_json(directory.launch)
    if value is None:
        raise ValueError(f"{directory.launch} cannot be understood")
    content = Supervisor(directory, Launch.decode(value)).run(channel, lock)
    for _ in range(_WRITE_ATTEMPTS):
        try:
            write_atomically(directory.exit, content)
        except OSError:
            # A full disk may get free space again. A deleted directory has no readers.
            if not directory.path.is_dir():
                return
            if directory.exit.is_dir():  # a container has put it there
                with contextlib.suppress(OSError):
                    directory.exit.rename(directory.work / f"exit.json.{os.getpid()}")
                    continue
            time.sleep(_WRITE_PAUSE_S)
        else:
            break
    groups.remove_abandoned()
