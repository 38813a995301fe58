"""Owns the linting of a draft: a text that might stand in a scheduler's file, beside the properties
that a server was started with.

Opens no file but those that the draft's properties name. Knows no rule by name.
"""

import os
from collections.abc import Mapping

from fairshare.config.findings import add_findings
from fairshare.config.problems import Place, Problem, Problems
from fairshare.config.site import Site
from fairshare.config.site_files import FileReader, file_reader, include_reader, read_site
from fairshare.families.capacity.lint.registry import RULES as CAPACITY_RULES
from fairshare.families.capacity.lint.subject import CapacitySubject
from fairshare.families.capacity.reading import collect_capacity
from fairshare.families.configuration import Configuration
from fairshare.families.draft import Kind
from fairshare.families.fair.lint.registry import apply_rules
from fairshare.families.fair.lint.subject import Subject, find_elements
from fairshare.families.fair.reading import collect_fair
from fairshare.families.linting import cluster_of
from fairshare.families.pools.lint.registry import RULES as POOLS_RULES
from fairshare.families.pools.lint.subject import PoolsSubject
from fairshare.families.pools.reading import collect_pools
from fairshare.families.store import STORED, ConfigurationStore
from fairshare.schedulers.capacity.settings import CapacitySettings


def judge_draft(
    kind: Kind,
    text: str,
    file: str,
    configuration: Configuration,
    cluster: Mapping[str, int] | None = None,
) -> tuple[tuple[Problem, ...], CapacitySettings | None]:
    """What there is to say about a draft of `file`, and nothing about other files; of the Capacity
    Scheduler also the settings that it makes, None if it cannot be used.

    `cluster` is what all nodes offer together, by type.
    """
    problems = Problems()
    total = cluster_of(cluster, configuration.types) if cluster else None
    capacity: CapacitySettings | None = None
    document = text.encode()
    if kind == "fair":
        fair = collect_fair(configuration.site, document, file, problems)
        elements = find_elements(document, file, fair.types)
        apply_rules(Subject(fair, configuration.site, elements, total, True), problems)
    elif kind == "pools":
        switches = configuration.shell.pools
        pools = collect_pools(configuration.site, document, file, problems, switches)
        subject = PoolsSubject(pools, configuration.site, document, file, total)
        for name, rule in POOLS_RULES.items():
            add_findings(name, rule(subject), problems)
    else:
        site = draft_site(text, file, configuration, problems)
        reader = file_reader(configuration.directory)
        found = collect_capacity(site, problems, file, reader)
        judged = CapacitySubject(found, site, file, total, True)
        for name, capacity_rule in CAPACITY_RULES.items():
            add_findings(name, capacity_rule(judged), problems)
        capacity = None if problems.errors else found
    told = tuple(p for p in problems.all if p.file == file or p.severity == "error")
    return told, capacity


def judge_change(
    store: ConfigurationStore,
    before: Mapping[str, str],
    after: Mapping[str, str],
    read_file: FileReader,
) -> tuple[Problem, ...]:
    """What the rules say of the Capacity Scheduler's properties after a change, and did not say
    before it; usable both."""
    known = {problem.message for problem in _findings(store, before, read_file)}
    return tuple(one for one in _findings(store, after, read_file) if one.message not in known)


def _findings(
    store: ConfigurationStore, properties: Mapping[str, str], read_file: FileReader
) -> tuple[Problem, ...]:
    site = store.with_properties(properties)
    subject = CapacitySubject(collect_capacity(site, Problems(), STORED, read_file), site, STORED)
    problems = Problems()
    for name, rule in CAPACITY_RULES.items():
        add_findings(name, rule(subject), problems)
    return problems.all


def draft_site(text: str, file: str, configuration: Configuration, problems: Problems) -> Site:
    """The properties of a draft before those of all other files, unless those are final."""
    own = read_site([(file, text)], problems, os.environ, include_reader(configuration.directory))
    merged = {found.name: found for found in configuration.store.base}
    for found in own:
        earlier = merged.get(found.name)
        if earlier is not None and earlier.final:
            problems.warning(
                Place(file, found.place.line, found.place.column),
                "final",
                f"{found.name} is final in {earlier.place.file}:{earlier.place.line}:"
                " this value has no effect",
                "ignores this value",
            )
        else:
            merged[found.name] = found
    return Site(merged, dict(os.environ))
