"""Owns the GPUs of one engine: the parts of this package put together. Starts no container."""

from collections.abc import Sequence

import msgspec

from fairshare.engines.local.gpus.assigned import AssignedGpus
from fairshare.engines.local.gpus.chosen import ChosenGpus, per_node
from fairshare.engines.local.gpus.fence import GpuFence, fence
from fairshare.engines.local.gpus.usage import GpuUsage
from fairshare.engines.local.hierarchies import Mounts
from fairshare.engines.protocol import GpuUse, NodeOffer


class EngineGpus:
    """The GPUs of an engine with these nodes; None: it assigns none. Groups are below `group`."""

    def __init__(
        self,
        chosen: ChosenGpus | None,
        nodes: Sequence[str],
        group: str,
        mounts: Mounts,
        *,
        cgroups: bool,
    ) -> None:
        self._chosen = chosen
        self._of_nodes = per_node(chosen or ChosenGpus(), nodes)
        self._usage: GpuUsage | None = None
        self.fence = GpuFence()
        if chosen is not None:
            self.fence = fence(chosen, group, mounts, cgroups=cgroups)

    @property
    def amounts(self) -> dict[str, int]:
        """The number of GPUs of all nodes, by resource type."""
        offered = self._chosen.offered if self._chosen is not None else {}
        return {name: len(gpus) for name, gpus in offered.items()}

    @property
    def vendor(self) -> str | None:
        """The vendor, empty: unknown; None: GPUs are not assigned."""
        return None if self._chosen is None else self._chosen.vendor

    def described(self, offer: NodeOffer) -> NodeOffer:
        """An offer whose attributes name its GPUs, and how they are fenced."""
        names = [gpu.name for gpus in self._of_nodes[offer.node].values() for gpu in gpus]
        if not names:
            return offer
        hierarchy = self.fence.hierarchy
        fenced = f"off: {self.fence.reason}" if hierarchy is None else hierarchy.kind
        attributes = {**offer.attributes, "gpus": ",".join(names), "gpu-fence": fenced}
        return msgspec.structs.replace(offer, attributes=attributes)

    def unassigned(self) -> AssignedGpus:
        """The GPUs before any container has one."""
        return AssignedGpus(
            {
                node: {name: [gpu.name for gpu in gpus] for name, gpus in types.items()}
                for node, types in self._of_nodes.items()
            }
        )

    def start(self) -> None:
        """Begin to measure."""
        if self._chosen is None:
            return
        nodes = {
            gpu.name: node
            for node, types in self._of_nodes.items()
            for gpus in types.values()
            for gpu in gpus
        }
        self._usage = GpuUsage(self._chosen.all, nodes.__getitem__)

    def uses(self) -> tuple[GpuUse, ...]:
        """All GPUs, as of the last sample."""
        return self._usage.last() if self._usage is not None else ()

    def close(self) -> None:
        """Measure no more."""
        if self._usage is not None:
            self._usage.close()
