"""Owns the conversion of an order to the file that a supervisor reads. Starts no process."""

import signal as signal_numbers
import sys
from collections.abc import Mapping
from pathlib import Path

from fairshare.engines.local.accounts import find_account
from fairshare.engines.local.directories import ContainerDirectory
from fairshare.engines.local.environment import environment
from fairshare.engines.local.gpus.variables import variables
from fairshare.engines.local.images import Images
from fairshare.engines.local.launch import Launch
from fairshare.engines.local.limits import INTERACTIVE, Interactive, Limits
from fairshare.engines.local.outcome import NOT_EXECUTABLE, StartFailure
from fairshare.engines.protocol import IDLE_VARIABLE, QUEUE_VARIABLE, LaunchOrder

_INVOCATION = Path(__file__).with_name("invocation.py")


class Preparation:
    """The settings that all containers of an engine share. `grace_ms` is from SIGTERM to SIGKILL,
    `log_limit_mb` the kept size of each stream (0: no limit); with `as_user` each container
    runs under the account of its application's user; with `no_new_privileges` none gains
    rights. `launcher` is the program for launch contexts. `gpu_vendor` is the vendor of the
    GPUs, empty: unknown, None: GPUs are not assigned; `images` runs commands in images;
    `interactive` is when terminals end."""

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
    ) -> None:
        self._limits = limits
        self._server = dict(server)
        self._grace_ms = grace_ms
        self._log_limit_bytes = log_limit_mb * 1024 * 1024
        self._as_user = as_user
        self._no_new_privileges = no_new_privileges
        self._launcher = launcher
        self._gpu_vendor = gpu_vendor
        self._images = images or Images()
        self._interactive = interactive

    def launch(
        self, order: LaunchOrder, directory: ContainerDirectory, gpus: tuple[str, ...] = ()
    ) -> Launch:
        """The order for a supervisor; `gpus` are the container's.

        A relative working directory is relative to the container's own. Raises StartFailure for a
        user without an account, and for an image that nothing here can run.
        """
        account = find_account(order.user) if self._as_user else None
        limits = self._limits.container(order.container_name, order.memory_mb, order.vcores, gpus)
        vendor, command, signal = self._gpu_vendor, order.command, order.command.end_signal
        idle_ms = self._interactive.idle_in(order.environment.get(QUEUE_VARIABLE, ""))
        launch = Launch(
            container=order.container,
            container_name=order.container_name,
            arguments=self._arguments(
                order, directory, directory.result if account is None else directory.returned
            ),
            environment={
                **environment(order, directory.path, self._server, account),
                **({} if vendor is None else variables(gpus, vendor)),
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
            order, launch.environment, directory.path, limits, account, gpus, vendor
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
