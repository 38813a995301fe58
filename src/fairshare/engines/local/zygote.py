"""Owns the zygote: a small process that has everything imported and forks a supervisor per order.

Forking it is cheap because it is small, which a server is not. Its messages, one datagram each:

    to the zygote     PATH               supervise the container of this directory
    from the zygote   R                  ready
                      F PATH             forked; a pidfd of the supervisor comes with it
                      X ERRNO PATH       could not fork
    from supervisors  S PATH             its command runs

Supervisors are its children, so that none becomes a zombie while it lives, also where process 1
reaps nobody. A container that runs under the account of its supervisor can stop that or kill it:
then the zygote lets it go on, or ends what it left behind, which becomes its own child.

It takes no more orders when the server's end is closed and all that was ordered before is forked;
then it stays, as `fs-reaper`, while there are supervisors. If it is killed they live on. It has a
session of its own: no Ctrl-C in a terminal reaches it.
"""

import contextlib
import gc
import os
import signal
import socket
from pathlib import Path

from fairshare.engines.local import groups, processes
from fairshare.engines.local.directories import ContainerDirectory
from fairshare.engines.local.execution import adopt_orphans, name_process
from fairshare.engines.local.processes import boot_id
from fairshare.engines.local.supervisor import supervise

MESSAGE_BYTES = 8192
_BLOCKED = (signal.SIGTERM, signal.SIGCHLD)
MOST_STOPS = 20
"""So often a supervisor that is stopped is let go on. Then it is ended, and its container fails."""
_LOCK_PATIENCE_S = 2.0
"""A server that was killed lets go of its lock a little later than of its end of the channel."""

_supervisors: dict[int, int] = {}
"""The supervisors that live, by number, and how often each was stopped."""


def main(channel_descriptor: int, lock: int) -> None:
    """Serve orders until the server's end is closed."""
    name_process("fs-zygote")
    os.chdir("/")
    for descriptor in (channel_descriptor, lock):
        os.set_inheritable(descriptor, False)
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    with contextlib.suppress(OSError):
        adopt_orphans()
    signal.signal(signal.SIGCHLD, _reap)
    boot_id()  # read once, for all
    # What is there stays there: a supervisor shares these pages and does not look through them.
    gc.collect()
    gc.freeze()
    with socket.socket(fileno=channel_descriptor) as channel:
        channel.send(b"R")
        while path := _next_order(channel):
            _fork(path, channel, lock)
    os.close(lock)
    name_process("fs-reaper")
    groups.remove_abandoned(_LOCK_PATIENCE_S)
    signal.pthread_sigmask(signal.SIG_BLOCK, _BLOCKED[1:])
    while _supervisors:
        signal.sigwait(_BLOCKED[1:])
        _reap()
    groups.remove_abandoned()


def _next_order(channel: socket.socket) -> bytes:
    """The directory of the next order; empty if the server's end is closed and none is left.

    A server that is killed before it has read all answers leaves an error here, once, before the
    orders that wait and the end.
    """
    while True:
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
    if left_behind:  # each that ends now wakes us again, until there is nobody any more
        for pid in processes.children(os.getpid()):
            if pid not in _supervisors:
                processes.send([pid, *processes.descendants(pid)], signal.SIGKILL)


def _let_go_on(pid: int) -> None:
    if pid not in _supervisors:
        return
    _supervisors[pid] += 1
    number = signal.SIGCONT if _supervisors[pid] <= MOST_STOPS else signal.SIGKILL
    processes.send([pid], number)


def _fork(path: bytes, channel: socket.socket, lock: int) -> None:
    # Blocked until the supervisor is ready for them; and here until its pidfd is open, so that its
    # number cannot be anybody else's.
    signal.pthread_sigmask(signal.SIG_BLOCK, _BLOCKED)
    pid = 0
    try:
        pid = os.fork()
        if pid == 0:
            _supervise(path, channel, lock)
        _supervisors[pid] = 0
        pidfd = os.pidfd_open(pid)
    except OSError as error:
        if pid:
            os.kill(pid, signal.SIGKILL)  # nobody could watch it
        answer, pidfds = b"X %d %b" % (error.errno or 0, path), []
    else:
        answer, pidfds = b"F " + path, [pidfd]
    # Who is not there any more needs no answer; what it ordered is started nevertheless.
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        socket.send_fds(channel, [answer], pidfds)
    for pidfd in pidfds:
        os.close(pidfd)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _BLOCKED)


def _supervise(path: bytes, channel: socket.socket, lock: int) -> None:
    """In the new process; must not return."""
    try:
        supervise(ContainerDirectory(Path(os.fsdecode(path))), channel, lock)
    except BaseException:  # there is nobody above to tell
        import traceback  # large, and hardly ever needed

        with Path("/dev/stderr").open("a") as log:
            log.write(traceback.format_exc())
    finally:
        os._exit(0)
