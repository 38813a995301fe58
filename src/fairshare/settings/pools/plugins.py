"""Owns finding the weight adjusters and load managers that installed packages bring along.

A package names them in the entry point groups `fairshare.weight-adjusters` and
`fairshare.load-managers`. Nothing but what is installed there is ever imported: a file can choose
one, and cannot make this process load code.
"""

from collections.abc import Callable
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final

from fairshare.core.schedulers.pools import load, weights
from fairshare.core.schedulers.pools.settings import DEFAULT_LOAD_MANAGER, NO_ADJUSTER
from fairshare.documents.problems import Place, Problems

ADJUSTER_GROUP: Final = "fairshare.weight-adjusters"
MANAGER_GROUP: Final = "fairshare.load-managers"

RULE: Final = "plug-in-package"

_PACKAGE: Final = "org.apache.hadoop.mapred."
_BUILT_IN: Final = {
    ADJUSTER_GROUP: {_PACKAGE + "NewJobWeightBooster": weights.BOOSTER},
    MANAGER_GROUP: {_PACKAGE + "CapBasedLoadManager": DEFAULT_LOAD_MANAGER},
}


def adjuster_names() -> dict[str, str]:
    """The names of all weight adjusters by what a file may write: the name, or a class.

    The first call imports those of packages and registers them. Raises ConfigurationError that
    names every entry point which cannot be used.
    """
    return _names(ADJUSTER_GROUP) | {weights.BOOSTER: weights.BOOSTER, "": NO_ADJUSTER}


def manager_names() -> dict[str, str]:
    """As `adjuster_names`, of load managers."""
    return _names(MANAGER_GROUP) | {DEFAULT_LOAD_MANAGER: DEFAULT_LOAD_MANAGER}


@cache
def _names(group: str) -> dict[str, str]:
    kind, register = _kind_of(group)
    found: dict[str, Any] = {}
    names: dict[str, str] = dict(_BUILT_IN[group])
    problems = Problems()
    for entry in sorted(entry_points(group=group), key=lambda entry: (entry.name, entry.value)):
        try:
            loaded = _load(entry, kind)
            if loaded.name in found or loaded.name in names.values():
                raise ValueError(f"there is another one called {loaded.name!r}")
        except Exception as error:  # another's code may fail in any way when it is imported
            owner = f"package {entry.dist.name}" if entry.dist else "installed packages"
            problems.error(
                Place(owner),
                RULE,
                f"the entry point {entry.name} = {entry.value} of the group {group} cannot be used:"
                f" {error}; mend or remove the package",
            )
        else:
            found[loaded.name] = loaded
            names[loaded.name] = names[entry.value.replace(":", ".")] = loaded.name
    problems.raise_errors()
    for plug_in in found.values():
        register(plug_in)
    return names


def _kind_of(group: str) -> tuple[type, Callable[[Any], None]]:
    if group == ADJUSTER_GROUP:
        return weights.WeightAdjuster, weights.register
    return load.LoadManager, load.register


def _load(entry: EntryPoint, kind: type) -> Any:
    """What an entry point names: an object, or a class that needs no arguments."""
    loaded: Any = entry.load()
    if isinstance(loaded, type):
        loaded = loaded()
    if not _is(loaded, kind):
        raise TypeError(
            f"it is not a {kind.__module__}.{kind.__name__}, but {type(loaded).__name__}"
        )
    if loaded.name != entry.name:
        raise ValueError(f"it calls itself {loaded.name!r}: both names must be the same")
    return loaded


def _is(loaded: Any, kind: type) -> bool:
    return isinstance(loaded, kind)
