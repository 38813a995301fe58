"""The conversion of an order to the file that a supervisor reads: with the environment of its
container, and the Python callable that it runs.

Few variables are inherited, so that a container does not depend on how the server was started, and
does not see the server's secrets.

The server writes and deletes payloads of Python calls (`server/payloads.py`). Each payload is one
file, with a hard link in the directory of each container that runs it. The account of a user has a
copy of its own, since an account can change its own files.
"""

import contextlib
import os
import shutil
import signal as signal_numbers
import socket
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from fairshare.core.model.work import Command
from fairshare.engines.local.accounts import Account, find_account
from fairshare.engines.local.directories import ContainerDirectory
from fairshare.engines.local.gpus.found import AMD, NVIDIA
from fairshare.engines.local.images import Images
from fairshare.engines.local.launch import DIRECTORY_VARIABLE, Launch
from fairshare.engines.local.limits import INTERACTIVE, Interactive, Limits
from fairshare.engines.local.outcome import NOT_EXECUTABLE, NOT_FOUND, StartFailure
from fairshare.engines.local.private_mounts import PLACES
from fairshare.engines.local.state import private_tmp_in
from fairshare.engines.protocol import IDLE_VARIABLE, QUEUE_VARIABLE, LaunchOrder
from fairshare.wording import cause

INHERITED = (
    "HOME",
    "LANG",
    "LANGUAGE",
    "LC_ALL",
    "LC_CTYPE",
    "LOGNAME",
    "PATH",
    "SHELL",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "TMPDIR",
    "TZ",
    "USER",
)
_DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def inherited(server: Mapping[str, str]) -> dict[str, str]:
    """The variables that a container inherits from the server; PATH always exists."""
    return {"PATH": _DEFAULT_PATH} | {name: server[name] for name in INHERITED if name in server}


THREADS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "LOKY_MAX_CPU_COUNT",
    "POLARS_MAX_THREADS",
    "RAYON_NUM_THREADS",
)
"""How many threads libraries start, which by themselves take the number of all processors: numpy
and PyTorch (by OpenMP, OpenBLAS or MKL), numexpr, joblib, polars, programs in Rust."""


def threads(order: LaunchOrder) -> dict[str, str]:
    """A thread for each vcore, or as many as the command's OMP_NUM_THREADS says, since libraries
    prefer their own variables to that one; none for Hadoop's programs, which YARN starts without
    these."""
    if order.command.is_launch_context:
        return {}
    given = order.command.environment.get("OMP_NUM_THREADS", "")
    return dict.fromkeys(THREADS, given if given.isdigit() else str(max(order.vcores, 1)))


def environment(
    order: LaunchOrder,
    directory: Path,
    server: Mapping[str, str],
    account: Account | None = None,
    scratch: str = "",
) -> dict[str, str]:
    """The environment of a container: inherited, those for threads, the command's, the order's, and
    the container's own variables; later ones override earlier ones.

    Under another account than the server's it has that account's home, name and shell. Because of
    the order, a command that contains the environment of the container in which it was created
    cannot override the index of its own task.
    """
    variables = inherited(server)
    if scratch:
        variables["TMPDIR"] = scratch
    if account is not None:
        if not scratch:
            variables.pop("TMPDIR", None)  # it may be accessible to the server only
        variables |= {
            "HOME": account.home,
            "LOGNAME": account.name,
            "SHELL": account.shell,
            "USER": account.name,
        }
    return {
        **variables,
        **threads(order),
        **order.command.environment,
        "FAIRSHARE_NODE": order.node,  # an agent's order has the cluster's name of the node
        **order.environment,
        "FAIRSHARE_APPLICATION": order.application_name,
        "FAIRSHARE_CONTAINER": order.container_name,
        DIRECTORY_VARIABLE: str(directory),
        "FAIRSHARE_MEMORY_MB": str(order.memory_mb),
        "FAIRSHARE_VCORES": str(order.vcores),
    }


def with_variables(state: Path, order: LaunchOrder) -> LaunchOrder:
    """The order with the variables of its command that are not recorded; raises StartFailure."""
    command = order.command
    if command.variables is None:
        return order
    try:
        content = (state / command.variables.file).read_bytes()
    except OSError as error:
        raise StartFailure(
            NOT_FOUND,
            f"the environment that it took along cannot be read: {cause(error)}. Was the state"
            " directory copied without its payloads? Run it once more",
        ) from error
    variables = {**msgspec.json.decode(content, type=dict[str, str]), **command.environment}
    command = msgspec.structs.replace(command, environment=variables, variables=None)
    return msgspec.structs.replace(order, command=command)


OWN_COPIES = "users"
"""The directory, among the payloads, with a directory for each account."""


