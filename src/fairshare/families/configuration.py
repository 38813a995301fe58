"""Owns `Configuration`: everything that a configuration directory says. Reads no file."""

from pathlib import Path

import msgspec

from fairshare.config.node_manager import NodeManagerSettings
from fairshare.config.problems import Problem
from fairshare.config.shell import ShellSettings
from fairshare.config.site import Site
from fairshare.config.user_groups import GroupSettings
from fairshare.config.web import WebSettings
from fairshare.families.choice import SchedulerName
from fairshare.families.store import ConfigurationStore
from fairshare.model.resources import ResourceTypes
from fairshare.schedulers.capacity.settings import CapacitySettings
from fairshare.schedulers.fair.settings import FairSettings
from fairshare.schedulers.fifo.settings import FifoSettings
from fairshare.schedulers.pools.settings import PoolsSettings


class Configuration(msgspec.Struct, frozen=True):
    """All that a configuration directory says.

    Exactly the settings of `scheduler` are there. `allocation_path` is the file to look at for
    changes; None: there is none. `problems` are warnings and traps. `store` says how the Capacity
    Scheduler's part may be changed by document; `auto_refresh_ms` how often its file is looked at.
    """

    scheduler: SchedulerName
    types: ResourceTypes
    site: Site
    shell: ShellSettings
    fair: FairSettings | None = None
    fifo: FifoSettings | None = None
    capacity: CapacitySettings | None = None
    pools: PoolsSettings | None = None
    allocation_path: Path | None = None
    heartbeat_interval_ms: int = 1_000
    container_expiry_ms: int = 600_000
    max_completed_applications: int = 1_000
    master_max_attempts: int = 2
    problems: tuple[Problem, ...] = ()
    directory: Path = Path()
    node_manager: NodeManagerSettings = NodeManagerSettings()
    groups: GroupSettings = GroupSettings()
    acl_enabled: bool = False
    web: WebSettings = WebSettings()
    store: ConfigurationStore = ConfigurationStore()
    auto_refresh_ms: int | None = None

    @property
    def settings(self) -> FairSettings | FifoSettings | CapacitySettings | PoolsSettings:
        """Those of `scheduler`."""
        found = self.fair or self.fifo or self.capacity or self.pools
        assert found is not None, f"no settings for {self.scheduler}"
        return found
