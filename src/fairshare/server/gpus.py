"""The views of GPUs: those of a node, the containers that have them, and their metrics.

The engine measures them, if it can; which container has which, the journal says.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from fairshare.api.nodes import Gpu
from fairshare.core.model.identifiers import container_name
from fairshare.core.model.nodes import Node
from fairshare.documents.sizes import MEBIBYTE
from fairshare.engines.protocol import Engine, GpuUse, MeasuresGpus
from fairshare.runtime.projections.container_history import ContainerHistory

ATTRIBUTE: Final = "gpus"
"""The attribute of a node with the names of its GPUs."""


def uses_of(engine: Engine) -> tuple[GpuUse, ...]:
    """The GPUs that an engine measures; none if it measures none."""
    return engine.gpus() if isinstance(engine, MeasuresGpus) else ()


def gpus_of(
    node: Node, engine: Engine, history: ContainerHistory, epoch_ms: int
) -> tuple[Gpu, ...]:
    """The GPUs of a node in the order of their names there; none where they are not assigned."""
    names = node.attributes.get(ATTRIBUTE)
    if not names:
        return ()
    known = {use.name: use for use in uses_of(engine) if use.node == node.name}
    holders = {}
    for container in node.containers:
        record = history.container(container)
        for name in record.gpus if record is not None else ():
            holders[name] = container_name(epoch_ms, container)
    gpus = []
    for name in known or names.split(","):
        use = known.get(name) or GpuUse(node.name, name)
        gpus.append(
            Gpu(
                name=name,
                model=use.model,
                memory_mb=use.memory_mb,
                used_mb=use.used_mb,
                utilization_percent=use.utilization_percent,
                container=holders.get(name),
            )
        )
    return tuple(gpus)


class GpuCollector(Collector):
    """The metrics of an engine's GPUs; what cannot be measured is left out. `holders` are the node
    and the name of each GPU that a container has, and the user."""

    def __init__(
        self, engine: Engine, holders: Callable[[], Iterable[tuple[str, str, str]]]
    ) -> None:
        self._engine = engine
        self._holders = holders

    def describe(self) -> Iterable[Metric]:
        """Empty, so that registering the collector computes nothing."""
        return ()

    def collect(self) -> Iterator[Metric]:
        """The last sample."""
        labels = ["node", "gpu"]
        memory = GaugeMetricFamily("fairshare_gpu_memory_bytes", "Memory of a GPU.", labels=labels)
        used = GaugeMetricFamily(
            "fairshare_gpu_memory_used_bytes", "Memory in use on a GPU.", labels=labels
        )
        busy = GaugeMetricFamily(
            "fairshare_gpu_utilization_ratio", "How busy a GPU is, 0 to 1.", labels=labels
        )
        for use in uses_of(self._engine):
            place = [use.node, use.name]
            if use.memory_mb:
                memory.add_metric(place, use.memory_mb * MEBIBYTE)
            if use.used_mb is not None:
                used.add_metric(place, use.used_mb * MEBIBYTE)
            if use.utilization_percent is not None:
                busy.add_metric(place, use.utilization_percent / 100)
        held = GaugeMetricFamily(
            "fairshare_gpu_held", "1 for a GPU that a container has.", labels=[*labels, "user"]
        )
        for holder in self._holders():
            held.add_metric(holder, 1)
        yield from (family for family in (memory, used, busy, held) if family.samples)
