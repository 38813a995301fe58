"""Owns the zygote: a small process that has everything imported and forks a supervisor per order.

Forking it is cheap because it is small, which a server is not. Its messages, one datagram each:

    to the zygote     PATH               supervise the container of this directory
    from the zygote   R                  ready
                      F PATH             forked; a pidfd of the supervisor comes with it
                      X ERRNO PATH       could not fork
    from supervisors  S PATH             its command runs

Supervisors are its children, so that none becomes a zombie while it lives, also where process 1
reaps nobody. When it ends they live on. It ends when the server's end is closed and all that was
ordered before is forked. It has a session of its own: no Ctrl-C in a terminal reaches it.
"""

import contextlib
import gc
import os
import signal
import socket
from pathlib import Path

from fairshare.engines.local import groups
from fairshare.engines.local.directories import ContainerDirectory
from fairshare.engines.local.execution import name_process
from fairshare.engines.local.processes import boot_id
from fairshare.engines.local.supervisor import supervise

MESSAGE_BYTES = 8192
_BLOCKED = (signal.SIGTERM, signal.SIGCHLD)


def main(channel_descriptor: int, lock: int) -> None:
    """Serve orders until the server's end is closed."""
    name_process("fs-zygote")
    os.chdir("/")
    for descriptor in (channel_descriptor, lock):
        os.set_inheritable(descriptor, False)
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, _reap)
    boot_id()  # read once, for all
    # What is there stays there: a supervisor shares these pages and does not look through them.
    gc.collect()
    gc.freeze()
    with socket.socket(fileno=channel_descriptor) as channel:
        channel.send(b"R")
        while path := channel.recv(MESSAGE_BYTES):
            _fork(path, channel, lock)
    groups.remove_abandoned()


def _reap(*_: object) -> None:
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _fork(path: bytes, channel: socket.socket, lock: int) -> None:
    # Blocked until the supervisor is ready for them; and here until its pidfd is open, so that its
    # number cannot be anybody else's.
    signal.pthread_sigmask(signal.SIG_BLOCK, _BLOCKED)
    pid = 0
    try:
        pid = os.fork()
        if pid == 0:
            _supervise(path, channel, lock)
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
