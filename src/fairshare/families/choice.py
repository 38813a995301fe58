"""Owns the question which scheduler a configuration means. Knows no scheduler's settings."""

from pathlib import Path
from typing import Final

from fairshare.config.problems import Problems
from fairshare.config.site import Site
from fairshare.families.family import CLASS, TASK_SCHEDULER, AnyFamily
from fairshare.families.registry import HADOOP_DEFAULT, all_families, family_of

_KEYS: Final = (CLASS, TASK_SCHEDULER)


def names_scheduler(site: Site) -> bool:
    """Whether a property names a scheduler."""
    return any(key in site for key in _KEYS)


def choose_family(site: Site, directory: Path, problems: Problems) -> AnyFamily | None:
    """The scheduler that the properties name; else the one with the strongest claim; else Hadoop's.

    None: an error among the problems says why there is no scheduler.
    """
    named = _named(site, problems)
    if named:
        return _of_class(named, site, problems)
    claims = [
        (claim.strength, family, claim)
        for family in all_families().values()
        if (claim := family.claim(site, directory)) is not None
    ]
    if not claims:
        return family_of(HADOOP_DEFAULT)
    _, family, claim = max(claims, key=lambda found: found[0])
    if claim.reason:
        problems.trap(
            claim.place,
            "scheduler",
            f"no property names a scheduler: {family.name}, because {claim.reason}."
            f" Set {claim.advice} to say so",
            f"starts the {family_of(HADOOP_DEFAULT).title}",
        )
    return family


def named_family(site: Site, problems: Problems) -> AnyFamily | None:
    """The scheduler that a property names; Hadoop's if none does; None as in `choose_family`."""
    named = _named(site, problems)
    return _of_class(named, site, problems) if named else family_of(HADOOP_DEFAULT)


def _named(site: Site, problems: Problems) -> list[tuple[str, str]]:
    return [(key, name) for key in _KEYS if (name := site.string(key, "", problems))]


def _of_class(named: list[tuple[str, str]], site: Site, problems: Problems) -> AnyFamily | None:
    """The scheduler of the first property, by its Java class."""
    for key, _ in named[1:]:
        problems.warning(
            site.place(key), "scheduler", f"{key} has no effect, because {named[0][0]} is set"
        )
    key, written = named[0]
    known = {
        name: family
        for family in all_families().values()
        for chosen_by, name in family.classes
        if chosen_by == key
    }
    if written not in known:
        message = f"{key}: there is no scheduler {written!r} (there are {', '.join(known)})"
        problems.error(site.place(key), "scheduler", message, "starts any class that it finds")
    return known.get(written)
