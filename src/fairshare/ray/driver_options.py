"""Owns what a server says at the start to its Ray driver, and the driver to each agent."""

from typing import Any

import msgspec

from fairshare.engines.local.disk_usage import DiskLimits


class ContainerLimits(msgspec.Struct, frozen=True):
    """How agents run containers; see `LocalEngine`."""

    grace_ms: int = 250
    memory_check: bool = True
    strict_cpu: bool = False
    log_limit_mb: int = 256
    application_disk_mb: int = 0
    user_disk_mb: int = 0
    process_limit: int = 8192

    def arguments(self) -> dict[str, Any]:
        """The arguments of a local engine."""
        return {
            "grace_ms": self.grace_ms,
            "memory_check": self.memory_check,
            "strict_cpu": self.strict_cpu,
            "log_limit_mb": self.log_limit_mb,
            "process_limit": self.process_limit,
            "disk_limits": DiskLimits(self.application_disk_mb, self.user_disk_mb),
        }


class DriverOptions(msgspec.Struct, frozen=True):
    """`address` is Ray's, `cluster` names the agents of one state directory, `types` are the
    server's resource types. An agent fences itself after `fence_s` seconds (see `fence`)."""

    address: str
    types: tuple[str, ...]
    fence_s: float
    limits: ContainerLimits
    cluster: str = ""


class AgentOptions(msgspec.Struct, frozen=True):
    """`node` is Ray's identifier of the agent's node, `resources` is what it offers, in
    fairshare's types."""

    node: str
    cluster: str
    resources: dict[str, int]
    fence_s: float
    limits: ContainerLimits
