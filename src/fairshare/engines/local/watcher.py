"""Owns the engine's thread: it has containers begun and watches their supervisors.

Everything here is touched by that thread alone, except where a docstring says otherwise. A
supervisor is watched by its pidfd; what happened stands in its files.
"""

import contextlib
import os
import select
import selectors
import signal
import time
from collections import deque
from collections.abc import Callable

from fairshare.engines.local import adoption
from fairshare.engines.local.directories import ContainerDirectory
from fairshare.engines.local.launch import Launch
from fairshare.engines.local.nursery import Answer, Nursery
from fairshare.engines.local.outcome import ABORTED, DISK_FAILED, Outcome, StartFailure
from fairshare.engines.local.preparation import Preparation
from fairshare.engines.local.reports import Reports
from fairshare.engines.local.state import StateDirectory, remove_tree
from fairshare.engines.protocol import LaunchOrder
from fairshare.errors import EngineError
from fairshare.model.identifiers import ContainerId

_RECHECK_S = 1.0


class _Watched:
    """A container whose supervisor was ordered, or found alive."""

    def __init__(self, container: ContainerId, directory: ContainerDirectory) -> None:
        self.container = container
        self.directory = directory
        self.pidfd: int | None = None
        self.started_told = False
        self.stop_wanted = False
        self.muted = False  # another container has its identifier now; nobody asks for this one
        self.earlier: Launch | None = None  # of an earlier server, whose groups may be elsewhere


