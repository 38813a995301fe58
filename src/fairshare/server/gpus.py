"""The views of GPUs: those of a node, the containers that have them, and their metrics.

The engine measures them, if it can; which container has which, the journal says.
"""

import asyncio
import contextlib
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Final

import msgspec
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from fairshare.api.applications import Container
from fairshare.api.nodes import Gpu
from fairshare.core.model.identifiers import container_name
from fairshare.core.model.inputs import NodeResized
from fairshare.core.model.nodes import Node
from fairshare.core.model.resources import ResourceTypes
from fairshare.core.model.work import TaskGroup
from fairshare.documents.gpus import GPU
from fairshare.documents.sizes import MEBIBYTE
from fairshare.engines.protocol import Engine, GpuUse, HostEngine, MeasuresGpus
from fairshare.errors import InputError
from fairshare.runtime.projections.container_history import ContainerHistory
from fairshare.server.metric_families import gauge
from fairshare.server.service import Service
from fairshare.wording import counted

_log = logging.getLogger("fairshare.server")

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
                elsewhere=use.elsewhere,
                idle_ms=None if use.idle_s is None else round(use.idle_s * 1000),
            )
        )
    return tuple(gpus)


def missing_gpus(engine: HostEngine, types: ResourceTypes, groups: Iterable[TaskGroup]) -> str:
    """Why tasks get their GPUs on no node of this machine, whatever ends; empty if they do, and for
    nodes that come and go."""
    if engine.nodes_register:
        return ""
    for place, name in enumerate(types.names):
        if name != GPU and not name.startswith(f"{GPU}-"):
            continue
        most = max((offer.resources.get(name, 0) for offer in engine.nodes()), default=0)
        wanted = max((group.resource[place] for group in groups), default=0)
        if wanted > most:
            has = f"{counted(most, 'GPU')} on one node" if most else "no GPUs that it assigns"
            return (
                f"a task wants {counted(wanted, 'GPU')} ({name}), and this machine has {has}:"
                " `fairshare nodes` lists them, and gpus in [engine] of fairshare.toml assigns them"
            )
    return ""


def with_idle_gpus(containers: Iterable[Container], engine: Engine) -> Iterator[Container]:
    """Containers with how long those that run have not used their GPUs."""
    idle_s = {(use.node, use.name): use.idle_s for use in uses_of(engine)}
    for container in containers:
        times_s = [idle_s.get((container.node, name)) for name in container.gpus]
        known_s = [one for one in times_s if one is not None]
        if known_s and len(known_s) == len(times_s) and not container.over:
            idle_ms = round(min(known_s) * 1000)
            container = msgspec.structs.replace(container, gpus_idle_ms=idle_ms)
        yield container


WATCH_S: Final = 5.0


async def watch_gpus(engine: Engine, service: Service) -> None:
    """Take GPUs that are used elsewhere out of the totals of their nodes, and put them back."""
    taken: dict[tuple[str, str], int] = {}
    while isinstance(engine, MeasuresGpus):
        uses = engine.gpus()
        now = Counter((use.node, use.type) for use in uses if use.elsewhere)
        for node, kind in dict.fromkeys((*taken, *now)):
            more = now[node, kind] - taken.get((node, kind), 0)
            if more and await _take(service, node, kind, more):
                taken[node, kind] = now[node, kind]
                names = [use.name for use in uses if use.elsewhere and use.node == node]
                what = ", ".join(names) or "none"
                _log.warning("GPUs of %s that are used outside of fairshare: %s", node, what)
        await asyncio.sleep(WATCH_S)


async def _take(service: Service, name: str, kind: str, more: int) -> bool:
    """Reduce the total of a node by so many GPUs; False if it cannot be done now."""
    state = service.state
    node, drain = state.nodes.get(name), state.drains.get(name)
    if node is None or kind not in state.types.names:
        return False
    total = list(node.total if drain is None else drain.total)
    place = state.types.names.index(kind)
    total[place] = max(0, total[place] - more)
    with contextlib.suppress(InputError):  # it is tried again
        await service.ask(NodeResized(name, tuple(total)))
        return True
    return False


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
        memory, used = gauge("gpu_memory_bytes"), gauge("gpu_memory_used_bytes")
        busy, idle = gauge("gpu_utilization_ratio"), gauge("gpu_idle_seconds")
        elsewhere, held = gauge("gpu_used_elsewhere"), gauge("gpu_held")
        for use in uses_of(self._engine):
            place = [use.node, use.name]
            if use.memory_mb:
                memory.add_metric(place, use.memory_mb * MEBIBYTE)
            if use.used_mb is not None:
                used.add_metric(place, use.used_mb * MEBIBYTE)
            if use.idle_s is not None:
                idle.add_metric(place, use.idle_s)
            if use.used_mb is not None:
                elsewhere.add_metric(place, use.elsewhere)
            if use.utilization_percent is not None:
                busy.add_metric(place, use.utilization_percent / 100)
        for holder in self._holders():
            held.add_metric(holder, 1)
        yield from (
            family for family in (memory, used, busy, idle, elsewhere, held) if family.samples
        )
