"""The FIFO scheduler's settings come from the same properties."""

import pytest

from fairshare.core.schedulers.fifo import FifoSettings
from fairshare.documents.problems import Problem, Problems
from fairshare.errors import ConfigurationError
from fairshare.settings.manager import collect_base
from fairshare.settings.site import Site


def read_fifo(site: Site) -> tuple[FifoSettings, tuple[Problem, ...]]:
    """The settings and the warnings."""
    problems = Problems()
    settings = collect_base(site, FifoSettings, problems)
    problems.raise_errors()
    return settings, problems.all


def test_without_properties_everything_has_hadoops_default() -> None:
    assert read_fifo(Site.of({})) == (FifoSettings(), ())


def test_sizes_are_multiples_of_the_minimum() -> None:
    settings, _ = read_fifo(
        Site.of(
            {
                "yarn.scheduler.minimum-allocation-mb": 256,
                "yarn.scheduler.increment-allocation-mb": 512,
                "yarn.resourcemanager.am.max-attempts": 3,
                "yarn.resourcemanager.work-preserving-recovery.scheduling-wait-ms": 0,
            }
        )
    )
    assert settings == FifoSettings(
        minimum_allocation=(256, 1),
        increment_allocation=(256, 1),
        maximum_override_delay_ms=0,
        master_max_attempts=3,
    )


def test_contradictory_sizes_are_errors() -> None:
    with pytest.raises(ConfigurationError, match="Invalid resource scheduler memory"):
        read_fifo(Site.of({"yarn.scheduler.maximum-allocation-mb": 1}))
