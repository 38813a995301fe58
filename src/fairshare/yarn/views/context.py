"""What a family may ask of the server while it makes a document: `YarnContext`, with the last
operations of the scheduler and the limits for masters that it has.

The gateway of YARN's REST interface satisfies it. A family thereby knows neither the web server nor
the projections of the journal.
"""

from collections.abc import Mapping
from typing import Protocol

from fairshare.core.schedulers.protocol import Scheduler
from fairshare.runtime.projections.scheduler_history import MasterLimit as MasterLimit
from fairshare.runtime.projections.scheduler_history import Operation as Operation
from fairshare.runtime.projections.scheduler_history import Run as Run


class Health(Protocol):
    """The last operation of each kind, and the last node update. None: there was none yet."""

    last_run_ms: int
    allocation: Operation | None
    release: Operation | None
    preemption: Operation | None
    reservation: Operation | None
    allocations: Run
    reservations: Run


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
