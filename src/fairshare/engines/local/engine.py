"""The local engine, which offers this machine as nodes, takes orders and makes reports.

`launch` and `stop` only enqueue orders for the engine's thread (`watcher`). That thread makes the
reports, except those of containers that ended while no server ran, which `start` makes.
"""

import fcntl
import os
import queue
import socket
import sys
import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Literal

import msgspec

from fairshare.core.model.identifiers import ContainerId, parse_container
from fairshare.core.model.inputs import ContainerExited, Input
from fairshare.core.model.resources import MEMORY, VCORES
from fairshare.core.model.work import PAYLOADS, Command
from fairshare.engines.local import accounts, machine, private_mounts
from fairshare.engines.local import compiled as program
from fairshare.engines.local.accounts import interpreter_problem
from fairshare.engines.local.adoption import Alive, Never, fate, read_exit
from fairshare.engines.local.directories import ContainerDirectory
from fairshare.engines.local.disk_usage import UNLIMITED, DiskLimits, DiskUsage, Running
from fairshare.engines.local.ending import EndingRoom
from fairshare.engines.local.gpus.chosen import ChosenGpus
from fairshare.engines.local.gpus.engine import EngineGpus
from fairshare.engines.local.gpus.fence import CGROUPS_OFF
from fairshare.engines.local.hierarchies import (
    Hierarchies,
    Mounts,
    choose,
    memory_limit_bytes,
    own_mounts,
)
from fairshare.engines.local.images import Images
from fairshare.engines.local.limits import INTERACTIVE, NEVER, Interactive, Limits
from fairshare.engines.local.outcome import StartFailure
from fairshare.engines.local.preparation import Preparation, forget_copies
from fairshare.engines.local.processes import is_alive
from fairshare.engines.local.processors import OwnProcessors, find_processors, memories_of
from fairshare.engines.local.removal import Removal
from fairshare.engines.local.reports import KeptFiles, Reports
from fairshare.engines.local.sessions.opening import open_command, open_terminal
from fairshare.engines.local.state import StateDirectory
from fairshare.engines.local.watcher import Watcher
from fairshare.engines.local.zygote_client import ZygoteClient
from fairshare.engines.protocol import GpuUse, HostEngine, Launched, LaunchOrder, NodeOffer
from fairshare.errors import AccountsUnavailable, EngineError
from fairshare.wording import cause

Enforcement = Literal["auto", "cgroup", "watch"]

DEFAULT_GRACE_MS = 250
"""From SIGTERM to SIGKILL, as Hadoop's sleep-delay-before-sigkill.ms."""

_PATIENCE_S = 30.0
_LOCK_PAUSE_S = 0.02
_LOCK_PATIENCE_S = 0.5


