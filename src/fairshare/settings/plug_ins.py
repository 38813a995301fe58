"""What installed packages bring along: the objects that the entry points of a group name."""

from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points
from typing import TypeVar

from fairshare.documents.problems import Place, Problems

PlugIn = TypeVar("PlugIn")


def owner_of(entry: EntryPoint) -> str:
    """The package of an entry point, for messages."""
    return f"package {entry.dist.name}" if entry.dist else "installed packages"


def load_plug_ins(group: str, rule: str, load: Callable[[EntryPoint], PlugIn]) -> list[PlugIn]:
    """What `load` makes of the entry points of a group, in the order of their names.

    Raises ConfigurationError that names every entry point for which `load` raises an exception.
    """
    plug_ins: list[PlugIn] = []
    problems = Problems()
    for entry in sorted(entry_points(group=group), key=lambda entry: (entry.name, entry.value)):
        try:
            plug_ins.append(load(entry))
        except Exception as error:  # another's code may fail in any way when it is imported
            problems.error(
                Place(owner_of(entry)),
                rule,
                f"the entry point {entry.name} = {entry.value} of the group {group} cannot be used:"
                f" {error}; mend or remove the package",
            )
    problems.raise_errors()
    return plug_ins
