"""Owns the contract between the runtime and what runs containers.

The runtime orders, the engine reports. An order is keyed by its container and idempotent: the same
one twice is done once. A report is an input like any other.
"""

from collections.abc import Callable
from typing import Protocol

import msgspec

from fairshare.model.identifiers import ContainerId
from fairshare.model.inputs import Input
from fairshare.model.work import Command


class LaunchOrder(msgspec.Struct, frozen=True):
    """Run this. `container_name` and `application_name` are as Hadoop writes them."""

    container: ContainerId
    container_name: str
    application_name: str
    node: str
    user: str
    memory_mb: int
    vcores: int
    command: Command
    resources: dict[str, int] = {}  # all types by name, memory-mb and vcores among them
    environment: dict[str, str] = {}  # ours, beside the command's: FAIRSHARE_*
    time_limit_ms: int | None = None
    launched_ms: int = 0  # when the state launched it: another container of this name has another


class NodeOffer(msgspec.Struct, frozen=True):
    """A node that an engine has: what it offers, and what is in force there, in `attributes`."""

    node: str
    rack: str
    resources: dict[str, int]
    attributes: dict[str, str]


Launched = Callable[[str, str], int | None]
"""When the state launched a container (`LaunchOrder.launched_ms`), given the names of application
and container. None: it never did. LONG_AGO: it did, and has forgotten when."""

LONG_AGO = 0


class Engine(Protocol):
    """Runs containers: `local` (processes here), `simulated`, later `ray`."""

    def nodes(self) -> tuple[NodeOffer, ...]:
        """What it can offer."""

    def start(
        self,
        report: Callable[[Input], None],
        *,
        launched: Launched | None = None,
        failed: Callable[[Exception], None] | None = None,
    ) -> None:
        """Begin to watch; every outcome comes by `report`, from any thread.

        What `launched` does not know is not taken over; without it everything is. If the engine
        cannot go on it says so by `failed`, once, from any thread.
        """

    def launch(self, order: LaunchOrder) -> None:
        """Returns at once. Later: ContainerStarted, then ContainerExited (or only the latter)."""

    def stop(self, container: ContainerId) -> None:
        """End a container with all its processes; returns at once; unknown ones are no error."""

    def running(self) -> frozenset[ContainerId]:
        """What runs now, also what an earlier server of this state directory left running."""

    def close(self, *, stop_containers: bool) -> None:
        """Stop watching; containers live on unless `stop_containers`."""
