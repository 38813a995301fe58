"""Owns the reading of the settings that YARN's schedulers have in common. Knows no scheduler."""

from typing import Any, TypeVar

from fairshare.core.schedulers.base import BaseSettings
from fairshare.documents.problems import Problems
from fairshare.settings.manager import read_manager
from fairshare.settings.site import Site

Settings = TypeVar("Settings", bound=BaseSettings)


def collect_base(site: Site, kind: type[Settings], problems: Problems, **further: Any) -> Settings:
    """Settings of a class, with `further` fields of its own; errors are added to the problems."""
    manager = read_manager(site, problems)
    return kind(
        types=manager.types,
        minimum_allocation=manager.minimum_allocation,
        maximum_allocation=manager.maximum_allocation,
        increment_allocation=manager.minimum_allocation,
        maximum_override_delay_ms=manager.maximum_override_delay_ms,
        acl_enabled=manager.acl_enabled,
        administrators=manager.administrators,
        master_max_attempts=manager.master_max_attempts,
        **further,
    )
