"""Owns the supervision of one container from its start to its end, in a process of its own.

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

from fairshare.engines.local import execution, groups, processes
from fairshare.engines.local.directories import (
    ContainerDirectory,
    read_json,
    reserve,
    write_atomically,
)
from fairshare.engines.local.launch import Launch
from fairshare.engines.local.log_limit import LogLimit
from fairshare.engines.local.memory import MEBIBYTE, MemoryHolder, memory_holder
from fairshare.engines.local.outcome import (
    ABORTED,
    DISK_FAILED,
    MEMORY_EXCEEDED,
    Outcome,
    StartFailure,
    ending_of,
    exit_code_of,
    with_tail,
)
from fairshare.engines.local.process_limit import ProcessLimit

_KILL_PAUSE_MS = 5
_LONGEST_KILL_PAUSE_MS = 320
_WRITE_ATTEMPTS = 600
_WRITE_PAUSE_S = 1.0
_EXIT_BYTES = 32 * 1024
"""The space for exit.json with the longest tail of stderr, reserved so that the outcome can be
written to a full disk."""


class Supervisor:
    """Supervises one container, in the process forked for it."""

    def __init__(self, directory: ContainerDirectory, launch: Launch) -> None:
        self._directory = directory
        self._launch = launch
        self._stop_wanted = False
        self._first = 0  # the container's first process
        self._status: int | None = None  # its wait status
        self._reason = ""  # why the supervisor ends it; empty if it ended by itself
        self._reason_code: int | None = None
        self._kill_at: float | None = None  # set while ending
        self._kill_pause_ms = _KILL_PAUSE_MS
        self._over_memory = False
        self._logs = LogLimit((directory.stdout, directory.stderr), launch.log_limit_bytes)
        self._unheard: socket.socket | None = None  # where to report that it runs
        self._poll = select.poll()
        self._wake, waker = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._poll.register(self._wake, select.POLLIN)
        signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, self._on_stop)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())

    def _on_stop(self, *_: object) -> None:
        self._stop_wanted = True

    def run(self, channel: socket.socket, lock: int) -> Outcome:
        """Run the container to its end.

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
            self._first = execution.start(launch.with_secrets(secrets), self._directory)
        except StartFailure as failure:
            self._remove_groups()
            return self._outcome(failure.exit_code, failure.diagnostics)
        started = time.monotonic()
        try:
            self._write_pid()
        except OSError as error:
            # Without this file no later server would find the container.
            self._end(f"cannot write {self._directory.pid}: {error.strerror}", DISK_FAILED, 0)
        os.close(lock)
        self._unheard = channel
        self._supervise(started, holder)
        peak_bytes = holder.peak_bytes()
        self._over_memory = self._over_memory or holder.exceeded(())
        self._remove_groups()
        self._logs.look(math.inf)
        if launch.account:
            self._directory.take_result(launch.uid)
        outcome, said = self._conclude(peak_bytes), self._logs.said()
        if said:
            words = f"{outcome.diagnostics}\n{said}" if outcome.diagnostics else said
            outcome = outcome._replace(diagnostics=words)
        return outcome

    def _write_pid(self) -> None:
        own = os.getpid()
        record = {
            "supervisor": own,
            "supervisor_start": processes.start_time(own),
            "pid": self._first,
            "start": processes.start_time(self._first),
            "boot": processes.boot_id(),
            "started_at_ms": time.time_ns() // 1_000_000,
        }
        write_atomically(self._directory.pid, json.dumps(record).encode())

    def _supervise(self, started: float, holder: MemoryHolder) -> None:
        """Enforce the limits until no process of the container is left."""
        limit_ms = self._launch.time_limit_ms
        end_at = None if limit_ms is None else started + limit_ms / 1000
        look_at = started
        if holder.descriptor is not None:
            self._poll.register(holder.descriptor, select.POLLIN)
        while self._reap():
            now = time.monotonic()
            self._tell()
            if not self._over_memory:
                look = holder.interval_ms is not None and now >= look_at
                if look or holder.descriptor is not None:
                    self._look(holder, now)
                if look:
                    look_at = now + (holder.interval_ms or 0) / 1000
            crowded = self._processes.look(now)
            if crowded and self._kill_at is None:
                self._end(crowded, None, self._launch.grace_ms)
            unlimited = self._logs.look(now)
            if unlimited and self._kill_at is None:
                self._end(unlimited, DISK_FAILED, self._launch.grace_ms)
            if self._kill_at is None:
                if self._status is not None:
                    self._end("", None, self._launch.grace_ms)
                elif self._stop_wanted:
                    self._end("stopped on request", None, self._launch.grace_ms)
                elif end_at is not None and now >= end_at:
                    words = f"killed: ran longer than its time limit of {limit_ms} ms"
                    self._end(words, None, self._launch.grace_ms)
            moments = [now + self._kill() if self._killing(now) else self._kill_at or end_at]
            moments += (self._logs.look_at, self._processes.look_at)
            if holder.interval_ms is not None and not self._over_memory:
                moments.append(look_at)
            if self._unheard is not None:
                moments.append(now + self._launch.watch_ms / 1000)
            self._wait(min((moment for moment in moments if moment is not None), default=None))

    def _look(self, holder: MemoryHolder, now: float) -> None:
        pids = processes.descendants(os.getpid()) if holder.descriptor is None else ()
        if holder.exceeded(pids):
            self._over_memory = True
            self._kill_at = now

    def _killing(self, now: float) -> bool:
        return self._kill_at is not None and now >= self._kill_at

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

    def _tell(self) -> None:
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

    def _end(self, reason: str, code: int | None, grace_ms: int) -> None:
        self._reason = reason
        self._reason_code = code
        self._kill_at = time.monotonic() + grace_ms / 1000
        processes.send(processes.descendants(os.getpid()), signal.SIGTERM)

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

    def _conclude(self, peak_bytes: int) -> Outcome:
        assert self._status is not None  # no child is left, so the first one was reaped
        peak_mb = self._peak_mb(peak_bytes)
        code = exit_code_of(self._status)
        if self._over_memory:
            words = f"killed: used {peak_mb} MB, limit {self._launch.memory_mb} MB"
            return self._outcome(MEMORY_EXCEEDED, self._with_tail(words), peak_mb)
        if not self._reason:
            words = ending_of(self._status)
            return self._outcome(code, self._with_tail(words) if words else "", peak_mb)
        if self._reason_code is not None:
            return self._outcome(self._reason_code, self._reason, peak_mb)
        words = self._reason
        if code not in (128 + signal.SIGTERM, 128 + signal.SIGKILL):
            # Its own exit code does not count: it was ordered to end before it was done.
            words = f"{words}; it answered SIGTERM with exit code {code}"
            code = 128 + signal.SIGTERM
        return self._outcome(code, self._with_tail(words), peak_mb)

    def _peak_mb(self, peak_bytes: int) -> int:
        if self._launch.memory_limit == "watch":
            # The exact peak of the largest process. Before exec it had the supervisor's size.
            largest = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
            if largest > resource.getrusage(resource.RUSAGE_SELF).ru_maxrss:
                peak_bytes = max(peak_bytes, largest * 1024)
        return -(-peak_bytes // MEBIBYTE)

    def _with_tail(self, words: str) -> str:
        return with_tail(words, self._directory.stderr)

    def _outcome(self, code: int, words: str, peak_mb: int = 0) -> Outcome:
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return Outcome(
            container=self._launch.container,
            exit_code=code,
            diagnostics=words,
            peak_memory_mb=peak_mb,
            cpu_ms=round((usage.ru_utime + usage.ru_stime) * 1000),
            ended_at_ms=time.time_ns() // 1_000_000,
        )


def supervise(directory: ContainerDirectory, channel: socket.socket, lock: int) -> None:
    """The whole life of a supervisor: from launch.json to exit.json.

    Expects SIGTERM and SIGCHLD to be blocked. Raises for an invalid launch.json.
    """
    execution.name_process(processes.SUPERVISOR)
    os.chdir(directory.path)
    execution.adopt_orphans()
    value = read_json(directory.launch)
    if value is None:
        raise ValueError(f"{directory.launch} cannot be understood")
    outcome = Supervisor(directory, Launch.decode(value)).run(channel, lock)
    for _ in range(_WRITE_ATTEMPTS):
        try:
            write_atomically(directory.exit, outcome.encode())
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
