"""The linting of a directory, of a single file, and of a draft or a change of one: which
scheduler's rules judge it, and the rules about nodes that schedulers have in common.

YARN and MapReduce both call the top element of a file <allocations>, and both may call a file
fair-scheduler.xml. Where properties choose a scheduler, they say whose it is; a file by itself can
only be judged by what is in it.
"""

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePath
from typing import Any, Final

from fairshare.core.model.resources import MEMORY, VCORES, Resource
from fairshare.documents.gpus import GPU
from fairshare.documents.problems import Finding, Place, Problem, Problems, add_findings
from fairshare.documents.toml_tree import RULE as TOML
from fairshare.documents.xml import Element, parse
from fairshare.settings import reservations
from fairshare.settings.configuration import Configuration, ConfigurationStore
from fairshare.settings.directory import collect_directory, named_family, names_scheduler
from fairshare.settings.engines import runs_here
from fairshare.settings.family import AnyFamily
from fairshare.settings.high_availability import ENABLED, OWN, own_identifier
from fairshare.settings.known_names import report_not_honoured, report_unknown
from fairshare.settings.nodes import AGGREGATION, LOG_FORMATS, REMOTE_LOGS, read_remote_logs
from fairshare.settings.registry import FILE_DEFAULT, all_families, family_of, section_types
from fairshare.settings.resource_types import cluster_of
from fairshare.settings.shell import FILE as SHELL_FILE
from fairshare.settings.shell import read_shell
from fairshare.settings.site_files import FileReader, read_site


def family_of_elements(top: Element) -> AnyFamily:
    """The scheduler most of whose own words a file uses; `FILE_DEFAULT` if it uses none.

    A <pool> with <minMaps> is MapReduce's; one with <minResources> and <maxRunningApps> is YARN's.
    """
    names = Counter(_names(top))
    readers = [family for family in all_families().values() if family.elements]
    best = family_of(FILE_DEFAULT)
    for family in readers:
        if _uses(family, readers, names) > _uses(best, readers, names):
            best = family
    return best


def _uses(family: AnyFamily, readers: list[AnyFamily], names: Counter[str]) -> int:
    """How many elements only this scheduler has."""
    others = frozenset[str]().union(*(one.elements for one in readers if one is not family))
    own = (family.elements - others) | family.distinctive_elements
    return sum(names[name] for name in own)


def _names(element: Element) -> Iterator[str]:
    for child in element.children:
        yield child.name
        yield from _names(child)


_SERVICES: Final = "yarn.nodemanager.aux-services"
_SHUFFLE: Final = "mapreduce_shuffle"
_MINIMUMS: Final = {
    MEMORY: "yarn.scheduler.minimum-allocation-mb",
    VCORES: "yarn.scheduler.minimum-allocation-vcores",
}


def findings(configuration: Configuration) -> Iterator[tuple[str, Finding]]:
    """What all rules of this file find, each with its rule's name."""
    for finding in _types_without_nodes(configuration):
        yield "type-without-nodes", finding
    for finding in _minimums_of_nodes(configuration):
        yield "minimum-above-half-a-node", finding


def services(configuration: Configuration) -> Iterator[tuple[str, Finding]]:
    """What rules find of the server and its nodes as Hadoop's clients see them, each with its
    rule's name."""
    if message := reservations.refusal(configuration):
        place = Place(str(configuration.directory / SHELL_FILE))
        yield "reservations-in-part", Finding(place, message, "has no such setting", "error")
    for finding in _unknown_identifier(configuration):
        yield "address", finding
    for finding in (*_logs_elsewhere(configuration), *_other_services(configuration)):
        yield "not-honoured", finding


def _logs_elsewhere(configuration: Configuration) -> Iterator[Finding]:
    """Logs that the nodes of this machine cannot aggregate."""
    site, shell = configuration.site, configuration.shell
    if not runs_here(shell.engine.kind) or not site.boolean(AGGREGATION, False, Problems()):
        return
    if problem := read_remote_logs(site, Problems()).problem:
        place = site.place(REMOTE_LOGS, LOG_FORMATS, AGGREGATION)
        yield Finding(place, f"logs are not aggregated: {problem}", "aggregates them", "warning")


def _unknown_identifier(configuration: Configuration) -> Iterator[Finding]:
    """Several ResourceManagers, and none that this server is: its ports do not open."""
    if configuration.shell.hadoop.enabled == "no":
        return
    site, problems = configuration.site, Problems()
    own_identifier(site, problems)
    for problem in problems.errors:
        yield Finding(site.place(OWN, ENABLED), problem.message, problem.hadoop, "error")


def _other_services(configuration: Configuration) -> Iterator[Finding]:
    """Auxiliary services that the nodes of this machine do not have."""
    if not runs_here(configuration.shell.engine.kind):
        return
    site = configuration.site
    for name in site.strings(_SERVICES, Problems()):
        if name != _SHUFFLE:
            yield Finding(
                site.place(_SERVICES),
                f"{_SERVICES} has {name}: the nodes of this machine have {_SHUFFLE} only, and"
                f" refuse containers that ask for {name}",
                "starts that service",
                "warning",
            )