def forget_copies(payloads: Path, digest: str) -> None:
    """Delete the accounts' copies of a payload, as far as possible."""
    with contextlib.suppress(OSError):  # no copies: containers run under the server's account
        for user in os.scandir(payloads / OWN_COPIES):
            with contextlib.suppress(OSError):
                Path(user.path, digest).unlink()


def call_of(state: Path, command: Command, owner: tuple[int, int] | None) -> bytes | Path:
    """The content of the call's file, or a file with it; empty if the command is not a call.

    `owner` is the container's user and group, unless it runs as the server. Raises StartFailure if
    the payload is missing or incomplete, OSError if it cannot be read or copied.
    """
    payload = command.payload
    if payload is None:
        return command.callable
    shared = state / payload.file
    try:
        size = shared.stat().st_size
    except FileNotFoundError:
        raise StartFailure(
            NOT_FOUND,
            f"the Python call is gone: there is no file {shared}. Was the state directory copied"
            " without its payloads? Submit the call once more",
        ) from None
    if size != payload.size:
        raise StartFailure(
            NOT_FOUND,
            f"the Python call is damaged: {shared} has {size} bytes, not {payload.size};"
            " submit the call once more",
        )
    return shared if owner is None else _own_copy(shared, *owner)


def _own_copy(shared: Path, uid: int, gid: int) -> Path:
    folder = shared.parent / OWN_COPIES / str(uid)
    copy = folder / shared.name
    if copy.exists():
        return copy
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = copy.with_name(f"{copy.name}.new")
    draft.unlink(missing_ok=True)
    shutil.copyfile(shared, draft)
    draft.chmod(0o400)
    os.chown(draft, uid, gid)
    return draft.replace(copy)


ASSIGNED = "FAIRSHARE_GPUS"

_NOTHING = {
    ASSIGNED: "",
    "CUDA_VISIBLE_DEVICES": "",
    "NVIDIA_VISIBLE_DEVICES": "void",
    "ROCR_VISIBLE_DEVICES": "",
    "HIP_VISIBLE_DEVICES": "-1",
}


