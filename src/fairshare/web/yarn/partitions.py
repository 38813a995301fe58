"""Owns the use of an application by partition (node label)."""

from msgspec import UNSET, UnsetType

from fairshare.families.yarn.partitions import ResourceUsages, partition_usage
from fairshare.model.applications import Application
from fairshare.schedulers.capacity.applications import CapacityApplication
from fairshare.schedulers.capacity.state import CapacityState
from fairshare.web.yarn.gateway import Gateway


def application_usages(gateway: Gateway, application: Application) -> ResourceUsages | UnsetType:
    """The use of an application in its partition; UNSET with other schedulers."""
    state = gateway.scheduler.state
    if not isinstance(state, CapacityState) or not isinstance(application, CapacityApplication):
        return UNSET
    if not application.active:
        return UNSET
    none = state.none
    usage = partition_usage(
        state.types,
        application.label,
        application.used,
        application.reserved,
        application.asks.pending,
        (application.master_resource, none, none),
    )
    usages = [usage]
    if gateway.biographies.of(application.id).reserved:
        usages.append(partition_usage(state.types, "*", none, none, none, (none, none, none)))
    return ResourceUsages(usages)
