"""Owns the places of what the scheduler itself refuses in settings: sums, modes, bounds, mappings.

The scheduler knows queues and properties but no files; here each fault gets its file and line.
"""

from typing import Final

from fairshare.config.problems import Place, Problems
from fairshare.config.site import Site
from fairshare.families.capacity.mappings import APPLICATION_MAPPINGS, JSON, JSON_FILE, MAPPINGS
from fairshare.families.capacity.names import PREFIX
from fairshare.model.queues import parent_name
from fairshare.schedulers.capacity.checks import Fault, refusals
from fairshare.schedulers.capacity.settings import CapacitySettings

_SAME: Final = {
    "maximum-allocation": ("maximum-allocation-mb", "maximum-allocation-vcores"),
    "capacity": ("maximum-capacity", "queues"),
    "queues": ("capacity",),
    "state": ("queues",),
}
"""Where to look when the property of a fault is not in the files."""


def report_refusals(settings: CapacitySettings, site: Site, file: str, problems: Problems) -> None:
    """Add everything for which the scheduler would not load the settings."""
    for fault in refusals(settings):
        problems.error(_place(fault, site, file), "refused", fault.message, "does not start")


def _place(fault: Fault, site: Site, file: str) -> Place:
    if fault.suffix == "queue-mappings":
        names = [MAPPINGS, APPLICATION_MAPPINGS, JSON, JSON_FILE]
        # The message quotes the rule: the list that has it is shown.
        for name in (MAPPINGS, APPLICATION_MAPPINGS):
            if any(repr(entry) in fault.message for entry in site.strings(name, Problems())):
                names.insert(0, name)
    else:
        names = list(_candidates(fault))
    found = [name for name in names if name in site]
    return site.place(found[0]) if found else Place(file, 1, 1)


def _candidates(fault: Fault) -> list[str]:
    """The properties that a fault may come from: the queue's own, then those that it inherits."""
    suffixes = (fault.suffix, *_SAME.get(fault.suffix, ()))
    names = [f"{PREFIX}{fault.queue}.{suffix}" for suffix in suffixes]
    above = parent_name(fault.queue)
    while above:
        names += [f"{PREFIX}{above}.{suffix}" for suffix in suffixes]
        above = parent_name(above)
    return names
