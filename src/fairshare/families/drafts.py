"""Owns what there is to say about a draft, or about properties that documents have changed, beside
the files that a server was started with.

Opens no file but those that the draft's properties name. Knows no rule by name.
"""

from collections.abc import Mapping
from typing import Any

from fairshare.config.problems import Problem, Problems
from fairshare.config.site_files import FileReader
from fairshare.families.cluster_size import cluster_of
from fairshare.families.configuration import Configuration
from fairshare.families.family import AnyFamily
from fairshare.families.store import ConfigurationStore


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
