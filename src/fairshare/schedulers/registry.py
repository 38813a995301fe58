"""Owns the list of schedulers. A new one is one room and one line here."""

from collections.abc import Callable

from fairshare.model.resources import ResourceTypes
from fairshare.schedulers.capacity.scheduler import CapacityScheduler
from fairshare.schedulers.fair.scheduler import FairScheduler
from fairshare.schedulers.fifo.scheduler import FifoScheduler
from fairshare.schedulers.pools.scheduler import PoolsScheduler
from fairshare.schedulers.protocol import Scheduler

SCHEDULERS: dict[str, Callable[[ResourceTypes], Scheduler]] = {
    "capacity": CapacityScheduler,
    "fair": FairScheduler,
    "fifo": FifoScheduler,
    "pools": PoolsScheduler,
}