def gpu_variables(gpus: Sequence[str], vendor: str) -> dict[str, str]:
    """The variables of a container with these GPUs; without any they hide all GPUs.

    CUDA's indexes are those of the PCI bus, as nvidia-smi's. Of ROCm's variables
    ROCR_VISIBLE_DEVICES comes first: the others count what it leaves.

    >>> gpu_variables(("2", "3"), "nvidia")["CUDA_VISIBLE_DEVICES"]
    '2,3'
    """
    if not gpus:
        return dict(_NOTHING)
    names = ",".join(gpus)
    places = ",".join(str(place) for place in range(len(gpus)))
    cuda = {"CUDA_VISIBLE_DEVICES": names, "NVIDIA_VISIBLE_DEVICES": names}
    order = {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
    rocm = {"ROCR_VISIBLE_DEVICES": names, "HIP_VISIBLE_DEVICES": places}
    if vendor == NVIDIA:
        return {**_NOTHING, ASSIGNED: names, **cuda, **order}
    if vendor == AMD:
        return {**_NOTHING, ASSIGNED: names, **rocm, "CUDA_VISIBLE_DEVICES": places}
    return {ASSIGNED: names, **cuda, **order, **rocm}


_INVOCATION = Path(__file__).with_name("invocation.py")


class Preparation:
    """The settings that all containers of an engine share. `grace_ms` is from SIGTERM to SIGKILL,
    `log_limit_mb` the kept size of each stream (0: no limit); with `as_user` each container
    runs under the account of its application's user; with `no_new_privileges` none gains
    rights. `launcher` is the program for launch contexts. `gpu_vendor` is the vendor of the
    GPUs, empty: unknown, None: GPUs are not assigned; `images` runs commands in images;
    `interactive` is when terminals end; with `private_tmp` containers have a /tmp and a
    /dev/shm of their own."""

    def __init__(
        self,
        limits: Limits,
        server: Mapping[str, str],
        grace_ms: int,
        log_limit_mb: int = 0,
        *,
        as_user: bool = False,
        no_new_privileges: bool = False,
        launcher: Path | None = None,
        gpu_vendor: str | None = None,
        images: Images | None = None,
        interactive: Interactive = INTERACTIVE,
        private_tmp: bool = False,
    ) -> None:
        self.limits = limits
        self._server = dict(server)
        self._grace_ms = grace_ms
        self._log_limit_bytes = log_limit_mb * 1024 * 1024
        self._as_user = as_user
        self._no_new_privileges = no_new_privileges
        self._launcher = launcher
        self._gpu_vendor = gpu_vendor
        self._images = images or Images()
        self._interactive = interactive
        self._private_tmp = private_tmp

    def launch(
        self,
        order: LaunchOrder,
        directory: ContainerDirectory,
        gpus: tuple[str, ...] = (),
        processors: tuple[int, ...] = (),
    ) -> Launch:
        """The order for a supervisor; `gpus` and `processors` are the container's.

        A relative working directory is relative to the container's own. Raises StartFailure for a
        user without an account, or with another number than on the server's machine, and for an
        image that nothing here can run.
        """
        account = find_account(order.user) if self._as_user else None
        if account is not None and order.uid not in (None, account.uid):
            raise StartFailure(
                NOT_EXECUTABLE,
                f"the account {account.name!r} has the number {account.uid} on"
                f" {socket.gethostname()} and {order.uid} on the server's machine: machines that"
                " share homes need the same numbers",
            )
        limits = self.limits.container(order.container_name, order.memory_mb, order.vcores, gpus)
        vendor, command, signal = self._gpu_vendor, order.command, order.command.end_signal
        # Images have directories of their own, and programs of YARN are given theirs.
        own = command.image is not None or command.is_launch_context
        temporary = "" if own else str(directory.scratch(order.container))
        private = ""
        if self._private_tmp and not own:
            ids = (os.geteuid(), os.getegid()) if account is None else (account.uid, account.gid)
            private = str(private_tmp_in(directory.scratch(order.container), *ids))
            temporary = PLACES[0]
        idle_ms = self._interactive.idle_in(order.environment.get(QUEUE_VARIABLE, ""))
        launch = Launch(
            container=order.container,
            container_name=order.container_name,
            arguments=self._arguments(
                order, directory, directory.result if account is None else directory.returned
            ),
            environment={
                **environment(order, directory.path, self._server, account, temporary),
                **({} if vendor is None else gpu_variables(gpus, vendor)),
                IDLE_VARIABLE: str(idle_ms // 1000),
            },
            directory=str(directory.work / (order.command.directory or "")),
            memory_mb=order.memory_mb if limits.memory_checked else 0,
            memory_limit=limits.memory_limit,
            groups=limits.groups,
            kill_group=limits.kill_group,
            process_group=limits.process_group,
            process_limit=limits.process_limit,
            niceness=limits.niceness,
            time_limit_ms=order.time_limit_ms,
            grace_ms=self._grace_ms if command.grace_ms is None else command.grace_ms,
            signal=0 if signal is None else signal_numbers.Signals[f"SIG{signal.name}"],
            signal_before_ms=0 if signal is None else signal.before_ms or 0,
            signal_first=signal is not None and signal.first_process,
            log_limit_bytes=self._log_limit_bytes,
            account="" if account is None else account.name,
            node=order.node,
            resources=order.resources,
            launched_ms=order.launched_ms,
            gpus=gpus,
            processors=processors,
            private_tmp=private,
            other_directory=str(directory.work) if order.command.directory_optional else "",
            terminal=command.terminal,
            idle_ms=idle_ms if command.terminal else 0,
            detached_ms=self._interactive.detached_ms if command.terminal else 0,
            umask=-1 if order.command.umask is None else order.command.umask,
            limits=dict(order.command.limits.items()),
            output=order.command.output or "",
            error=order.command.error or "",
            input=order.command.input or "",
            uid=-1 if account is None else account.uid,
            gid=-1 if account is None else account.gid,
            supplementary=() if account is None else account.groups(),
            no_new_privileges=self._no_new_privileges,
        )
        if command.image is None:
            return launch
        wrapped = self._images.wrapped(
            order, launch.environment, directory.path, limits, account, gpus, vendor, processors
        )
        if wrapped.passes_signals:
            first = signal_numbers.SIGTERM if signal is None else launch.signal
            launch = launch._replace(memory_limit="watch", signal=first, signal_first=True)
        return launch._replace(
            arguments=wrapped.arguments,
            environment=wrapped.environment,
            image=command.image,
            at_end=wrapped.at_end,
        )

    def _arguments(
        self, order: LaunchOrder, directory: ContainerDirectory, result: Path
    ) -> tuple[str, ...]:
        if order.command.is_launch_context:
            if self._launcher is None:
                raise StartFailure(
                    NOT_EXECUTABLE,
                    "a launch context of YARN cannot run here: the server was started without the"
                    " ports for Hadoop's clients",
                )
            return (sys.executable, "-P", str(self._launcher), str(directory.call))
        if not order.command.is_callable:
            return order.command.arguments
        # -P: modules beside the program cannot be imported by their bare names.
        python = order.command.python or sys.executable
        program = (python, "-P", str(_INVOCATION))
        if result == directory.returned:
            result /= directory.result.name
        return (*program, str(directory.call), str(result))
