"""Owns the reading of the FIFO scheduler's settings from a site. Knows no file of its own."""

from fairshare.core.schedulers.fifo import FifoSettings
from fairshare.documents.problems import Problem, Problems
from fairshare.settings.base_reading import collect_base
from fairshare.settings.site import Site


def read_fifo(site: Site) -> tuple[FifoSettings, tuple[Problem, ...]]:
    """The settings and the warnings; raises ConfigurationError with all problems."""
    problems = Problems()
    settings = collect_fifo(site, problems)
    problems.raise_errors()
    return settings, problems.all


def collect_fifo(site: Site, problems: Problems) -> FifoSettings:
    """As `read_fifo`, but errors are only added to the problems."""
    return collect_base(site, FifoSettings, problems)
