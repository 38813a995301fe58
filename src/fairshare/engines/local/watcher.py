"""The engine's thread, which has containers started and watches their supervisors.

Only that thread uses this state, except where a docstring says otherwise. It watches a supervisor
by its pidfd, and reads the outcome from its files.

Temporary failures of the system (such as too many open files) are retried: the failure of one
container never ends the thread. Any other exception is a defect, and ends the thread with `failed`.
"""

import contextlib
import errno
import logging
import os
import select
import selectors
import signal
import time
from collections import deque
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import msgspec

from fairshare.core.model.identifiers import ContainerId
from fairshare.core.model.inputs import ContainerExited
from fairshare.engines.local import adoption
from fairshare.engines.local.directories import EXIT_BYTES, ContainerDirectory, reserve
from fairshare.engines.local.disk_usage import Running
from fairshare.engines.local.ending import EndingRoom, Watched
from fairshare.engines.local.launch import Launch
from fairshare.engines.local.limits import Interactive
from fairshare.engines.local.liveness import Liveness
from fairshare.engines.local.outcome import ABORTED, DISK_FAILED, StartFailure
from fairshare.engines.local.preparation import Preparation, call_of, with_variables
from fairshare.engines.local.removal import Removal
from fairshare.engines.local.reports import KeptFiles, Reports
from fairshare.engines.local.state import StateDirectory, move_scratch
from fairshare.engines.local.zygote_client import Answer, ZygoteClient
from fairshare.engines.protocol import QUEUE_VARIABLE, Launched, LaunchOrder
from fairshare.errors import EngineError
from fairshare.wording import cause, counted

_RECHECK_S = 1.0

_log = logging.getLogger("fairshare.engine")


