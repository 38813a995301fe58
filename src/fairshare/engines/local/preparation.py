"""Owns the conversion of an order to the file that a supervisor reads. Starts no process."""

import sys
from collections.abc import Mapping
from pathlib import Path

from fairshare.engines.local.accounts import find_account
from fairshare.engines.local.directories import ContainerDirectory
from fairshare.engines.local.environment import environment
from fairshare.engines.local.launch import Launch
from fairshare.engines.local.limits import Limits
from fairshare.engines.local.outcome import NOT_EXECUTABLE, StartFailure
from fairshare.engines.protocol import LaunchOrder

_INVOCATION = Path(__file__).with_name("invocation.py")


class Preparation:
    """The settings that all containers of an engine share. `grace_ms` is from SIGTERM to SIGKILL,
    `log_limit_mb` the kept size of each stream (0: no limit); with `as_user` each container runs
    under the account of its application's user. `launcher` is the program for launch contexts."""

    def __init__(
        self,
        limits: Limits,
        server: Mapping[str, str],
        grace_ms: int,
        log_limit_mb: int = 0,
        *,
        as_user: bool = False,
        launcher: Path | None = None,
    ) -> None:
        self._limits = limits
        self._server = dict(server)
        self._grace_ms = grace_ms
        self._log_limit_bytes = log_limit_mb * 1024 * 1024
        self._as_user = as_user
        self._launcher = launcher

    def launch(self, order: LaunchOrder, directory: ContainerDirectory) -> Launch:
        """The order for a supervisor.

        A relative working directory is relative to the container's own. Raises StartFailure for a
        user without an account.
        """
        account = find_account(order.user) if self._as_user else None
        limits = self._limits.container(order.container_name, order.memory_mb, order.vcores)
        return Launch(
            container=order.container,
            container_name=order.container_name,
            arguments=self._arguments(
                order, directory, directory.result if account is None else directory.returned
            ),
            environment=environment(order, directory.path, self._server, account),
            directory=str(directory.work / (order.command.directory or "")),
            memory_mb=order.memory_mb if limits.memory_checked else 0,
            memory_limit=limits.memory_limit,
            groups=limits.groups,
            kill_group=limits.kill_group,
            process_group=limits.process_group,
            process_limit=limits.process_limit,
            niceness=limits.niceness,
            time_limit_ms=order.time_limit_ms,
            grace_ms=self._grace_ms,
            log_limit_bytes=self._log_limit_bytes,
            account="" if account is None else account.name,
            node=order.node,
            resources=order.resources,
            launched_ms=order.launched_ms,
            uid=-1 if account is None else account.uid,
            gid=-1 if account is None else account.gid,
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
        program = (sys.executable, "-P", str(_INVOCATION))
        if result == directory.returned:
            result /= directory.result.name
        return (*program, str(directory.call), str(result))