def _types_without_nodes(configuration: Configuration) -> Iterator[Finding]:
    """Declared types of which no node has anything: an ask for one waits forever."""
    if not runs_here(configuration.shell.engine.kind):
        return  # nodes say themselves what they have
    offered = configuration.shell.engine.resources
    assigned = configuration.shell.engine.gpus != "none"  # the machine says how many there are
    for name in configuration.types.names[2:]:
        if assigned and (name == GPU or name.startswith(f"{GPU}-")):
            continue
        if name not in offered:  # 0 is meant
            yield Finding(
                configuration.site.place("yarn.resource-types"),
                f"no node has any {name}: a container that asks for it never starts. Name it under"
                f" resources in [engine] of fairshare.toml, or do not declare it",
                "lets such a container wait for ever",
            )


def _minimums_of_nodes(configuration: Configuration) -> Iterator[Finding]:
    """A smallest container of more than half a node: one is all that a node ever holds.

    With nodes of 8192 MB and a minimum of 5120, 3072 MB of each node stay unused.
    """
    engine = configuration.shell.engine
    if not runs_here(engine.kind):
        return
    node = configuration.node_manager
    sizes = {MEMORY: engine.memory_mb or node.memory_mb, VCORES: engine.vcores or node.vcores}
    for (name, size), least in zip(
        sizes.items(), configuration.settings.minimum_allocation, strict=False
    ):
        if size is None or not size / 2 < least or least == size:
            continue
        what = (
            f"is more than a node has ({size}): no container ever starts"
            if least > size
            else f"is more than half a node ({size}): each holds one container, and"
            f" {size - least} of its {name} stay unused"
        )
        yield Finding(
            configuration.site.place(_MINIMUMS[name]),
            f"the smallest container ({name}={least}) {what}",
            "rounds every ask up to the minimum as well",
        )


def judge_draft(
    family: AnyFamily,
    text: str,
    file: str,
    configuration: Configuration,
    cluster: Mapping[str, int] | None = None,
) -> tuple[tuple[Problem, ...], Any]:
    """What there is to say about a draft of `file`, and nothing about other files; and the settings
    that `SchedulerFamily.refusals` has to judge, None if there are none or they cannot be used.

    `cluster` is what all nodes offer together, by type.
    """
    problems = Problems()
    total = cluster_of(cluster, configuration.types) if cluster else None
    settings = family.lint_draft(text, file, configuration, total, problems)
    reported = tuple(p for p in problems.all if p.file == file or p.severity == "error")
    return reported, settings


def judge_change(
    family: AnyFamily,
    store: ConfigurationStore,
    before: Mapping[str, str],
    after: Mapping[str, str],
    read_file: FileReader,
) -> tuple[Problem, ...]:
    """What the rules say of the scheduler's properties after a change, and did not say before it;
    usable both."""
    known = {problem.message for problem in family.lint_properties(store, before, read_file)}
    after_change = family.lint_properties(store, after, read_file)
    return tuple(problem for problem in after_change if problem.message not in known)


SHELL_SUFFIX: Final = PurePath(SHELL_FILE).suffix
"""A file that ends so is read as a fairshare.toml; its resource types need the directory."""


def lint(path: Path, cluster: Mapping[str, int] | None = None) -> tuple[Problem, ...]:
    """Everything there is to say about a configuration directory, or one file of it.

    `cluster` is what all nodes offer together; without it, rules that need it look at less.
    Raises UnknownResourceType.
    """
    problems = Problems()
    if path.is_dir():
        _lint_directory(path, cluster, problems)
    else:
        _lint_file(path, cluster, problems)
    return problems.all


def _lint_directory(path: Path, cluster: Mapping[str, int] | None, problems: Problems) -> None:
    configuration = collect_directory(path, problems)
    if configuration is None:
        return
    report_unknown(configuration.site, problems)
    for rule, finding in services(configuration):
        add_findings(rule, (finding,), problems)
    report_not_honoured(configuration.site, problems)
    family = family_of(configuration.scheduler)
    unread = any(problem.rule == TOML for problem in problems.errors)
    if family.grants_minimum and (path / SHELL_FILE).is_file() and not unread:  # nodes are known
        for rule, finding in findings(configuration):
            add_findings(rule, (finding,), problems)
    total = cluster_of(cluster, configuration.types) or _nodes_of(configuration)
    family.lint_directory(configuration, total, problems)


def _lint_file(path: Path, cluster: Mapping[str, int] | None, problems: Problems) -> None:
    try:
        document = path.read_bytes()
    except OSError as error:
        problems.error(Place(str(path)), "file", f"cannot be read: {error.strerror}")
        return
    if path.suffix == SHELL_SUFFIX:
        read_shell(document, str(path), problems, sections=section_types())
        return
    top = parse(document, str(path), problems)
    if top is None:
        return
    by_elements = family_of_elements(top)
    if top.name != "configuration" or by_elements.name != FILE_DEFAULT:
        by_elements.lint_elements(path, document, cluster, problems)
        return
    site = read_site([(str(path), document)], problems, os.environ)
    if names_scheduler(site):
        family = named_family(site, problems)
    else:
        owners = [one for one in all_families().values() if one.owns_site(site, path.name)]
        family = owners[0] if owners else family_of(FILE_DEFAULT)
    if family is not None:
        own = read_site([(str(path), document)], Problems(), os.environ, misplaced=family.misplaced)
        family.lint_site(path, own, cluster, problems)
        report_unknown(own, problems)


def _nodes_of(configuration: Configuration) -> Resource | None:
    """What the nodes of fairshare.toml offer together, where it says so."""
    engine = configuration.shell.engine
    if engine.memory_mb is None or engine.vcores is None:
        return None
    node = {**engine.resources, MEMORY: engine.memory_mb, VCORES: engine.vcores}
    return tuple(engine.nodes * node.get(name, 0) for name in configuration.types.names)
