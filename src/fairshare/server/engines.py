"""The creation of a server's engine. No other module outside `engines` names one."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from fairshare.engines.local.disk_usage import DiskLimits
from fairshare.engines.local.engine import LocalEngine
from fairshare.engines.local.gpus.chosen import choose
from fairshare.engines.local.gpus.found import find_gpus
from fairshare.engines.local.images import Images
from fairshare.engines.local.limits import Interactive
from fairshare.engines.local.sessions.opening import Aside
from fairshare.engines.protocol import CommandAside, HostEngine
from fairshare.server.settings import LiveSettings

EngineMaker = Callable[[LiveSettings, Path], HostEngine]


Local = TypeVar("Local", bound=LocalEngine)


def local_engine(settings: LiveSettings, state_directory: Path) -> HostEngine:
    """The engine that runs containers on this machine."""
    return made_local(LocalEngine, settings, state_directory)


def command_aside(
    engine: HostEngine, log: Path, arguments: tuple[str, ...], environment: dict[str, str],
    user: str | None, *, limited: bool,
) -> CommandAside:  # fmt: skip
    """A short command on the server's machine, under the account of a user or the server's (None).
    If it is limited, it has the limits of a small container, where the engine has such limits."""
    local = engine if isinstance(engine, LocalEngine) else None
    return Aside(
        arguments,
        environment,
        log=log,
        user=user,
        limits=local.limits if local is not None and limited else None,
        no_new_privileges=local is not None and local.no_new_privileges,
    )


def made_local(kind: type[Local], settings: LiveSettings, state_directory: Path) -> Local:
    """A local engine of this class. Its sizes are those of all nodes together."""
    memory_mb, vcores, nodes = settings.memory_mb, settings.vcores, settings.nodes
    node_manager = settings.node_manager
    further = {name: settings.resources.get(name, 0) * nodes for name in settings.types.names[2:]}
    assigned: dict[str, Any] = {}
    if settings.gpus != "none":
        assigned["gpus"] = choose(settings.gpus, find_gpus(), settings.types.names, os.environ)
    return kind(
        state_directory,
        nodes=nodes,
        memory_mb=None if memory_mb is None else memory_mb * nodes,
        vcores=None if vcores is None else vcores * nodes,
        resources=further,
        memory_check=node_manager.memory_check,
        strict_cpu=node_manager.strict_cpu,
        grace_ms=node_manager.grace_ms,
        log_limit_mb=settings.log_limit_mb,
        vcores_per_core=node_manager.vcores_per_core,
        partition=node_manager.partition,
        run_as=settings.run_as,
        process_limit=settings.process_limit,
        no_new_privileges=settings.no_new_privileges,
        interactive=Interactive(
            settings.interactive_idle_s * 1000,
            settings.interactive_detached_s * 1000,
            {
                queue: idle_s * 1000
                for queue, idle_s in settings.interactive_idle_by_queue_s.items()
            },
        ),
        images=Images(settings.image_program, settings.image_options),
        disk_limits=DiskLimits(
            settings.application_disk_mb,
            settings.user_disk_mb,
            settings.application_kept_containers,
            settings.user_kept_containers,
        ),
        **assigned,
    )
