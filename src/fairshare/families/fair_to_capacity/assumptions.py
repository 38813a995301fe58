"""Owns what a conversion takes for granted where there is no yarn-site.xml: Hadoop's defaults.

Knows no outcome; only which properties would change it, and what each is taken to be.
"""

from fairshare.families.fair.names import PREFIX
from fairshare.families.fair_to_capacity.source import Source


def assumptions(source: Source) -> dict[str, str]:
    """The properties that were not there to be read and matter here, with the values assumed.

    Empty where the properties were read.
    """
    if source.subject.has_site:
        return {}
    settings = source.settings
    least, most = settings.minimum_allocation, settings.maximum_allocation
    assumed: dict[str, object] = {
        f"{PREFIX}preemption": settings.preemption,
        "yarn.acl.enable": settings.acl_enabled,
        f"{PREFIX}assignmultiple": settings.assign_multiple,
        f"{PREFIX}locality.threshold.node": settings.locality_threshold_node,
        f"{PREFIX}locality.threshold.rack": settings.locality_threshold_rack,
        f"{PREFIX}sizebasedweight": settings.size_based_weight,
        f"{PREFIX}continuous-scheduling-enabled": settings.continuous_scheduling,
    }
    if settings.allocations.rules is None:
        assumed[f"{PREFIX}user-as-default-queue"] = settings.user_as_default_queue
        assumed[f"{PREFIX}allow-undeclared-pools"] = settings.allow_undeclared_pools
    assumed |= {
        "yarn.scheduler.minimum-allocation-mb": least[0],
        "yarn.scheduler.increment-allocation-mb": settings.increment_allocation[0],
        "yarn.scheduler.maximum-allocation-mb": most[0],
        "yarn.scheduler.maximum-allocation-vcores": most[1],
    }
    return {name: _text(value) for name, value in assumed.items()}


def _text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)
