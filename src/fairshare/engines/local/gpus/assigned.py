"""Owns which container has which GPU: none has two containers at once. Knows no device file.

A container has its GPUs from before its start until all its processes have ended. They are in its
launch.json, so that the next server knows them.
"""

from collections import Counter
from collections.abc import Iterable, Mapping

from fairshare.engines.local.launch import Launch
from fairshare.engines.local.outcome import ABORTED, StartFailure
from fairshare.engines.protocol import LaunchOrder
from fairshare.wording import counted


class AssignedGpus:
    """The GPUs of an engine's nodes, by node and resource type; used by the engine's thread."""

    def __init__(self, nodes: Mapping[str, Mapping[str, Iterable[str]]]) -> None:
        self._nodes = {
            node: {name: tuple(gpus) for name, gpus in types.items()}
            for node, types in nodes.items()
        }
        self._held: Counter[str] = Counter()  # an earlier server may have assigned others

    def enter(self, launch: Launch) -> None:
        """A container has its GPUs from now on."""
        self._held.update(launch.gpus)

    def leave(self, launch: Launch) -> None:
        """All processes of a container have ended."""
        self._held.subtract(launch.gpus)

    def choose(self, order: LaunchOrder) -> tuple[str, ...] | None:
        """The GPUs for a container, the first free ones; None if it has to wait for them.

        Raises StartFailure if its node does not have so many.
        """
        chosen: list[str] = []
        for name, gpus in self._nodes.get(order.node, {}).items():
            wanted = order.resources.get(name, 0)
            if wanted > len(gpus):
                has = counted(len(gpus), "GPU") if gpus else "no GPU"
                raise StartFailure(
                    ABORTED, f"{wanted} of {name} are granted to it, and {order.node} has {has}"
                )
            free = [gpu for gpu in gpus if self._held[gpu] <= 0]
            if wanted > len(free):
                return None
            chosen += free[:wanted]
        return tuple(chosen)
