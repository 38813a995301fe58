"""Owns the linting of a directory or of a single file: which parts are read, and what is found.

Opens files. Knows no rule by name and nothing of terminals.
"""

import os
from collections.abc import Mapping
from pathlib import Path, PurePath
from typing import Final

from fairshare.config.findings import add_findings
from fairshare.config.pools_switches import PoolSwitches
from fairshare.config.problems import Place, Problem, Problems
from fairshare.config.shell import FILE as SHELL_FILE
from fairshare.config.shell import read_shell
from fairshare.config.site import Site
from fairshare.config.site_files import file_reader, read_site
from fairshare.config.xml import parse
from fairshare.errors import FairshareError
from fairshare.families import node_rules
from fairshare.families.capacity.lint.registry import RULES as CAPACITY_RULES
from fairshare.families.capacity.lint.subject import CapacitySubject
from fairshare.families.capacity.monitor import read_auto_refresh
from fairshare.families.capacity.names import PREFIX as CAPACITY
from fairshare.families.capacity.reading import CAPACITY_FILE, SHIPPED, collect_capacity
from fairshare.families.choice import CLASS, TASK_SCHEDULER, choose_scheduler
from fairshare.families.configuration import Configuration
from fairshare.families.dialects import has_pools
from fairshare.families.directory import collect_directory
from fairshare.families.fair.lint.registry import apply_rules
from fairshare.families.fair.lint.subject import Subject, find_elements
from fairshare.families.fair.reading import collect_fair
from fairshare.families.fifo.reading import collect_fifo
from fairshare.families.pools.lint.registry import RULES as POOLS_RULES
from fairshare.families.pools.lint.subject import PoolsSubject
from fairshare.families.pools.reading import collect_pools
from fairshare.model.resources import MEMORY, VCORES, Resource, ResourceTypes
from fairshare.schedulers.capacity.settings import CapacitySettings
from fairshare.schedulers.fair.settings import FairSettings
from fairshare.schedulers.pools.settings import PoolsSettings

SHELL_SUFFIX: Final = PurePath(SHELL_FILE).suffix
"""A file that ends so is read as a fairshare.toml; its resource types need the directory."""


class UnknownResourceType(FairshareError):
    """The size of the cluster names a type that the configuration does not have."""


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
    if configuration is not None and (path / SHELL_FILE).is_file():  # else no nodes are known
        for rule, finding in node_rules.findings(configuration):
            add_findings(rule, (finding,), problems)
    if configuration is not None and configuration.capacity is not None:
        total = cluster_of(cluster, configuration.types) or _nodes_of(configuration)
        name = str(path / CAPACITY_FILE)
        _apply_capacity(configuration.capacity, configuration.site, name, total, True, problems)
    if configuration is not None and configuration.pools is not None:
        total = cluster_of(cluster, configuration.types) or _nodes_of(configuration)
        file = configuration.allocation_path
        document = None if file is None else _read(file, Problems())
        _apply_pools(configuration.pools, configuration.site, document, str(file), total, problems)
    if configuration is None or configuration.fair is None:
        return
    file = configuration.allocation_path
    document = None if file is None else _read(file, Problems())
    total = cluster_of(cluster, configuration.types) or _nodes_of(configuration)
    _apply(configuration.fair, configuration.site, document, str(file), total, True, problems)


