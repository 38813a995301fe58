"""Owns the linting of a directory or of a single file: which scheduler's rules judge it.

Opens files. Knows no rule by name and nothing of terminals.
"""

import os
from collections.abc import Mapping
from pathlib import Path, PurePath
from typing import Final

from fairshare.config.findings import add_findings
from fairshare.config.problems import Place, Problem, Problems
from fairshare.config.shell import FILE as SHELL_FILE
from fairshare.config.shell import read_shell
from fairshare.config.site_files import read_site
from fairshare.config.xml import parse
from fairshare.families import node_rules
from fairshare.families.choice import named_family, names_scheduler
from fairshare.families.cluster_size import cluster_of
from fairshare.families.configuration import Configuration
from fairshare.families.dialects import family_of_elements
from fairshare.families.directory import collect_directory
from fairshare.families.registry import FILE_DEFAULT, all_families, family_of, section_types
from fairshare.model.resources import MEMORY, VCORES, Resource

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
    family = family_of(configuration.scheduler)
    if family.grants_minimum and (path / SHELL_FILE).is_file():  # else no nodes are known
        for rule, finding in node_rules.findings(configuration):
            add_findings(rule, (finding,), problems)
    total = cluster_of(cluster, configuration.types) or _nodes_of(configuration)
    family.lint_directory(configuration, total, problems)


def _lint_file(path: Path, cluster: Mapping[str, int] | None, problems: Problems) -> None:
    document = _read(path, problems)
    if document is None:
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
        family.lint_site(path, site, cluster, problems)


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
