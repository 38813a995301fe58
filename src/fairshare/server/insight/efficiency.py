"""The resource efficiency of an application: peak memory and CPU time against its requests.

Pure: from containers to metrics.
"""

from collections.abc import Iterable

import msgspec

from fairshare.api.timelines import Efficiency


class ContainerUse(msgspec.Struct, frozen=True):
    """One container that ended: its allocated resources, its run time and its usage."""

    memory_mb: int
    vcores: int
    ran_ms: int
    peak_memory_mb: int
    cpu_ms: int


STEP_MB = 128
"""Advice is rounded up to a multiple of this."""


def efficiency_of(uses: Iterable[ContainerUse]) -> Efficiency:
    """The efficiency of some containers, except those without a measured peak.

    >>> found = efficiency_of([ContainerUse(1024, 2, 10_000, 256, 5_000)])
    >>> found.memory_ratio, found.cpu_ratio, found.advice_mb
    (0.25, 0.25, 384)
    """
    measured = [use for use in uses if use.peak_memory_mb > 0 and use.ran_ms > 0]
    granted = sum(use.memory_mb * use.ran_ms for use in measured)
    vcore_ms = sum(use.vcores * use.ran_ms for use in measured)
    cpu_ms = sum(use.cpu_ms for use in measured)
    peak = max((use.peak_memory_mb for use in measured), default=0)
    smallest = min((use.memory_mb for use in measured), default=0)
    advice = -(-peak * 11 // (10 * STEP_MB)) * STEP_MB
    return Efficiency(
        containers=len(measured),
        asked_memory_mb=max((use.memory_mb for use in measured), default=0),
        peak_memory_mb=peak,
        mean_peak_memory_mb=(
            sum(use.peak_memory_mb for use in measured) // len(measured) if measured else 0
        ),
        memory_ratio=(
            sum(use.peak_memory_mb * use.ran_ms for use in measured) / granted if granted else None
        ),
        cpu_ms=cpu_ms,
        vcore_ms=vcore_ms,
        cpu_ratio=cpu_ms / vcore_ms if vcore_ms else None,
        advice_mb=advice if measured and advice < smallest else None,
    )
