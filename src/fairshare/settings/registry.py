"""The list of scheduler families: the four of fairshare, and those of installed packages.

A new one in fairshare is a package beside this module and one line here. A package outside names
its family in the entry point group `fairshare.schedulers`. Only what is installed there is ever
imported: a configuration can choose a scheduler, and cannot make this process load code.
"""

import threading
from functools import cache
from importlib.metadata import entry_points
from typing import Final

import msgspec

from fairshare.core.record import register_events
from fairshare.documents.ready import ready
from fairshare.errors import InputError
from fairshare.settings.capacity.family import CapacityFamily
from fairshare.settings.fair.family import FairFamily
from fairshare.settings.family import AnyFamily, SchedulerFamily
from fairshare.settings.fifo.family import FifoFamily
from fairshare.settings.jobs import Jobs
from fairshare.settings.plug_ins import owner_of
from fairshare.settings.pools.family import PoolsFamily

GROUP: Final = "fairshare.schedulers"
HADOOP_DEFAULT: Final = CapacityFamily.name
"""The scheduler of a YARN cluster whose configuration names none."""

FILE_DEFAULT: Final = FairFamily.name
"""The scheduler that a lone file without words of any scheduler is judged by."""

FAMILIES: dict[str, AnyFamily] = {
    family.name: family for family in (FairFamily(), CapacityFamily(), PoolsFamily(), FifoFamily())
}
"""The families by name, in the order in which messages list them. Those of installed packages join
them with the first call of a function below."""

_LOADING = threading.RLock()


def _introduce(family: AnyFamily) -> None:
    register_events(*family.events)
    ready(family.settings_type)  # the core decodes them, in whatever thread simulates or plans


for _family in FAMILIES.values():
    _introduce(_family)


def words_of_jobs() -> Jobs:
    """The words of MapReduce jobs."""
    return next(family.jobs for family in FAMILIES.values() if family.jobs is not None)


def family_of(name: str) -> AnyFamily:
    """The family of a scheduler's name; raises InputError (`unknown-scheduler`)."""
    family = FAMILIES.get(name) or all_families().get(name)
    if family is None:
        known = ", ".join(sorted(FAMILIES))
        raise InputError("unknown-scheduler", f"there is no scheduler {name!r} (there are {known})")
    return family


def family_of_public_name(name: str) -> AnyFamily | None:
    """The family that scenario files and the command line call so; None if there is none."""
    found = (family for family in all_families().values() if family.public_name == name)
    return next(found, None)


def all_families() -> dict[str, AnyFamily]:
    """`FAMILIES` with those of installed packages.

    Raises InputError (`scheduler-package`) for an entry point that cannot be used.
    """
    with _LOADING:
        _load_installed()
    return FAMILIES


def section_types() -> dict[str, type[msgspec.Struct]]:
    """The keys of schedulers' own sections of fairshare.toml, by the section's name."""
    families = all_families().values()
    return {family.section: family.section_type for family in families if family.section}


def register(family: AnyFamily) -> None:
    """Add a family; raises ValueError if its name or alias is taken."""
    taken = {name for one in FAMILIES.values() for name in (one.name, one.public_name)}
    for name in (family.name, family.public_name):
        if name in taken:
            raise ValueError(f"there is another scheduler called {name!r}")
    FAMILIES[family.name] = family
    _introduce(family)


@cache
def _load_installed() -> None:
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: (entry.name, entry.value)):
        try:
            loaded = entry.load()
            family = loaded() if isinstance(loaded, type) else loaded
            if not isinstance(family, SchedulerFamily):
                raise TypeError(f"it is not a SchedulerFamily, but {type(family).__name__}")
            if family.name != entry.name:
                raise ValueError(f"its family is called {family.name!r}: both names must be equal")
            register(family)
        except Exception as error:  # foreign code may raise anything when it is imported
            raise InputError(
                "scheduler-package",
                f"{owner_of(entry)}: the entry point {entry.name} = {entry.value} of the group"
                f" {GROUP} cannot be used: {error}; correct or remove the package",
            ) from error
