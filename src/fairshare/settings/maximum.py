"""The one property that every scheduler reads again on a refresh: the maximum allocation (Hadoop:
FairScheduler.reinitialize).
"""

from typing import Any, TypeVar

import msgspec

from fairshare.core.model.resources import MEMORY, VCORES
from fairshare.documents.problems import Problems
from fairshare.settings.resource_types import RESOURCE_TYPES, limit_key
from fairshare.settings.site import Site

Settings = TypeVar("Settings", bound=msgspec.Struct)


def with_maximum(in_force: Settings, now: Any, site: Site, problems: Problems) -> Settings:
    """The new maximum; it must not be below the minimum in force, whatever the file's minimum."""
    limits: Any = in_force
    rows = zip(limits.types.names, limits.minimum_allocation, now.maximum_allocation, strict=True)
    for name, least, most in rows:
        if least > most:
            key = maximum_key(site, name)
            problems.error(
                site.place(key),
                "allocation-limits",
                f"{key} is {most}, below the minimum allocation {least} in force,"
                " which only a restart changes",
                "refuses the maximum",
            )
    return msgspec.structs.replace(in_force, maximum_allocation=now.maximum_allocation)


def maximum_key(site: Site, name: str) -> str:
    """The property that sets the maximum of a type."""
    general = f"{RESOURCE_TYPES}.{name}.maximum-allocation"
    if name in (MEMORY, VCORES) and general not in site:
        return limit_key(name, "maximum")
    return general
