"""The watched supervisors: by their pidfds, until each container is reported as ended.

Used by the engine's thread only. A supervisor whose files cannot be read now is checked again.
"""

import contextlib
import logging
import os
import selectors
import signal
from collections.abc import Callable
from pathlib import Path

import msgspec

from fairshare.core.model.identifiers import ContainerId
from fairshare.core.model.inputs import ContainerExited
from fairshare.engines.local import adoption
from fairshare.engines.local.directories import write_atomically
from fairshare.engines.local.ending import EndingRoom, Overdue, Unattended, Watched
from fairshare.engines.local.launch import LIMIT_CHANGED
from fairshare.engines.local.outcome import ABORTED, SUPERVISOR_KILLED
from fairshare.engines.local.reports import Reports
from fairshare.engines.local.state import move_scratch

_STOPPED = "stopped on request"
_LATE = "killed: its time limit is over"

_log = logging.getLogger("fairshare.engine")


class Liveness:
    """All watched containers. `bases` are the parents of new containers' groups; `freed` is called
    when a container has ended and no longer holds room."""

    def __init__(
        self,
        selector: selectors.BaseSelector,
        reports: Reports,
        bases: frozenset[str],
        rooms: EndingRoom,
        freed: Callable[[], None],
        discard: Callable[[Path], None],
    ) -> None:
        self._selector = selector
        self._reports = reports
        self._bases = bases
        self._rooms = rooms
        self._freed = freed
        self._discard = discard
        self.watched: dict[str, Watched] = {}  # by the path of the directory
        self.current: dict[ContainerId, Watched] = {}
        self.without_pidfd: set[str] = set()  # too many files were open: check again
        self.overdue = Overdue()
        self.unattended = Unattended()

    def watch(self, watched: Watched) -> None:
        """Watch a container; end one of another name with the same identifier, unreported.

        That one belongs to an earlier journal, and its reports must not be taken for those of the
        new one.
        """
        old = self.current.get(watched.container)
        if old is not None:
            old.muted = True
            self.stop(old)
        self.watched[str(watched.directory.path)] = watched
        self.current[watched.container] = watched
        self._rooms.enter(watched)
        self._reports.hold(watched.container)

    def forget(self, watched: Watched) -> None:
        """Stop watching a container, and free its room for waiting orders."""
        watched.gone = True
        self._close_pidfd(watched)
        self.without_pidfd.discard(str(watched.directory.path))
        self.unattended.remove(watched)
        self._rooms.leave(watched)
        del self.watched[str(watched.directory.path)]
        if self.current.get(watched.container) is watched:
            del self.current[watched.container]
        self._freed()

    def _close_pidfd(self, watched: Watched) -> None:
        if watched.pidfd is not None:
            self._selector.unregister(watched.pidfd)
            os.close(watched.pidfd)
            watched.pidfd = None

    def set_pidfd(self, watched: Watched, pidfd: int) -> None:
        """Watch a container by this pidfd of its supervisor, and take ownership of the pidfd."""
        watched.pidfd = pidfd
        self.without_pidfd.discard(str(watched.directory.path))
        self._selector.register(pidfd, selectors.EVENT_READ, watched)
        if watched.limit_changed:
            self._send_limit(watched)
        if watched.stop_wanted:
            self.stop(watched)

    def _send_limit(self, watched: Watched) -> None:
        """Let a supervisor read its order again, now or as soon as it has a pidfd."""
        watched.limit_changed = watched.pidfd is None
        if watched.pidfd is not None:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(watched.pidfd, LIMIT_CHANGED)

    def stop(self, watched: Watched) -> None:
        """Order the supervisor to end its container."""
        watched.stop_wanted = True
        self._rooms.ends(watched)
        if watched.pidfd is not None:
            if watched.overdue != _STOPPED:
                self.overdue.expect(watched, 0, _STOPPED)
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(watched.pidfd, signal.SIGTERM)

    def limit(self, watched: Watched, time_limit_ms: int | None) -> None:
        """Change the time limit in the order of a container, and let its supervisor read it again.
        One of an earlier release ignores the signal: its container keeps the limit that it has."""
        if watched.launch.time_limit_ms == time_limit_ms:
            return
        launch = watched.launch._replace(time_limit_ms=time_limit_ms)
        write_atomically(watched.directory.launch, launch.encode())  # tried again on a full disk
        watched.launch = launch
        self._send_limit(watched)
        if watched.start_reported and time_limit_ms is not None:
            self.overdue.expect(watched, time_limit_ms / 1000, _LATE)

    def recheck(self, watched: Watched) -> None:
        """Check a container that is watched without a pidfd."""
        with contextlib.suppress(OSError):  # too many files may still be open
            match adoption.fate(watched.directory):
                case adoption.Alive(pidfd):
                    self._close_pidfd(watched)
                    self.set_pidfd(watched, pidfd)
                case adoption.Finished() | adoption.Orphaned():
                    self.settle(watched)
                case adoption.Never():  # not started yet
                    pass

    def settle(self, watched: Watched) -> None:
        """Report how a container ended, after the end of its supervisor."""
        if self.watched.get(str(watched.directory.path)) is not watched:
            return  # it was removed in this round
        try:
            exited = adoption.read_exit(watched.directory, watched.launch)
        except OSError as error:
            _log.warning("how %s ended cannot be read yet: %s", watched.directory.path, error)
            self._close_pidfd(watched)
            self.without_pidfd.add(str(watched.directory.path))
            return
        if exited is None:
            # A container under the supervisor's account can kill the supervisor. This counts as the
            # container's own failure, otherwise it could repeat it without limit.
            exited = self._concluded(watched, adoption.KILLED, SUPERVISOR_KILLED)
        if not watched.start_reported and watched.directory.pid.exists():
            self.report_start(watched)  # the message of its start may still be on its way
        self._conclude(watched, exited)

    def end_by_force(self, watched: Watched) -> None:
        """End a container whose supervisor does not do it."""
        reason = f"{watched.overdue}; its supervisor was stopped, and so ended by force"
        _log.warning("%s: %s", watched.directory.path, reason)
        self._conclude(watched, self._concluded(watched, reason, SUPERVISOR_KILLED))

    @staticmethod
    def _concluded(watched: Watched, reason: str, code: int = ABORTED) -> ContainerExited:
        return adoption.conclude(watched.directory, watched.container, watched.launch, reason, code)

    def give_up(self, watched: Watched, reason: str) -> None:
        """Report that a container cannot be started, since nothing can be."""
        exited = self._concluded(watched, reason)
        self._conclude(watched, msgspec.structs.replace(exited, node_failed=True))

    def _conclude(self, watched: Watched, exited: ContainerExited) -> None:
        self._end_scratch(watched)
        self.forget(watched)
        if watched.stop_reason:
            exited = msgspec.structs.replace(exited, diagnostics=watched.stop_reason)
        if not watched.muted:
            self._reports.settle(watched.directory, exited, watched.launch)
        if watched.earlier:
            adoption.remove_empty_bases(watched.launch, self._bases)

    def _end_scratch(self, watched: Watched) -> None:
        """Delete the temporary files of a container that has ended."""
        scratch = watched.directory.scratch(watched.container)
        private = watched.launch.private_tmp
        if not private and watched.launch.environment.get("TMPDIR") != str(scratch):
            return
        if private:
            with contextlib.suppress(OSError):  # mostly it is empty
                Path(private).rmdir()
        try:
            scratch.rmdir()
        except FileNotFoundError:
            pass
        except OSError:  # it has content, or something is mounted over it
            self._discard(move_scratch(scratch))

    def report_start(self, watched: Watched) -> None:
        """Report once that a container runs."""
        if not watched.start_reported and not watched.muted:
            watched.start_reported = True
            limit_ms = watched.launch.time_limit_ms
            if limit_ms is not None:
                self.overdue.expect(watched, limit_ms / 1000, _LATE)
            self._reports.started(watched.container, watched.launch.gpus)