class LocalEngine(HostEngine):
    """Runs containers as processes on this machine, with one state directory.

    * `nodes`: the number of nodes as which the machine is offered; memory and vcores are split
      evenly.
    * `memory_mb`, `vcores`: the total of all nodes; by default four fifths of the memory available
      to the server, and the processors available to it, each worth `vcores_per_core` (Hadoop's
      pcores-vcores-multiplier). `resources` are further types, which are offered and counted but
      not enforced.
    * `enforcement`: `auto` uses cgroups if they work, `cgroup` requires them for memory and CPU,
      `watch` does not use them.
    * `memory_check` False disables memory limits (Hadoop's pmem-check-enabled).
    * `strict_cpu` True limits containers to their vcores even when others are idle (Hadoop's
      strict-resource-usage); it needs a cgroup.
    * `process_limit`: the maximum of processes and threads of a container, if a cgroup can enforce
      it; 0: no limit.
    * `no_new_privileges`: nothing in a container gains rights by set-user-id programs.
    * `disk_limits`: the limits of the disk usage of containers' directories.
    * `compiled` False leaves the compiled supervisor alone, even where it was built.
    * `run_as`: `server`, or `user` for the account of the user who submitted the application.
    * `gpus`: the GPUs that are assigned to containers, each to one; they are amounts of the nodes,
      split as all others. None: GPUs are not assigned.
    * `private_tmp`: containers have a /tmp and a /dev/shm of their own, but not those in images and
      those of YARN.
    * `own_processors`: containers run on as many processors of their own as they have vcores, if a
      vcore is a processor: there are not more vcores than processors.
    * `gpu_busy_mb`: a GPU of which more is in use, though no container has it, is not assigned; 0:
      that does not matter. `gpu_idle`: when containers end that do not use their GPUs.
    * `images`: what runs commands in images; `interactive`: when containers with a terminal end.

    Raises EngineError for impossible settings.
    """

    launcher: Path | None = None
    """The program that runs launch contexts of YARN, given a file; None: they are refused."""

    _file_limit: tuple[int, int]  # the RLIMIT_NOFILE of containers, once it is started
    _lock: int | None = None
    _zygote_client: ZygoteClient | None = None
    _reports: Reports | None = None
    _watcher: Watcher | None = None
    _thread: threading.Thread | None = None

    def __init__(
        self,
        state_directory: Path,
        *,
        nodes: int = 1,
        memory_mb: int | None = None,
        vcores: int | None = None,
        resources: Mapping[str, int] | None = None,
        rack: str = "/default-rack",
        enforcement: Enforcement = "auto",
        memory_check: bool = True,
        strict_cpu: bool = False,
        grace_ms: int = DEFAULT_GRACE_MS,
        log_limit_mb: int = 0,
        vcores_per_core: float = 1.0,
        partition: str = "",
        run_as: str = "server",
        disk_limits: DiskLimits = UNLIMITED,
        process_limit: int = 0,
        no_new_privileges: bool = False,
        own_processors: bool = True,
        private_tmp: bool = False,
        compiled: bool = True,
        gpus: ChosenGpus | None = None,
        images: Images | None = None,
        interactive: Interactive = INTERACTIVE,
        gpu_busy_mb: int = 0,
        gpu_idle: Interactive = NEVER,
    ) -> None:
        if not sys.platform.startswith("linux"):
            raise EngineError(
                "the local engine needs Linux: it watches processes through /proc and pidfds"
            )
        self._state = StateDirectory(state_directory)
        mounts, group = own_mounts(), self._state.group_name
        hierarchies = _hierarchies(enforcement, group, mounts)
        names = machine.node_names(nodes)
        self._gpus = EngineGpus(gpus, names, group, mounts, hierarchies, gpu_busy_mb)
        self._gpu_idle = gpu_idle
        memory_limit, cpus = memory_limit_bytes(mounts), machine.processors()
        amounts = {
            MEMORY: machine.default_memory_mb(memory_limit) if memory_mb is None else memory_mb,
            VCORES: machine.vcores_of(cpus, vcores_per_core) if vcores is None else vcores,
            **(resources or {}),
            **self._gpus.amounts,
        }
        self.limits = Limits(
            group,
            hierarchies or Hierarchies(notes=(CGROUPS_OFF,)),
            vcores=amounts[VCORES],
            cpus=cpus,
            memory_check=memory_check,
            strict_cpu=strict_cpu,
            process_limit=process_limit,
            fence=self._gpus.fence,
        )
        self._private_tmp = private_tmp
        if private_tmp and (problem := private_mounts.problem(self._state.path)):
            raise EngineError(f"private_tmp: {problem}. Set it to false in [engine]")
        self._processors = OwnProcessors()
        if own_processors and machine.are_processors(vcores, vcores_per_core):
            self._processors = OwnProcessors(find_processors(), memories_of(gpus))
        self._program = compiled and program.exists()
        self._images, self._interactive = images or Images(), interactive
        self._as_user, self.no_new_privileges = run_as == "user", no_new_privileges
        attributes = self._attributes(partition)
        offers = machine.offers(nodes, amounts, rack, attributes)
        self._offers = tuple(map(self._gpus.described, offers))
        self._names = frozenset(offer.node for offer in self._offers)
        self._grace_ms, self._log_limit_mb = grace_ms, log_limit_mb
        self._removal = Removal(self._state)
        self._kept = KeptFiles(self._state, disk_limits, self._removal.discard)
        order = self._stop_for_size, self._removal.discard
        self._disk_usage = DiskUsage(self._state, disk_limits, self._running_now, *order)

    def _attributes(self, partition: str) -> dict[str, str]:
        """What nodes say of the engine. Raises EngineError if accounts cannot be switched."""
        attributes = {**self.limits.attributes, "run-as": machine.user_name()}
        attributes |= self._images.attributes
        attributes["processors"] = "own" if self._processors.chosen else "shared"
        attributes["supervisor"] = "compiled" if self._program else "python"
        if self._as_user:
            accounts.check_switch(self._state.path)
            attributes["run-as"] = accounts.SUBMITTING_USER
        if partition:
            attributes["partition"] = partition
        return attributes

    def nodes(self) -> tuple[NodeOffer, ...]:
        """This machine's nodes; their `attributes` name the limits in force."""
        return self._offers

    def gpus(self) -> tuple[GpuUse, ...]:
        """The GPUs of all nodes, as of the last sample."""
        return self._gpus.uses()

    def start(
        self,
        report: Callable[[Input], None],
        *,
        launched: Launched | None = None,
        failed: Callable[[Exception], None] | None = None,
    ) -> None:
        """Take over the state directory and start the engine's thread.

        Before it returns, the engine adopts the containers of an earlier server: a running one is
        in `running()` and reported as started, an ended one is reported as exited. All others that
        were ordered never started, and can be ordered again. Containers unknown to `launched` are
        killed, and their files moved to `abandoned`. Raises EngineError if another server uses the
        directory, or a required resource is missing.
        """
        if self._watcher is not None:
            raise EngineError("this engine was started before")
        self._take_directory()
        limit = self._file_limit = machine.raise_file_limit()
        zygote_client = ZygoteClient(
            self._state, os.environ, limit, self.limits.bases, program=self._program
        )
        preparation = Preparation(
            self.limits,
            os.environ,
            self._grace_ms,
            self._log_limit_mb,
            as_user=self._as_user,
            no_new_privileges=self.no_new_privileges,
            launcher=self.launcher,
            gpu_vendor=self._gpus.vendor,
            images=self._images,
            interactive=self._interactive,
            private_tmp=self._private_tmp,
        )
        reports = Reports(report, self._kept)
        rooms = EndingRoom(self._offers, self._gpus.unassigned(), self._processors)
        parts = (self.limits.bases, rooms, self._removal)
        watcher = Watcher(self._state, preparation, zygote_client, reports, *parts, failed)
        try:
            lock = zygote_client.await_silence()
            self.limits.prepare()
            zygote_client.start(lock)
            watcher.adopt(launched, self._kept)
        except BaseException as error:
            zygote_client.close()
            watcher.release()
            self._leave_directory()
            if isinstance(error, OSError):
                words = f"cannot take over {self._state.containers}: {cause(error)}"
                raise EngineError(words) from error
            raise
        self._zygote_client, self._reports, self._watcher = zygote_client, reports, watcher
        self._thread = threading.Thread(target=watcher.run, name="local-engine", daemon=True)
        self._thread.start()
        self._disk_usage.start()
        self._removal.start()
        self._gpus.start(self._end_idle)

    def _running_now(self) -> list[Running]:
        """The running containers, queried from the engine's thread; called from another thread."""
        watcher, answers = self._watcher, queue.SimpleQueue[list[Running]]()
        if watcher is None or self._thread is None:
            return []
        watcher.post(lambda: answers.put(watcher.running()))
        try:
            return answers.get(timeout=_PATIENCE_S)
        except queue.Empty:  # the thread is ending, or very busy
            return []

    def _stop_for_size(self, container: ContainerId, reason: str) -> None:
        if self._watcher is not None:
            self._watcher.post(partial(self._watcher.stop, container, reason))

    def _end_idle(self, uses: tuple[GpuUse, ...]) -> None:
        """End containers that do not use their GPUs for too long; called from another thread."""
        idle_s = {use.name: use.idle_s for use in uses if use.idle_s is not None}
        if self._watcher is not None and idle_s:
            self._watcher.post(partial(self._watcher.end_idle, idle_s, self._gpu_idle))

    def launch(self, order: LaunchOrder) -> None:
        """Start a container. Idempotent: a running container is left alone, an ended one is
        reported again.

        A container that cannot be started is reported as exited, with the reason.
        """
        watcher = self._working()
        assert self._reports is not None
        self._reports.hold(order.container)
        if order.node in self._names:
            watcher.post(partial(watcher.launch, order))
        else:
            words = f"this engine has no node {order.node!r}, only {', '.join(sorted(self._names))}"
            watcher.post(partial(watcher.refuse, order.container, words))

    def stop(self, container: ContainerId) -> None:
        """End a container with all its processes: SIGTERM, and SIGKILL after the grace time.

        Its exit code is then 143 or 137, whatever the process returns. Unknown ones are ignored.
        """
        watcher = self._working()
        watcher.post(partial(watcher.stop, container))

    def limit(self, container: ContainerId, time_limit_ms: int | None) -> None:
        """End a container after so long from its start; None: not at all."""
        watcher = self._working()
        watcher.post(partial(watcher.limit, container, time_limit_ms))

    def signal(self, container: ContainerId, command: str) -> None:
        """Either way to end a container is `stop`. Raises EngineError for a dump of threads."""
        if command == "OUTPUT_THREAD_DUMP":
            raise EngineError(
                "a process is not asked for its threads here: it may be no Java at all"
            )
        self.stop(container)

    def running(self) -> frozenset[ContainerId]:
        """The containers that were ordered or adopted, and not reported as exited.

        To reconcile after `start`, call this, then process the reports made so far; a container in
        neither never ran.
        """
        return self._reports.held() if self._reports is not None else frozenset()

    def trouble(self) -> str:
        """Why the engine cannot start containers now; empty if it can, or is not started."""
        if self._watcher is None or self._zygote_client is None or self._thread is None:
            return ""
        if self._watcher.failure is not None:
            return "its thread ended"
        return self._zygote_client.trouble()

    def close(self, *, stop_containers: bool) -> None:
        """Stop the engine's thread. Containers continue for the next server unless
        `stop_containers`.

        With `stop_containers` no process is left when it returns; raises EngineError if one cannot
        be killed. Idempotent.
        """
        watcher, thread, zygote_client = self._watcher, self._thread, self._zygote_client
        if watcher is None or thread is None or zygote_client is None:
            return
        self._disk_usage.close()
        self._removal.close()
        self._gpus.close()
        if stop_containers:
            watcher.post(watcher.stop_all)
            watcher.post(watcher.end_when_empty)
        else:
            watcher.post(watcher.end)
        thread.join(_PATIENCE_S + (watcher.longest_grace_s() if stop_containers else 0.0))
        left = ["the engine's thread"] if thread.is_alive() else []
        if not left and stop_containers:  # only if the thread has failed
            left = watcher.end_remaining(_PATIENCE_S)
        if left:
            raise EngineError(f"cannot be ended: {', '.join(left)}; it may wait for a device")
        if stop_containers:
            zygote_client.close()
        else:
            zygote_client.leave()
        watcher.release()
        self.limits.dispose()
        self._leave_directory()
        self._thread = None

    def prune(self, application_name: str) -> None:
        """Have the directories of a finished application deleted: they are gone from their place
        when this returns.

        Raises EngineError, and deletes nothing, if one of its containers still runs.
        """
        try:
            path = self._state.application(application_name)
        except ValueError as error:
            raise EngineError(str(error)) from None
        for name in self._state.names(application_name):
            try:
                state = fate(ContainerDirectory(path / name))
            except OSError as error:
                raise EngineError(f"what {name} does cannot be seen: {cause(error)}") from error
            begins = isinstance(state, Never) and parse_container(name) in self.running()
            if isinstance(state, Alive):
                os.close(state.pidfd)
            if begins or isinstance(state, Alive):
                raise EngineError(f"{name} still runs; stop it before its files are deleted")
        self._removal.discard(path)
        self._removal.discard(self._state.shared(application_name))
        if self._watcher is not None:
            self._watcher.post(partial(self._kept.forget, application_name))

    def shared_directory(self, application_name: str) -> Path:
        """The directory that containers with launch contexts of one application share."""
        return self._state.shared(application_name)

    def discard_shared(self, application_name: str) -> None:
        """Have this directory deleted, when all containers have begun that were ordered before."""
        watcher, path = self._working(), self._state.shared(application_name)
        watcher.post(partial(self._removal.discard, path))

    def shared_names(self) -> list[str]:
        """The applications that have such a directory."""
        return self._state.shared_names()

    def files(self, application_name: str, container_name: str) -> ContainerDirectory:
        """The files of a container's logs and result; raises EngineError for an invalid name."""
        return self._directory(application_name, container_name)

    def open_command(
        self, application_name: str, container_name: str, ended: Callable[[], None]
    ) -> socket.socket:
        """A connection to a new process that runs a command in a container; raises InputError."""
        self._working()
        directory = self._directory(application_name, container_name)
        return open_command(directory, self._state.zygote_log, self._file_limit, ended)

    def open_terminal(self, application_name: str, container_name: str) -> socket.socket:
        """A connection to the terminal of a container; raises InputError."""
        self._working()
        return open_terminal(self._directory(application_name, container_name))

    def exit_of(
        self, container: ContainerId, application_name: str, container_name: str
    ) -> ContainerExited | None:
        """How a container that is not running ended, if its files say so; raises EngineError."""
        files = self._directory(application_name, container_name)
        try:
            exited = read_exit(files)
        except OSError as error:
            raise EngineError(f"cannot read {files.exit}: {cause(error)}") from error
        return exited and msgspec.structs.replace(exited, container=container)

    def account_problem(self, user: str) -> str:
        """Why a user's containers cannot run; empty if they can. Raises AccountsUnavailable."""
        if self._as_user:
            try:
                accounts.find_account(user)
            except StartFailure as failure:
                return _final(failure)
        return ""

    def command_problem(self, user: str, command: Command) -> str:
        """Why a user cannot run a command in its image, or by its interpreter; empty if there is no
        problem."""
        if command.image is not None and self._images.problem:
            return self._images.problem
        if command.python is None:
            return ""
        try:
            account = accounts.find_account(user) if self._as_user else None
        except StartFailure as failure:
            return _final(failure)
        return interpreter_problem(command.python, account)

    def forget_payload(self, digest: str) -> None:
        """Delete the accounts' copies of a payload."""
        forget_copies(self._state.path / PAYLOADS, digest)

    def _directory(self, application_name: str, container_name: str) -> ContainerDirectory:
        try:
            return self._state.container(application_name, container_name)
        except ValueError as error:
            raise EngineError(str(error)) from None

    def _working(self) -> Watcher:
        if self._watcher is None or self._thread is None:
            raise EngineError("the local engine is not started")
        if self._watcher.failure is not None:
            raise EngineError(
                f"the local engine's thread ended: {self._watcher.failure!r}"
            ) from self._watcher.failure
        return self._watcher

    def _take_directory(self) -> None:
        try:
            self._state.create()
            if self._as_user:
                accounts.open_way(self._state.path, *self._state.opened)
            else:
                accounts.close_way(self._state.path)
            lock = os.open(self._state.engine_lock, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise EngineError(
                f"cannot use the state directory {self._state.path}: {error.strerror}"
            ) from error
        try:
            _lock(lock)
        except BlockingIOError:
            holder = os.read(lock, 32).decode() or "unknown"
            os.close(lock)
            raise EngineError(
                f"the state directory {self._state.path} is in use by process {holder}; "
                "stop that server, or use another directory"
            ) from None
        number = str(os.getpid()).encode()
        os.pwrite(lock, number, 0)  # first: a full disk has room for no more than that
        os.ftruncate(lock, len(number))
        self._lock = lock

    def _leave_directory(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def _final(failure: StartFailure) -> str:
    """Why a command can never start; raises the cause of what is not known now."""
    if isinstance(failure.__cause__, AccountsUnavailable):
        raise failure.__cause__
    return failure.diagnostics


def _lock(descriptor: int) -> None:
    """Take the lock; raises BlockingIOError if a server holds it. Waits for the cleanup after a
    killed server, which holds it for a short time, or longer on a busy machine."""
    began_s = time.monotonic()
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            written = os.pread(descriptor, 32, 0)
            ended = written.isdigit() and not is_alive(int(written))
            if time.monotonic() - began_s > (_PATIENCE_S if ended else _LOCK_PATIENCE_S):
                raise
            time.sleep(_LOCK_PAUSE_S)
        else:
            return


def _hierarchies(enforcement: Enforcement, name: str, mounts: Mounts) -> Hierarchies | None:
    if enforcement == "watch":
        return None
    hierarchies = choose(name, mounts)
    if enforcement == "cgroup" and (hierarchies.memory is None or hierarchies.cpu is None):
        raise EngineError(
            "cgroups are demanded and cannot be used: "
            + ("; ".join(hierarchies.notes) or "none found")
        )
    return hierarchies