class Watcher:
    """The thread and its books. `bases` are the groups that hold those of new containers."""

    def __init__(
        self,
        state: StateDirectory,
        preparation: Preparation,
        nursery: Nursery,
        reports: Reports,
        bases: frozenset[str],
    ) -> None:
        self._state = state
        self._preparation = preparation
        self._nursery = nursery
        self._reports = reports
        self._bases = bases
        self._watched: dict[str, _Watched] = {}  # by the path of the directory
        self._current: dict[ContainerId, _Watched] = {}
        self._without_pidfd: set[str] = set()  # forked, but too many files were open
        self._selector = selectors.DefaultSelector()
        self._words: deque[Callable[[], None]] = deque()
        self._wake = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._selector.register(self._wake, selectors.EVENT_READ)
        self._ending = False
        self._ending_when_empty = False
        self.failure: BaseException | None = None

    def post(self, word: Callable[[], None]) -> None:
        """Have the thread do something soon (from any thread)."""
        self._words.append(word)
        os.eventfd_write(self._wake, 1)

    # ---- before the thread runs, and after

    def adopt(self) -> None:
        """Take over what an earlier server left: watch what runs, report what ended unreported."""
        for directory in self._state.all_containers():
            if directory.settled.exists():
                continue
            launch = adoption.read_launch(directory)
            if launch is not None:
                self._take(launch.container, directory, launch)

    def end_remaining(self, patience_s: float) -> list[str]:
        """End what is still watched, without the thread; returns the names of what stays."""
        deadline = time.monotonic() + patience_s
        while self._nursery.unanswered and time.monotonic() < deadline:
            for answer in self._nursery.receive()[0]:
                if answer.pidfd is not None:
                    self._set_pidfd(self._watched[answer.path], answer.pidfd)
            time.sleep(0.01)
        self.stop_all()
        for watched in list(self._watched.values()):
            if watched.pidfd is not None:
                poll = select.poll()
                poll.register(watched.pidfd, select.POLLIN)
                if poll.poll(max(0.0, deadline - time.monotonic()) * 1000):
                    self._forget(watched)
        return sorted(watched.directory.path.name for watched in self._watched.values())

    def release(self) -> None:
        """Close what is open here."""
        for watched in self._watched.values():
            if watched.pidfd is not None:
                os.close(watched.pidfd)
        self._selector.close()
        os.close(self._wake)

    # ---- the thread

    def run(self) -> None:
        """Serve until `end` was posted."""
        try:
            self._attach()
            while not self._ending and not (self._ending_when_empty and not self._watched):
                self._round()
        except BaseException as error:
            self.failure = error
            raise

    def end(self) -> None:
        """Leave `run` after this round."""
        self._ending = True

    def end_when_empty(self) -> None:
        """Leave `run` when no container is left."""
        self._ending_when_empty = True

    def launch(self, order: LaunchOrder) -> None:
        """Begin a container; one that was begun before is only looked after."""
        try:
            directory = self._state.container(order.application_name, order.container_name)
        except ValueError as error:
            self.refuse(order.container, str(error))
            return
        if str(directory.path) in self._watched:
            return
        if not self._take(order.container, directory, adoption.read_launch(directory)):
            self._begin(order, directory)

    def refuse(self, container: ContainerId, words: str) -> None:
        """Report that a container cannot be begun."""
        self._reports.ended(Outcome(container, ABORTED, words))

    def stop(self, container: ContainerId) -> None:
        """Have a container ended; its supervisor does it."""
        watched = self._current.get(container)
        if watched is not None:
            self._stop(watched)

    def stop_all(self) -> None:
        """Have every container ended."""
        for watched in list(self._watched.values()):
            self._stop(watched)

    def _round(self) -> None:
        for key, _ in self._selector.select(_RECHECK_S if self._without_pidfd else None):
            if key.fd == self._wake:
                with contextlib.suppress(BlockingIOError):
                    os.eventfd_read(self._wake)
            elif isinstance(key.data, _Watched):
                self._supervisor_gone(key.data)
            else:
                self._hear()
        while self._words:
            self._words.popleft()()
        for path in sorted(self._without_pidfd):
            self._recheck(self._watched[path])

    # ---- beginning

    def _begin(self, order: LaunchOrder, directory: ContainerDirectory) -> None:
        try:
            launch, secrets = self._preparation.launch(order, directory).without_secrets()
            owner = (launch.uid, launch.gid) if launch.account else None
            directory.write_launch(launch.encode(), order.command.callable, owner, secrets)
        except StartFailure as failure:
            words = failure.diagnostics
            self._reports.ended(Outcome(order.container, failure.exit_code, words))
            return
        except OSError as error:
            with contextlib.suppress(OSError):
                remove_tree(directory.path)
            words = f"cannot write {directory.path}: {error.strerror}"
            self._reports.ended(Outcome(order.container, DISK_FAILED, words))
            return
        self._watch(_Watched(order.container, directory))
        self._order(str(directory.path))

    def _order(self, path: str) -> None:
        if self._nursery.channel is None:
            try:
                self._nursery.start(self._nursery.await_silence())
            except EngineError as error:
                self._give_up(self._watched[path], str(error))
                return
            self._attach()
        self._nursery.order(path)
        self._heed_backlog()

    def _take(
        self, container: ContainerId, directory: ContainerDirectory, launch: Launch | None
    ) -> bool:
        """Go on with a container as its files tell; False if nobody began with it."""
        match adoption.fate(directory):
            case adoption.Never():
                return False
            case adoption.Alive(pidfd):
                watched = self._watched.get(str(directory.path))
                if watched is None:
                    watched = _Watched(container, directory)
                    watched.earlier = launch
                    self._watch(watched)
                self._set_pidfd(watched, pidfd)
                self._tell_start(watched)
                return True
            case adoption.Finished(outcome):
                pass
            case adoption.Orphaned(reason):
                outcome = adoption.conclude(directory, container, reason)
        self._reports.settle(directory, outcome)
        if launch is not None:
            adoption.remove_empty_bases(launch, self._bases)
        return True

    # ---- the zygote's answers

    def _attach(self) -> None:
        assert self._nursery.channel is not None
        self._selector.register(self._nursery.channel, selectors.EVENT_READ)

    def _heed_backlog(self) -> None:
        """Wait for room in the channel exactly as long as something waits for it."""
        if self._nursery.channel is not None:
            events = selectors.EVENT_READ
            if self._nursery.blocked:
                events |= selectors.EVENT_WRITE
            if self._selector.get_key(self._nursery.channel).events != events:
                self._selector.modify(self._nursery.channel, events)

    def _hear(self) -> None:
        channel = self._nursery.channel
        if channel is None:
            return
        answers, alive = self._nursery.receive()
        for answer in answers:
            self._answered(answer)
        if alive:
            self._nursery.flush()
            self._heed_backlog()
        else:
            self._selector.unregister(channel)
            self._replace_zygote()

    def _answered(self, answer: Answer) -> None:
        watched = self._watched.get(answer.path)
        if watched is None:  # it has ended meanwhile
            if answer.pidfd is not None:
                os.close(answer.pidfd)
        elif answer.kind == "started":
            self._tell_start(watched)
        elif answer.kind == "failed":
            self._give_up(watched, f"cannot fork a supervisor: {os.strerror(answer.error)}")
        elif answer.pidfd is None:
            self._without_pidfd.add(answer.path)
        else:
            self._set_pidfd(watched, answer.pidfd)

    def _replace_zygote(self) -> None:
        """Another zygote, and an answer for every order that the dead one owed."""
        lost = [self._watched[path] for path in self._nursery.unanswered]
        try:
            self._nursery.restart()
        except EngineError as error:
            for watched in lost:
                self._give_up(watched, str(error))
            return
        self._attach()
        for watched in lost:
            if not self._take(watched.container, watched.directory, None):
                self._order(str(watched.directory.path))
            elif watched.pidfd is None:
                self._forget(watched)
        for watched in list(self._watched.values()):
            if watched.pidfd is not None and watched.directory.pid.exists():
                self._tell_start(watched)  # its word may have got lost with the zygote

    # ---- watching

    def _watch(self, watched: _Watched) -> None:
        """Count a container in; one of another name with its identifier is ended unheard.

        That one is from another life of the manager. What it still does must not be taken for
        what the new one does.
        """
        old = self._current.get(watched.container)
        if old is not None:
            old.muted = True
            self._stop(old)
        self._watched[str(watched.directory.path)] = watched
        self._current[watched.container] = watched
        self._reports.hold(watched.container)

    def _forget(self, watched: _Watched) -> None:
        if watched.pidfd is not None:
            self._selector.unregister(watched.pidfd)
            os.close(watched.pidfd)
            watched.pidfd = None
        self._without_pidfd.discard(str(watched.directory.path))
        del self._watched[str(watched.directory.path)]
        if self._current.get(watched.container) is watched:
            del self._current[watched.container]

    def _set_pidfd(self, watched: _Watched, pidfd: int) -> None:
        watched.pidfd = pidfd
        self._without_pidfd.discard(str(watched.directory.path))
        self._selector.register(pidfd, selectors.EVENT_READ, watched)
        if watched.stop_wanted:
            self._stop(watched)

    def _stop(self, watched: _Watched) -> None:
        watched.stop_wanted = True
        if watched.pidfd is not None:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(watched.pidfd, signal.SIGTERM)

    def _recheck(self, watched: _Watched) -> None:
        with contextlib.suppress(OSError):  # there may be too many files open still
            match adoption.fate(watched.directory):
                case adoption.Alive(pidfd):
                    self._set_pidfd(watched, pidfd)
                case adoption.Finished() | adoption.Orphaned():
                    self._supervisor_gone(watched)
                case adoption.Never():  # it has not come so far
                    pass

    def _supervisor_gone(self, watched: _Watched) -> None:
        outcome = adoption.read_outcome(watched.directory)
        if outcome is None:
            reason = "its supervisor ended without an exit status; was it killed?"
            outcome = adoption.conclude(watched.directory, watched.container, reason)
        if watched.directory.pid.exists():
            self._tell_start(watched)  # the word for it may still be on its way
        self._conclude(watched, outcome)

    def _give_up(self, watched: _Watched, reason: str) -> None:
        outcome = adoption.conclude(watched.directory, watched.container, reason)
        self._conclude(watched, outcome)

    def _conclude(self, watched: _Watched, outcome: Outcome) -> None:
        self._forget(watched)
        if not watched.muted:
            self._reports.settle(watched.directory, outcome)
        if watched.earlier is not None:
            adoption.remove_empty_bases(watched.earlier, self._bases)

    def _tell_start(self, watched: _Watched) -> None:
        if not watched.started_told and not watched.muted:
            watched.started_told = True
            self._reports.started(watched.container)
