"""The zygote: a small process with all modules imported, which starts a supervisor per order.

It lets the compiled supervisor fork itself (`compiled.Starter`), or forks itself if there is none,
which is cheap because, unlike a server, it is small. Its messages, one datagram each:

    to the zygote     PATH               supervise the container of this directory
                      E                  the server ends in order: it removes its groups itself
    from the zygote   R                  ready
                      F PATH             forked; a pidfd of the supervisor comes with it
                      X ERRNO PATH       could not fork
    from supervisors  S PATH             its command runs

Supervisors are its children, so that none stays a zombie while it lives, even if process 1 does not
reap. A container under the account of its supervisor can stop or kill the supervisor: then the
zygote resumes it, or kills the remaining processes, which become children of the zygote.

It ends its service when the server's end is closed and all earlier orders are forked; then it
stays, as `fs-reaper`, while there are supervisors, which survive if it is killed. It has a session
of its own, so that Ctrl-C in a terminal does not reach it.
"""

import contextlib
import errno
import gc
import os
import select
import signal
import socket
from pathlib import Path

from fairshare.engines.local import compiled, groups, processes
from fairshare.engines.local.directories import ContainerDirectory
from fairshare.engines.local.execution import adopt_orphans, name_process
from fairshare.engines.local.launch import LIMIT_CHANGED
from fairshare.engines.local.processes import boot_id
from fairshare.engines.local.supervisor import supervise

MESSAGE_BYTES = 8192
IN_ORDER = b"E"
"""The message of a server that ends in order."""
_BLOCKED = (signal.SIGTERM, signal.SIGCHLD, LIMIT_CHANGED)
MOST_STOPS = 20
"""How often a stopped supervisor is resumed. Then it is killed, and its container fails."""
_LOCK_PATIENCE_S = 2.0
"""A killed server releases its lock slightly later than its end of the channel."""

_supervisors: dict[int, int] = {}
"""The live supervisors by pid, and the starter, and how often each was stopped."""
_starters: list[compiled.Starter] = []
"""The starter, if there is one."""


def main(channel_descriptor: int, lock: int, program: bool) -> None:
    """Serve orders until the server's end is closed, with the compiled supervisor if `program`."""
    name_process("fs-zygote")
    os.chdir("/")
    for descriptor in (channel_descriptor, lock):
        os.set_inheritable(descriptor, False)
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    with contextlib.suppress(OSError):
        adopt_orphans()
    woken, wakes = socket.socketpair()
    for end in (woken, wakes):
        end.setblocking(False)
    signal.set_wakeup_fd(wakes.fileno(), warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, _reap)
    boot_id()  # read once, before forking
    # Excludes existing objects from collection, so that supervisors keep sharing their pages.
    gc.collect()
    gc.freeze()
    with socket.socket(fileno=channel_descriptor) as channel:
        channel.send(b"R")
        in_order = False
        while path := _next_order(channel, woken):
            if path == IN_ORDER:
                in_order = True
            else:
                _fork(path, channel, lock, program)
    os.close(lock)
    for starter in _starters:
        starter.close()
    name_process("fs-reaper")
    groups.remove_abandoned(0.0 if in_order else _LOCK_PATIENCE_S)
    signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGCHLD,))
    # Processes that outlived their supervisors come here one by one, as their parents end.
    while _supervisors or processes.children(os.getpid()):
        signal.sigwait((signal.SIGCHLD,))
        _reap()
    groups.remove_abandoned()


def _next_order(channel: socket.socket, woken: socket.socket) -> bytes:
    """The directory of the next order; empty if the server's end is closed and none is left.

    A signal makes `woken` readable, and Python calls its handler: one that comes just before a wait
    for the channel alone would not end that wait, and a stopped supervisor would stay stopped until
    the next order. If the server is killed before it has read all answers, `recv` raises an error
    once, before it returns the remaining orders and the end.
    """
    poller = select.poll()
    for end in (channel, woken):
        poller.register(end, select.POLLIN)
    while True:
        ready = [descriptor for descriptor, _ in poller.poll()]
        if woken.fileno() in ready:
            with contextlib.suppress(BlockingIOError):
                woken.recv(MESSAGE_BYTES)
        if channel.fileno() in ready:
            with contextlib.suppress(ConnectionResetError):
                return channel.recv(MESSAGE_BYTES)


