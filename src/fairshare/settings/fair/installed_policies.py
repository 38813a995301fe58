"""Owns finding the scheduling policies that installed packages bring along.

A package names them in the entry point group `fairshare.policies`. Nothing but what is installed
there is ever imported: a file can choose a policy, and cannot make this process load code.
"""

from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Final

from fairshare.core.schedulers.fair.policies import POLICIES, Policy, check_name, register
from fairshare.documents.problems import Place, Problems

GROUP: Final = "fairshare.policies"

RULE: Final = "policy-package"


def available_policies() -> frozenset[str]:
    """The names of all policies, in lower case: the built-in ones, and those of packages.

    The first call imports the packages' policies and registers them for the scheduler. Raises
    ConfigurationError that names every entry point which cannot be used.
    """
    class_names()
    return frozenset(POLICIES)


@cache
def class_names() -> dict[str, str]:
    """The policies of packages by `module.Class`, as Hadoop's files name a class; with their names.

    Raises ConfigurationError as `available_policies` does.
    """
    found: dict[str, Policy] = {}
    names = set(POLICIES)
    problems = Problems()
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: (entry.name, entry.value)):
        try:
            policy = _policy_of(entry)
            check_name(policy.name)
            if policy.name in names:
                raise ValueError(f"there is another policy {policy.name!r}")
        except Exception as error:  # another's code may fail in any way when it is imported
            problems.error(
                Place(_package_of(entry)),
                RULE,
                f"the entry point {entry.name} = {entry.value} of the group {GROUP} cannot be used:"
                f" {error}; mend or remove the package",
            )
        else:
            names.add(policy.name)
            found[entry.value.replace(":", ".")] = policy
    problems.raise_errors()
    for policy in found.values():
        register(policy)
    return {name: policy.name for name, policy in found.items()}


def _policy_of(entry: EntryPoint) -> Policy:
    """The policy that an entry point names: an object, or a class that needs no arguments."""
    loaded = entry.load()
    if isinstance(loaded, type) and issubclass(loaded, Policy):
        # What a derived class takes is its own affair; one that needs arguments says so itself.
        loaded = loaded()  # type: ignore[call-arg]
    if not isinstance(loaded, Policy):
        raise TypeError(f"it is not a {Policy.__module__}.Policy, but {type(loaded).__name__}")
    if loaded.name != entry.name:
        raise ValueError(f"the policy calls itself {loaded.name!r}: both names must be the same")
    return loaded


def _package_of(entry: EntryPoint) -> str:
    return f"package {entry.dist.name}" if entry.dist is not None else "installed packages"
