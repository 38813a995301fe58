"""Owns which engine a server has: what it does beside the protocol, how the local one is made."""

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from fairshare.engines.local.directories import ContainerDirectory
from fairshare.engines.local.disk_usage import DiskLimits
from fairshare.engines.local.engine import LocalEngine
from fairshare.engines.protocol import Engine
from fairshare.live.settings import LiveSettings


class FilingEngine(Engine, Protocol):
    """An engine whose containers leave files on this machine."""

    def files(self, application_name: str, container_name: str) -> ContainerDirectory:
        """Where the logs, the result and the exit of a container are, if it has any."""

    def trouble(self) -> str:
        """Why it cannot begin containers now; empty if it can."""

    def prune(self, application_name: str) -> None:
        """Delete the files of an application that has finished; raises EngineError."""


EngineMaker = Callable[[LiveSettings, Path], FilingEngine]


def local_engine(settings: LiveSettings, state_directory: Path) -> FilingEngine:
    """The engine that runs containers on this machine. Sizes are told it for all nodes together."""
    memory_mb, vcores, nodes = settings.memory_mb, settings.vcores, settings.nodes
    node_manager = settings.node_manager
    further = {name: settings.resources.get(name, 0) * nodes for name in settings.types.names[2:]}
    return LocalEngine(
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
        disk_limits=DiskLimits(settings.application_disk_mb, settings.user_disk_mb),
    )
