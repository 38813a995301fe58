"""What an engine grants containers, as a configuration says it: the local engine of a server gets
it directly, those of the agents on other machines in a message.
"""

from typing import Any

import msgspec

from fairshare.engines.local.disk_usage import DiskLimits
from fairshare.engines.local.images import Images
from fairshare.engines.local.limits import Interactive
from fairshare.settings.nodes import NodeManagerSettings
from fairshare.settings.shell import ContainerSettings


class Grants(msgspec.Struct, frozen=True):
    """Of `containers` all but the amounts and the GPUs, which are those of a machine."""

    containers: ContainerSettings = ContainerSettings()
    node_manager: NodeManagerSettings = NodeManagerSettings()

    def arguments(self) -> dict[str, Any]:
        """The arguments of a local engine (`LocalEngine`)."""
        granted, node_manager = self.containers, self.node_manager
        idle_of_queues_s = granted.interactive_idle_by_queue_s
        gpu_idle_of_queues_s = granted.gpu_idle_end_by_queue_s
        return {
            "memory_check": node_manager.memory_check,
            "strict_cpu": node_manager.strict_cpu,
            "grace_ms": node_manager.grace_ms,
            "log_limit_mb": granted.log_limit_mb,
            "run_as": granted.run_as,
            "process_limit": granted.process_limit,
            "no_new_privileges": granted.no_new_privileges,
            "own_processors": granted.own_processors,
            "private_tmp": granted.private_tmp,
            "interactive": Interactive(
                granted.interactive_idle_s * 1000,
                granted.interactive_detached_s * 1000,
                {queue: idle_s * 1000 for queue, idle_s in idle_of_queues_s.items()},
            ),
            "gpu_busy_mb": granted.gpu_busy_mb,
            "gpu_idle": Interactive(
                granted.gpu_idle_end_s * 1000,
                idle_of_queues_ms={
                    queue: idle_s * 1000 for queue, idle_s in gpu_idle_of_queues_s.items()
                },
            ),
            "images": Images(granted.image_program, granted.image_options),
            "disk_limits": DiskLimits(
                granted.application_disk_mb,
                granted.user_disk_mb,
                granted.application_kept_containers,
                granted.user_kept_containers,
            ),
        }
