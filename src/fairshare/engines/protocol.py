"""Owns the contract between the runtime and what runs containers.

The runtime orders, the engine reports. An order is keyed by its container and idempotent: the same
one twice is done once. A report is an input like any other.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import msgspec

from fairshare.model.identifiers import ContainerId
from fairshare.model.inputs import ContainerExited, Input
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


class ContainerFiles(Protocol):
    """What a container writes on this machine. A path may lead to nothing, yet or any more."""

    @property
    def stdout(self) -> Path:
        """Its standard output."""

    @property
    def stderr(self) -> Path:
        """Its standard error."""

    @property
    def result(self) -> Path:
        """The pickled value that its callable returned."""

    def ended(self) -> bool:
        """Whether nothing more will be written."""

    def dropped_range(self, log: Path) -> tuple[int, int]:
        """The bytes of a log that are gone, from the first to before the second; (0, 0): none."""


class HostEngine(Engine, Protocol):
    """What a server asks of its engine beside what the runtime asks: files, accounts, health."""

    def files(self, application_name: str, container_name: str) -> ContainerFiles:
        """The logs and the result of a container; raises EngineError for a bad name."""

    def exit_of(
        self, container: ContainerId, application_name: str, container_name: str
    ) -> ContainerExited | None:
        """How a container that does not run ended, if that is known: an earlier server may have had
        the report and not recorded it. Raises EngineError if it cannot be read now."""

    def account_problem(self, user: str) -> str:
        """Why a user's containers could not run here; empty if they can. It may wait for a disk or
        a directory service."""

    def trouble(self) -> str:
        """Why it cannot begin containers now; empty if it can."""

    def prune(self, application_name: str) -> None:
        """Delete the files of an application that has finished; raises EngineError."""

    def forget_payload(self, digest: str) -> None:
        """Delete its own copies of the payload of Python calls; what cannot be deleted stays."""