def _lint_file(path: Path, cluster: Mapping[str, int] | None, problems: Problems) -> None:
    document = _read(path, problems)
    if document is None:
        return
    if path.suffix == SHELL_SUFFIX:
        read_shell(document, str(path), problems)
        return
    top = parse(document, str(path), problems)
    if top is None:
        return
    if has_pools(top):
        _lint_pools_file(path, document, cluster, problems)
        return
    if top.name != "configuration":  # the allocation file, or what cannot be one
        site = Site.of({})
        settings = collect_fair(site, document, str(path), problems)
        total = cluster_of(cluster, settings.types)
        _apply(settings, site, document, str(path), total, False, problems)
        return
    site = read_site([(str(path), document)], problems, os.environ)
    chosen: str | None = "fair"
    named = CLASS in site or TASK_SCHEDULER in site
    if not named and (site.names(CAPACITY) or path.name == CAPACITY_FILE):
        _lint_capacity_file(path, site, cluster, problems)
        return
    if named:
        chosen = choose_scheduler(site, str(path), False, False, problems)
    if chosen == "fair":
        settings = collect_fair(site, None, "", problems)
        total = cluster_of(cluster, settings.types)
        _apply(settings, site, None, "", total, True, problems)
    elif chosen == "fifo":
        collect_fifo(site, problems)
    elif chosen == "pools":
        pools = collect_pools(site, None, "", problems)
        total = cluster_of(cluster, pools.types)
        _apply_pools(pools, site, None, "", total, problems)
    elif chosen == "capacity" and site.names(CAPACITY + "root."):
        _lint_capacity_file(path, site, cluster, problems)
    elif chosen == "capacity":
        # The queues stand in another file: what is said here is judged beside the one it ships.
        shipped = site.with_values(SHIPPED, str(path))
        _lint_capacity_file(path, shipped, cluster, problems)


def _lint_pools_file(
    path: Path, document: bytes, cluster: Mapping[str, int] | None, problems: Problems
) -> None:
    """A pools file by itself: which release reads it is open, so it may say what the last knows."""
    site = Site.of({})
    switches = PoolSwitches(generation="1.2")
    settings = collect_pools(site, document, str(path), problems, switches)
    total = cluster_of(cluster, settings.types)
    _apply_pools(settings, site, document, str(path), total, problems, has_site=False)


def _lint_capacity_file(
    path: Path, site: Site, cluster: Mapping[str, int] | None, problems: Problems
) -> None:
    """One file of the Capacity Scheduler: what yarn-site.xml says is open, unless it is that."""
    read_auto_refresh(site, problems)
    settings = collect_capacity(site, problems, str(path), file_reader(path.parent))
    total = cluster_of(cluster, settings.types)
    has_site = path.name != CAPACITY_FILE and CLASS in site
    _apply_capacity(settings, site, str(path), total, has_site, problems)


def _apply_capacity(
    settings: CapacitySettings,
    site: Site,
    file: str,
    cluster: Resource | None,
    has_site: bool,
    problems: Problems,
) -> None:
    subject = CapacitySubject(settings, site, file, cluster, has_site)
    for name, rule in CAPACITY_RULES.items():
        add_findings(name, rule(subject), problems)


def _apply_pools(
    settings: PoolsSettings,
    site: Site,
    document: bytes | None,
    file: str,
    cluster: Resource | None,
    problems: Problems,
    *,
    has_site: bool = True,
) -> None:
    subject = PoolsSubject(settings, site, document, file, cluster, has_site=has_site)
    for name, rule in POOLS_RULES.items():
        add_findings(name, rule(subject), problems)


def _apply(
    settings: FairSettings,
    site: Site,
    document: bytes | None,
    file: str,
    cluster: Resource | None,
    has_site: bool,
    problems: Problems,
) -> None:
    elements = None if document is None else find_elements(document, file, settings.types)
    apply_rules(Subject(settings, site, elements, cluster, has_site), problems)


def cluster_of(cluster: Mapping[str, int] | None, types: ResourceTypes) -> Resource | None:
    """The vector of a cluster that somebody has described; types that are not named are 0."""
    if cluster is None:
        return None
    try:
        return types.vector(cluster)
    except KeyError as error:
        known = ", ".join(types.names)
        message = f"there is no resource type {error.args[0]!r} (there are {known})"
        raise UnknownResourceType(message) from error


def _nodes_of(configuration: Configuration) -> Resource | None:
    """What the nodes of fairshare.toml offer together, where it says so."""
    engine = configuration.shell.engine
    if engine.memory_mb is None or engine.vcores is None:
        return None
    node = {**engine.resources, MEMORY: engine.memory_mb, VCORES: engine.vcores}
    return tuple(engine.nodes * node.get(name, 0) for name in configuration.types.names)


def _read(path: Path, problems: Problems) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError as error:
        problems.error(Place(str(path)), "file", f"cannot be read: {error.strerror}")
        return None