class Watcher:
    """The thread and its state. `bases` are the parents of new containers' groups."""

    def __init__(
        self,
        state: StateDirectory,
        preparation: Preparation,
        zygote_client: ZygoteClient,
        reports: Reports,
        bases: frozenset[str],
        rooms: EndingRoom,
        removal: Removal,
        failed: Callable[[Exception], None] | None = None,
    ) -> None:
        self._state = state
        self._preparation = preparation
        self._zygote_client = zygote_client
        self._reports = reports
        self._bases = bases
        self._rooms = rooms
        self._removal = removal
        self._waiting: deque[LaunchOrder] = deque()  # for room
        self._failed = failed
        self._selector = selectors.DefaultSelector()
        self._liveness = Liveness(
            self._selector, reports, bases, rooms, self._use_room, removal.discard
        )
        self._words: deque[Callable[[], None]] = deque()
        self._postponed: list[Callable[[], None]] = []
        self._wake = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._woken = False
        self._selector.register(self._wake, selectors.EVENT_READ)
        self._ending = False
        self._ending_when_empty = False
        self._answers: deque[Answer] = deque()  # of the zygote, not dealt with yet
        self.failure: BaseException | None = None

    def post(self, word: Callable[[], None]) -> None:
        """Run a function in the thread soon; called from any thread."""
        self._words.append(word)
        # Orders come in batches: the thread wakes for the first. Each further wake would let it run
        # in the middle of the batch, and the server's thread wait.
        if not self._woken:
            self._woken = True
            os.eventfd_write(self._wake, 1)

    # ---- before and after the thread runs

    def adopt(self, launched: Launched | None = None, kept: KeptFiles | None = None) -> None:
        """Adopt the containers of an earlier server: watch the running ones, report the ended ones,
        which `kept` counts.

        Containers unknown to `launched` are moved away. Raises OSError.
        """
        if launched is not None:
            adoption.put_unknown_aside(self._state, launched)
        for directory in self._state.all_containers():
            if directory.is_settled():
                if kept is not None:
                    known = kept.knows(directory.path.parent.name)
                    kept.adopt(directory, None if known else adoption.read_launch(directory))
                continue
            launch = adoption.read_launch(directory)
            if launch is not None:
                self._take(launch.container, directory, launch)
            elif isinstance(adoption.fate(directory), adoption.Never):
                # Half an order, as a power failure leaves it: it is complained of once.
                directory.launch.unlink(missing_ok=True)
        running = {f"{container:x}" for container in self._liveness.current}
        for path in self._state.scratch.iterdir():
            if path.name not in running:
                self._discard_scratch(path)

    def _discard_scratch(self, path: Path) -> None:
        self._removal.discard(move_scratch(path))

    def end_remaining(self, patience_s: float) -> list[str]:
        """End the containers still watched, without the thread; returns the names of those that
        remain."""
        deadline = time.monotonic() + patience_s
        while True:
            while self._answers:  # also those behind the one with which the thread has failed
                answer = self._answers.popleft()
                if answer.pidfd is not None:
                    self._answered(answer)
            if not self._zygote_client.unanswered or time.monotonic() >= deadline:
                break
            self._answers.extend(self._zygote_client.receive()[0])
            time.sleep(0.01)
        self.stop_all()
        for watched in list(self._liveness.watched.values()):
            if watched.pidfd is not None:
                poll = select.poll()
                poll.register(watched.pidfd, select.POLLIN)
                if poll.poll(max(0.0, deadline - time.monotonic()) * 1000):
                    self._liveness.forget(watched)
        return sorted(watched.directory.path.name for watched in self._liveness.watched.values())

    def release(self) -> None:
        for watched in self._liveness.watched.values():
            if watched.pidfd is not None:
                os.close(watched.pidfd)
        self._selector.close()
        os.close(self._wake)

    # ---- the thread

    def run(self) -> None:
        """Run until `end` is called in the thread."""
        try:
            self._attach()
            while not self._ending and not (self._ending_when_empty and not self._liveness.watched):
                self._round()
        except Exception as error:
            self.failure = error
            if self._failed is None:
                raise
            self._failed(error)

    def end(self) -> None:
        """Return from `run` after this round."""
        self._ending = True

    def end_when_empty(self) -> None:
        """Return from `run` when no container is left."""
        self._ending_when_empty = True

    def launch(self, order: LaunchOrder) -> None:
        """Start a container; if it was started before, only watch it."""
        try:
            directory = self._state.container(order.application_name, order.container_name)
        except ValueError as error:
            self.refuse(order.container, str(error))
            return
        watched = self._liveness.watched.get(str(directory.path))
        if watched is not None and watched.launch.launched_ms == order.launched_ms:
            return
        launch = adoption.read_launch(directory)
        if not adoption.is_of_this_life(directory, launch, order.launched_ms):
            if watched is not None:
                self._liveness.forget(watched)
            place = adoption.put_aside(self._state, directory)
            _log.warning("a container of the same name was in the way, and is now in %s", place)
        elif launch is not None and self._take(order.container, directory, launch):
            return
        if self._rooms.has_to_wait(order.node, order.resources):
            self._waiting.append(order)
        else:
            self._begin(order, directory)

    def refuse(self, container: ContainerId, words: str) -> None:
        """Report that a container cannot be started."""
        self._reports.ended(ContainerExited(container, ABORTED, words))

    def running(self) -> list[Running]:
        """The containers that have started and not ended."""
        return [
            Running(
                watched.container,
                watched.directory,
                watched.launch.environment.get("FAIRSHARE_USER", ""),
            )
            for watched in self._liveness.current.values()
            if watched.start_reported and not watched.stop_wanted
        ]

    def longest_grace_s(self) -> float:
        """The longest grace time of the containers, in seconds; called from any thread."""
        watched = list(self._liveness.watched.values())
        return max((one.launch.grace_ms / 1000 for one in watched), default=0.0)

    def stop(self, container: ContainerId, reason: str = "") -> None:
        """Order a container's supervisor to end it. `reason` is the diagnostics if the engine
        itself ends it."""
        watched = self._liveness.current.get(container)
        if watched is not None:
            if not watched.stop_wanted:
                watched.stop_reason = reason
            self._liveness.stop(watched)
            return
        for order in [order for order in self._waiting if order.container == container]:
            self._waiting.remove(order)
            words = "stopped before it started"
            self._reports.ended(ContainerExited(container, 128 + signal.SIGTERM, words))

    def end_idle(self, idle_s: Mapping[str, float], limits: Interactive) -> None:
        """End the containers all of whose GPUs, by name, have been idle for too long."""
        for watched in list(self._liveness.current.values()):
            launch = watched.launch
            queue = launch.environment.get(QUEUE_VARIABLE, "")
            limit_s = limits.idle_in(queue) / 1000
            if limit_s and launch.gpus and all(gpu in idle_s for gpu in launch.gpus):
                idle = min(idle_s[gpu] for gpu in launch.gpus)
                if idle >= limit_s and not watched.stop_wanted:
                    gpus = counted(len(launch.gpus), "GPU") if len(launch.gpus) > 1 else "GPU"
                    self.stop(
                        watched.container,
                        f"ended: it did not use its {gpus} for {limit_s:,.0f} s, the limit of"
                        f" {queue or 'this machine'} (gpu_idle_end_s in [engine])",
                    )

    def limit(self, container: ContainerId, time_limit_ms: int | None) -> None:
        """Change the time limit of a container that waits for its room or runs."""
        for place, order in enumerate(self._waiting):
            if order.container == container:
                self._waiting[place] = msgspec.structs.replace(order, time_limit_ms=time_limit_ms)
        watched = self._liveness.current.get(container)
        if watched is not None and not watched.stop_wanted:
            self._liveness.limit(watched, time_limit_ms)

    def stop_all(self) -> None:
        for order in list(self._waiting):
            self.stop(order.container)
        for watched in list(self._liveness.watched.values()):
            self._liveness.stop(watched)

    def _round(self) -> None:
        for key, _ in self._selector.select(self._pause_s()):
            if key.fd == self._wake:
                with contextlib.suppress(BlockingIOError):
                    os.eventfd_read(self._wake)
                self._woken = False  # only now: what is posted before is among the words below
            elif isinstance(key.data, Watched):
                self._liveness.settle(key.data)
            else:
                self._hear()
        self._words.extendleft(reversed(self._postponed))
        self._postponed.clear()
        while self._words:
            word = self._words.popleft()
            try:
                word()
            except OSError as error:
                _log.warning("an order has to wait: %s", error)
                self._postponed.append(word)
        for path in sorted(self._liveness.without_pidfd):
            self._liveness.recheck(self._liveness.watched[path])
        for look in (self._liveness.overdue, self._liveness.unattended):
            for watched in look.take():
                self._liveness.end_by_force(watched)
        if self._zygote_client.is_silent():
            _log.error("the process that starts containers does not answer, and is replaced")
            self._zygote_client.kill()

    def _use_room(self) -> None:
        """Start the containers that waited for room."""
        while self._waiting:
            self.post(partial(self.launch, self._waiting.popleft()))

    def _pause_s(self) -> float | None:
        if self._liveness.without_pidfd or self._postponed or self._zygote_client.unanswered:
            return _RECHECK_S
        looks = (self._liveness.overdue.next(), self._liveness.unattended.next())
        moment = min((look for look in looks if look is not None), default=None)
        return None if moment is None else max(0.0, moment - time.monotonic())

    # ---- starting containers

    def _begin(self, order: LaunchOrder, directory: ContainerDirectory) -> None:
        try:
            gpus = self._rooms.gpus.choose(order)
            if gpus is None:  # another container has them, and is watched
                self._waiting.append(order)
                return
            order = with_variables(self._state.path, order)
            # Hadoop's programs share them, as on a NodeManager.
            vcores = 0 if order.command.is_launch_context else order.vcores
            own = self._rooms.processors.choose(vcores, gpus)
            prepared = self._preparation.launch(order, directory, gpus, own)
            launch, secrets = prepared.without_secrets()
            owner = (launch.uid, launch.gid) if launch.account else None
            call = call_of(self._state.path, order.command, owner)
            if order.command.is_launch_context:
                self._state.make_shared(order.application_name, owner)
            directory.write_launch(launch.encode(), call, owner, secrets)
            # A supervisor that cannot write the outcome waits for room, and the next server for it.
            reserve(directory.exit, EXIT_BYTES)
            self._preparation.limits.fence(order.container_name, gpus)
            scratch = directory.scratch(order.container)
            if launch.private_tmp or launch.environment.get("TMPDIR") == str(scratch):
                if os.path.lexists(scratch):  # of a container of an earlier journal
                    self._discard_scratch(scratch)
                if launch.private_tmp:
                    self._state.make_private_tmp(Path(launch.private_tmp))
                else:
                    self._state.make_scratch(scratch, owner)
        except StartFailure as failure:
            directory.launch.unlink(missing_ok=True)
            directory.say(failure.diagnostics)
            self._reports.ended(
                ContainerExited(
                    order.container,
                    failure.exit_code,
                    failure.diagnostics,
                    cannot_start=failure.is_final,
                    node_failed=failure.of_node,
                )
            )
            return
        except OSError as error:
            self._removal.discard(directory.path)
            words = f"cannot write {directory.path}: {error.strerror}"
            of_node = error.errno != errno.EDQUOT  # which is the account's
            self._reports.ended(
                ContainerExited(order.container, DISK_FAILED, words, node_failed=of_node)
            )
            return
        self._liveness.watch(Watched(order.container, directory, launch))
        self._order(str(directory.path))

    def _order(self, path: str) -> None:
        if self._zygote_client.channel is None:
            try:
                self._zygote_client.start(self._zygote_client.await_silence())
            except (EngineError, OSError) as error:
                _log.error("no container can be started: %s", error)
                self._liveness.give_up(self._liveness.watched[path], cause(error))
                return
            self._attach()
        self._zygote_client.order(path)
        self._heed_backlog()

    def _take(self, container: ContainerId, directory: ContainerDirectory, launch: Launch) -> bool:
        """Continue with a container according to its files; False if it was never started."""
        match adoption.fate(directory):
            case adoption.Never():
                return False
            case adoption.Alive(pidfd):
                watched = self._liveness.watched.get(str(directory.path))
                if watched is None:
                    watched = Watched(container, directory, launch)
                    watched.earlier = True
                    self._liveness.watch(watched)
                    self._liveness.unattended.add(watched)
                self._liveness.set_pidfd(watched, pidfd)
                self._liveness.report_start(watched)
                return True
            case adoption.Finished(exited):
                pass
            case adoption.Orphaned(reason):
                exited = adoption.conclude(directory, container, launch, reason)
        self._reports.settle(directory, exited, launch)
        adoption.remove_empty_bases(launch, self._bases)
        return True

    # ---- the zygote's answers

    def _attach(self) -> None:
        assert self._zygote_client.channel is not None
        self._selector.register(self._zygote_client.channel, selectors.EVENT_READ)

    def _heed_backlog(self) -> None:
        """Wait for the channel to become writable only while orders wait."""
        if self._zygote_client.channel is not None:
            events = selectors.EVENT_READ
            if self._zygote_client.blocked:
                events |= selectors.EVENT_WRITE
            if self._selector.get_key(self._zygote_client.channel).events != events:
                self._selector.modify(self._zygote_client.channel, events)

    def _hear(self) -> None:
        channel = self._zygote_client.channel
        if channel is None:
            return
        answers, alive = self._zygote_client.receive()
        self._answers.extend(answers)
        while self._answers:
            self._answered(self._answers.popleft())
        if alive:
            self._zygote_client.flush()
            self._heed_backlog()
        else:
            self._selector.unregister(channel)
            self._replace_zygote()

    def _answered(self, answer: Answer) -> None:
        watched = self._liveness.watched.get(answer.path)
        if watched is None:  # it has ended meanwhile
            if answer.pidfd is not None:
                os.close(answer.pidfd)
        elif answer.kind == "started":
            self._liveness.report_start(watched)
        elif answer.kind == "failed":
            self._liveness.give_up(
                watched, f"cannot fork a supervisor: {os.strerror(answer.error)}"
            )
        elif answer.pidfd is None:
            self._liveness.without_pidfd.add(answer.path)
        else:
            self._liveness.set_pidfd(watched, answer.pidfd)

    def _replace_zygote(self) -> None:
        """Start another zygote, and handle the orders that the old one did not answer."""
        lost = [self._liveness.watched[path] for path in self._zygote_client.unanswered]
        _log.warning("the process that starts containers ended, and is replaced")
        try:
            self._zygote_client.restart()
        except (EngineError, OSError) as error:
            _log.error("no container can be started: %s", error)
            for watched in lost:
                self._liveness.give_up(watched, cause(error))
            return
        self._attach()
        for watched in self._liveness.watched.values():
            self._liveness.unattended.add(watched)
        for watched in lost:
            if not self._take(watched.container, watched.directory, watched.launch):
                self._order(str(watched.directory.path))
            elif watched.pidfd is None:
                self._liveness.forget(watched)
        for watched in list(self._liveness.watched.values()):
            if watched.pidfd is not None and watched.directory.pid.exists():
                self._liveness.report_start(watched)  # its message may be lost with the zygote
