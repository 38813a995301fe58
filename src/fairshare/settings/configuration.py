"""`Configuration`: everything that a configuration directory says, where its properties are kept
and which users can change them while a server runs; and `Refreshed`, what a refresh found.

Reads no file, and keeps nothing itself.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from fairshare.core.model.resources import ResourceTypes
from fairshare.documents.gpus import GpuSetting
from fairshare.documents.problems import Problem
from fairshare.settings.nodes import NodeManagerSettings
from fairshare.settings.shell import ShellSettings
from fairshare.settings.site import Site
from fairshare.settings.user_groups import GroupSettings
from fairshare.settings.web import WebSettings

Entry = tuple[str, str]
"""Name and value of a property."""


class ConfigurationStore(msgspec.Struct, frozen=True):
    """How a configuration may be changed by document.

    `file`: not at all, the file alone holds. `memory`: until the server ends. `persistent`: what
    was changed holds after a restart, too, and capacity-scheduler.xml counts at the first start
    only. `written` are the properties of capacity-scheduler.xml as the file has them; `base` is
    everything else. `queue_administrators`: who administers a queue may change it; else it is for
    administrators of the cluster.
    """

    kind: Literal["file", "memory", "persistent"] = "file"
    queue_administrators: bool = False
    written: tuple[Entry, ...] = ()
    base: Site = Site({})

    @property
    def mutable(self) -> bool:
        """Whether documents can change anything."""
        return self.kind != "file"

    def with_properties(self, properties: Mapping[str, str]) -> Site:
        """The whole configuration, if these stood in the place of capacity-scheduler.xml."""
        return self.base.with_values(properties, STORED)


STORED: Final = "scheduler-conf"
"""The name of the file in places of problems with properties that no file has."""


class Configuration(msgspec.Struct, frozen=True):
    """All that a configuration directory says.

    `settings` are those of `scheduler`. `allocation_path` is its file of queues, if there is one.
    `problems` are warnings and traps. `store` says how the scheduler's properties may be changed by
    document; `auto_refresh_ms` how often the server looks at the scheduler's file. `gpus` are those
    that were chosen whatever the files say, and `counted` the types of an existing state.
    """

    scheduler: str
    types: ResourceTypes
    site: Site
    shell: ShellSettings
    settings: Any
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
    gpus: GpuSetting | None = None
    counted: ResourceTypes = ResourceTypes()


class Refreshed(msgspec.Struct, frozen=True):
    """What a refresh found.

    `settings` are those to load. `needs_restart` names what has another value in the files than
    the one in force, and keeps it until the server is started again.
    """

    settings: Any
    needs_restart: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()
    store: ConfigurationStore = ConfigurationStore()
