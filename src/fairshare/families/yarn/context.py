"""Owns what a family may ask of the server while it makes a document: `YarnContext`, and the limits
for masters that it has.

The gateway of YARN's REST interface satisfies it. A family thereby knows neither the web server nor
the projections of the journal.
"""

from collections.abc import Mapping
from typing import Protocol

import msgspec

from fairshare.model.identifiers import ContainerId
from fairshare.model.resources import Resource
from fairshare.schedulers.protocol import Scheduler


class MasterLimit(msgspec.Struct, frozen=True):
    """The limits for all masters of a leaf, for those of one user, and for each present user."""

    masters: Resource
    user: Resource
    users: dict[str, Resource]


class Operation(Protocol):
    """An operation of the scheduler on a node; `container` is None where it has none."""

    @property
    def node(self) -> str:
        """The node's name."""

    @property
    def container(self) -> ContainerId | None:
        """The container."""

    @property
    def queue(self) -> str:
        """The queue's name."""


class Run(Protocol):
    """The result of one node update."""

    @property
    def count(self) -> int:
        """How many containers."""

    @property
    def resources(self) -> Resource:
        """The sum of their resources."""


class Health(Protocol):
    """The last operation of each kind, and the last node update. None: there was none yet."""

    @property
    def last_run_ms(self) -> int:
        """When the last node was updated."""

    @property
    def allocation(self) -> Operation | None:
        """The last allocation."""

    @property
    def release(self) -> Operation | None:
        """The last end of a container."""

    @property
    def preemption(self) -> Operation | None:
        """The last preemption."""

    @property
    def reservation(self) -> Operation | None:
        """The last reservation."""

    @property
    def allocations(self) -> Run:
        """The allocations of the last node update."""

    @property
    def reservations(self) -> Run:
        """The reservations of the last node update."""


class MasterLimitsByLeaf(Protocol):
    """The limits for masters as the scheduler tested them last."""

    def of_leaf(self, leaf: str) -> MasterLimit | None:
        """Those of a leaf; None if they have not been tested."""


class YarnContext(Protocol):
    """The server, as far as documents of a scheduler need it."""

    @property
    def scheduler(self) -> Scheduler:
        """The scheduler; its state is read-only, and must not be kept across an `await`."""

    @property
    def health(self) -> Health:
        """The scheduler's last operations."""

    @property
    def master_limits(self) -> MasterLimitsByLeaf:
        """The limits for masters as of their last test."""

    def properties(self) -> Mapping[str, str]:
        """The properties of the scheduler as they are configured."""

    def now_ms(self) -> int:
        """The instant."""

    def node_address(self, node: str) -> str:
        """`host:port` of a node: its identifier."""
