"""Owns the reading of the FIFO scheduler's settings from a site. Knows no file of its own."""

from fairshare.config.manager import read_manager
from fairshare.config.problems import Problem, Problems
from fairshare.config.site import Site
from fairshare.schedulers.fifo.settings import FifoSettings


def read_fifo(site: Site) -> tuple[FifoSettings, tuple[Problem, ...]]:
    """The settings and the warnings; raises ConfigurationError with all problems."""
    problems = Problems()
    settings = collect_fifo(site, problems)
    problems.raise_errors()
    return settings, problems.all


def collect_fifo(site: Site, problems: Problems) -> FifoSettings:
    """As `read_fifo`, but errors are only added to the problems."""
    manager = read_manager(site, problems)
    return FifoSettings(
        types=manager.types,
        minimum_allocation=manager.minimum_allocation,
        maximum_allocation=manager.maximum_allocation,
        increment_allocation=manager.minimum_allocation,
        maximum_override_delay_ms=manager.maximum_override_delay_ms,
        acl_enabled=manager.acl_enabled,
        administrators=manager.administrators,
        master_max_attempts=manager.master_max_attempts,
    )
