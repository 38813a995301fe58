"""How lint rules of a family are found, and rules that families share.

A rule is a function of a module, from the family's subject to findings; its name is that of the
function, with hyphens.
"""

from collections.abc import Callable, Iterator, Mapping
from inspect import isfunction
from types import ModuleType
from typing import Any

from fairshare.core.schedulers.access_lists import allows_all
from fairshare.documents.problems import Finding, Problems, add_findings
from fairshare.settings.manager import ACL_ENABLED, ADMINISTRATORS
from fairshare.settings.site import Site

Rule = Callable[[Any], Iterator[Finding]]


def rules_of(*modules: ModuleType) -> dict[str, Rule]:
    """The rules of modules by name, in the order of the modules and of the functions there."""
    return {
        name.replace("_", "-"): rule
        for module in modules
        for name, rule in vars(module).items()
        if isfunction(rule)
        and rule.__module__ == module.__name__
        and rule.__annotations__.get("return") == Iterator[Finding]
        and not name.startswith("_")
    }


def apply_rules(rules: Mapping[str, Rule], subject: object, problems: Problems) -> None:
    """Add what all rules find."""
    for name, rule in rules.items():
        add_findings(name, rule(subject), problems)


def foreign_properties(site: Site, owners: Mapping[str, str], title: str) -> Iterator[Finding]:
    """Properties of other schedulers, which look as if they mattered; the first one of each kind is
    named. `owners` are by the prefix of the properties, `title` is that of the scheduler."""
    for prefix, owner in owners.items():
        names = site.names(prefix)
        if names:
            more = f" (and {len(names) - 1} more {prefix}*)" if len(names) > 1 else ""
            yield Finding(
                site.place(names[0]),
                f"{names[0]}{more} has no effect: it belongs to {owner}",
                f"ignores it under the {title}",
                "warning",
            )


def open_administration(site: Site, acl_enabled: bool) -> Iterator[Finding]:
    """Access lists are in force, and all users are administrators, as by default in Hadoop."""
    written = site.text(ADMINISTRATORS, Problems())
    if acl_enabled and allows_all("*" if written is None else written):
        why = "is * by default" if written is None else "has *"
        yield Finding(
            site.place(ADMINISTRATORS, ACL_ENABLED),
            f"{ADMINISTRATORS} {why}, so that all users are administrators: lists of queues keep"
            " none from submitting, moving or killing anywhere, or from draining nodes. Name the"
            " accounts of the administrators, such as root",
            "lets all users administer",
        )
