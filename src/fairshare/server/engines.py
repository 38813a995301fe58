"""The creation of a server's engine. No other module outside `engines` names one."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from fairshare.engines.local.engine import LocalEngine
from fairshare.engines.local.gpus.chosen import choose
from fairshare.engines.local.gpus.found import find_gpus
from fairshare.engines.local.grants import Grants
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
        vcores_per_core=settings.node_manager.vcores_per_core,
        partition=settings.node_manager.partition,
        **Grants(settings, settings.node_manager).arguments(),
        **assigned,
    )