def _reap(*_: object) -> None:
    left_behind = False
    with contextlib.suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG | os.WUNTRACED)
            if pid == 0:
                break
            if os.WIFSTOPPED(status):
                _let_go_on(pid)
            elif _supervisors.pop(pid, None) is None or os.WIFSIGNALED(status):
                left_behind = True
    if left_behind:  # each end wakes this process again, until none is left
        for pid in processes.children(os.getpid()):
            if pid not in _supervisors:
                processes.send([pid, *processes.descendants(pid)], signal.SIGKILL)


def _let_go_on(pid: int) -> None:
    if pid not in _supervisors:
        return
    _supervisors[pid] += 1
    number = signal.SIGCONT if _supervisors[pid] <= MOST_STOPS else signal.SIGKILL
    processes.send([pid], number)


def _fork(path: bytes, channel: socket.socket, lock: int, program: bool) -> None:
    # Blocked until the supervisor is ready for them; in this process until its pidfd is open, so
    # that its pid cannot be reused.
    signal.pthread_sigmask(signal.SIG_BLOCK, _BLOCKED)
    pid = 0
    try:
        pid = _start(path, channel, lock, program)
        _supervisors[pid] = 0
        pidfd = os.pidfd_open(pid)
    except OSError as error:
        if pid:
            os.kill(pid, signal.SIGKILL)  # it could not be watched
        answer, pidfds = b"X %d %b" % (error.errno or 0, path), []
    else:
        answer, pidfds = b"F " + path, [pidfd]
    # A server that has ended needs no answer; its order is started nevertheless.
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        socket.send_fds(channel, [answer], pidfds)
    for pidfd in pidfds:
        os.close(pidfd)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _BLOCKED)


def _start(path: bytes, channel: socket.socket, lock: int, program: bool) -> int:
    if program:
        # Where programs of this directory may not run (noexec), and if it is being replaced.
        with contextlib.suppress(OSError):
            return _start_program(path, channel, lock)
    pid = os.fork()
    if pid == 0:
        signal.set_wakeup_fd(-1)  # its signals are its own
        for starter in _starters:  # it ends when the zygote's end alone is closed
            starter.close()
        _supervise(path, channel, lock)
    return pid


def _start_program(path: bytes, channel: socket.socket, lock: int) -> int:
    for _ in range(2):
        if not _starters:
            _starters.append(compiled.Starter(channel.fileno(), lock))
            _supervisors[_starters[0].pid] = 0
        try:
            return _starters[0].start(path)
        except BrokenPipeError:  # it was killed
            _starters.pop().close()
        except compiled.StarterLost:
            # Whether the container has a supervisor is found out by the server, as after the end
            # of this process, since only its files can tell.
            if _starters[0].pid in _supervisors:
                processes.send([_starters[0].pid], signal.SIGKILL)
            os._exit(1)
    raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))


def take_over(path: str, channel_descriptor: int, lock: int) -> None:
    """Supervise a container that the compiled supervisor handed over; must not return."""
    for descriptor in (channel_descriptor, lock):
        os.set_inheritable(descriptor, False)
    with socket.socket(fileno=channel_descriptor) as channel:
        _supervise(os.fsencode(path), channel, lock)


def _supervise(path: bytes, channel: socket.socket, lock: int) -> None:
    """In the new process; must not return."""
    try:
        supervise(ContainerDirectory(Path(os.fsdecode(path))), channel, lock)
    except BaseException:  # no caller can handle it
        import traceback  # large, and rarely needed

        with Path("/dev/stderr").open("a") as log:
            log.write(traceback.format_exc())
    finally:
        os._exit(0)
