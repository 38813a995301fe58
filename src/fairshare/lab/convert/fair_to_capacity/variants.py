"""Owns variants of both configurations, for comparisons without rights or limits on masters."""

import msgspec

from fairshare.core.model.queues import ROOT
from fairshare.core.schedulers.capacity.settings import CapacitySettings
from fairshare.core.schedulers.fair.settings import FairSettings, QueueSettings


def open_to_all(settings: FairSettings) -> FairSettings:
    """The same settings, in which root, and so every queue, lets all users submit."""
    allocations = settings.allocations
    root = allocations.queues.get(ROOT, QueueSettings(ROOT, parent=True))
    queues = {**allocations.queues, ROOT: msgspec.structs.replace(root, submit_acl="*")}
    return msgspec.structs.replace(
        settings, acl_enabled=False, allocations=msgspec.structs.replace(allocations, queues=queues)
    )


def without_master_limits(settings: CapacitySettings) -> CapacitySettings:
    """The same settings, with room for as many masters as each queue can hold."""
    queues = {
        name: msgspec.structs.replace(queue, maximum_master_share=None)
        for name, queue in settings.queues.items()
    }
    return msgspec.structs.replace(settings, queues=queues, templates={}, maximum_master_share=1.0)
