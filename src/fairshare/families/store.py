"""Owns where a scheduler's properties are kept, and who can change them while a server runs.

Knows no property by name, and keeps nothing itself.
"""

from collections.abc import Mapping
from typing import Final, Literal

import msgspec

from fairshare.config.site import Site

Entry = tuple[str, str]
"""Name and value of a property."""


class ConfigurationStore(msgspec.Struct, frozen=True):
    """How a configuration may be changed by document.

    `file`: not at all, the file alone holds. `memory`: until the server ends. `persistent`: what
    was changed holds after a restart, too, and capacity-scheduler.xml counts at the first start
    only. `written` are the properties of capacity-scheduler.xml, as they stand there; `base` is
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
