"""Owns what a server says at the start to its Ray driver, and the driver to each agent."""

from typing import Any

import msgspec

from fairshare.engines.local.disk_usage import DiskLimits
from fairshare.engines.local.images import Images


class ContainerLimits(msgspec.Struct, frozen=True):
    """How agents run containers; see `LocalEngine`."""

    grace_ms: int = 250
    memory_check: bool = True
    strict_cpu: bool = False
    log_limit_mb: int = 256
    application_disk_mb: int = 0
    user_disk_mb: int = 0
    process_limit: int = 8192
    image_program: str = "auto"
    image_options: tuple[str, ...] = ()

    def arguments(self) -> dict[str, Any]:
        """The arguments of a local engine."""
        return {
            "grace_ms": self.grace_ms,
            "memory_check": self.memory_check,
            "strict_cpu": self.strict_cpu,
            "log_limit_mb": self.log_limit_mb,
            "process_limit": self.process_limit,
            "images": Images(self.image_program, self.image_options),
            "disk_limits": DiskLimits(self.application_disk_mb, self.user_disk_mb),
        }


class DriverOptions(msgspec.Struct, frozen=True):
    """`address` is Ray's, `cluster` names the agents of one state directory, `types` are the
    server's resource types. An agent fences itself after `fence_s` seconds (see `fence`). The value
    of the Ray label `partition_label` is a node's partition. Ray's autoscaler is asked for nodes up
    to `autoscale_vcores`; 0: never."""

    address: str
    types: tuple[str, ...]
    fence_s: float
    limits: ContainerLimits
    cluster: str = ""
    partition_label: str = ""
    autoscale_vcores: int = 0


class AgentOptions(msgspec.Struct, frozen=True):
    """`node` is Ray's identifier of the agent's node, `resources` is what it offers, in
    fairshare's types."""

    node: str
    cluster: str
    resources: dict[str, int]
    fence_s: float
    limits: ContainerLimits
