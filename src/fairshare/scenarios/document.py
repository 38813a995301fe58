"""Owns the form of a scenario file: which keys there are and what they may hold.

Turns YAML into `steps.Scenario`, or names every mistake with its line. Knows nothing of what the
steps do; the steps' own keys are in `step_forms.py`, the checks' keys in `expectations.py`.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from fairshare.config.located import Node
from fairshare.config.problems import Problems
from fairshare.config.yaml_tree import read_yaml
from fairshare.errors import ConfigurationError, FairshareError
from fairshare.families.registry import all_families, family_of_public_name
from fairshare.scenarios.configuration import JOBS
from fairshare.scenarios.expectations import CHECKS, JOB_CHECKS, read_checks
from fairshare.scenarios.fields import RULE, Fields, unknown_word
from fairshare.scenarios.files import fill_in
from fairshare.scenarios.job_step_forms import JOB_STEPS
from fairshare.scenarios.step_forms import (
    STEPS,
    StepForm,
    read_files,
    read_node_group,
    read_properties,
)
from fairshare.scenarios.steps import Expect, NodeGroup, Scenario, Step

VERSION: Final = 1
SITE_FILES: Final = ("yarn-site.xml", "mapred-site.xml", "resource-types.xml")


class NotAScenario(FairshareError):
    """The file is YAML, and does not say that it is a scenario."""


def config_names() -> tuple[str, ...]:
    """The files that a configuration of a scenario may have."""
    own = (name for family in all_families().values() for name in family.files)
    return tuple(dict.fromkeys((*own, *SITE_FILES)))


def read_scenario(text: str, file: str, directory: Path | None = None) -> Scenario:
    """The scenario of a file's text; `file` is the name that problems carry.

    Paths of configuration files count from `directory`; with None there can be none. Raises
    ConfigurationError with every mistake, and NotAScenario without a key `scenario`.
    """
    problems = Problems()
    root = read_yaml(text, file, problems)
    if root is not None and (root.entries is None or "scenario" not in root.entries):
        problems.raise_errors()
        raise NotAScenario(f"{file}: not a scenario: it has no key 'scenario: {VERSION}'")
    if root is not None:
        fill_in(root, config_names(), directory, problems)
    scenario = None if root is None else _read(root, file, problems)
    problems.raise_errors()
    if scenario is None:
        raise ConfigurationError(problems.all)
    return scenario


def _read(root: Node, file: str, problems: Problems) -> Scenario:
    fields = Fields(root, "", problems)
    version = fields.need("scenario")
    if version is not None and version.text != str(VERSION):
        message = f"scenario is {version.text!r}: this program reads version {VERSION}"
        problems.error(version.place, RULE, message)
    scheduler = fields.needed_text("scheduler")
    family = family_of_public_name(scheduler)
    if scheduler and family is None:
        place = fields.entries["scheduler"].place
        known = [one.public_name for one in all_families().values()]
        problems.error(place, RULE, unknown_word("scheduler", scheduler, known))
    jobs = family is not None and family.jobs is not None
    fields.text("source")
    scenario = Scenario(
        file=file,
        name=fields.text("name"),
        scheduler=scheduler,
        config=_config(fields),
        properties=_properties(fields),
        groups=_groups(fields),
        nodes=_nodes(fields),
        error=fields.error(),
        steps=_steps(fields, jobs),
        unlike_hadoop=fields.text("unlike_hadoop"),
        **(_of_mapreduce(fields) if jobs else {}),
    )
    if scenario.error and scenario.steps:
        message = "a configuration that must be refused at the start ('error') can have no steps"
        problems.error(root.place, RULE, message)
    fields.finish()
    return scenario


def _config(fields: Fields) -> dict[str, str]:
    node = fields.get("config")
    if node is None:
        return {}
    inner = Fields(node, "config", fields.problems)
    names = config_names()
    texts = read_files(inner, names)
    inner.finish(names)
    return texts


def _properties(fields: Fields) -> dict[str, str | None]:
    node = fields.get("properties")
    return {} if node is None else read_properties(fields, node, "properties")


def _groups(fields: Fields) -> dict[str, tuple[str, ...]]:
    node = fields.get("groups")
    if node is None:
        return {}
    inner = Fields(node, "groups", fields.problems)
    return {user: inner.texts(user) for user in inner.entries}


def _nodes(fields: Fields) -> tuple[NodeGroup, ...]:
    node = fields.get("nodes")
    if node is None:
        return ()
    groups = tuple(
        group
        for number, item in enumerate(fields.items_of(node, "nodes"))
        if (group := read_node_group(fields, item, f"nodes[{number}]")) is not None
    )
    seen: set[str] = set()
    for name in (name for group in groups for name in group.names):
        if name in seen:
            fields.wrong(node.place, f"the node {name!r} is given twice in nodes")
        seen.add(name)
    return groups


def _of_mapreduce(fields: Fields) -> dict[str, Any]:
    """What only scenarios of MapReduce have."""
    fields.text("hadoop_differs")
    written = fields.needed_text("generation")
    if written and written not in JOBS.generations:
        place = fields.entries["generation"].place
        fields.wrong(place, unknown_word("generation", written, JOBS.generations))
    switches = {
        "generation": written,
        "strict": fields.boolean("strict", False),
        "wait_for_maps": fields.boolean("wait_for_maps", True),
    }
    return {"job_switches": switches}


def _steps(fields: Fields, of_jobs: bool) -> tuple[Step, ...]:
    node = fields.get("steps")
    if node is None:
        return ()
    forms, checks = (JOB_STEPS, JOB_CHECKS) if of_jobs else (STEPS, CHECKS)
    items = fields.items_of(node, "steps")
    steps = (_step(item, fields.problems, forms, checks) for item in items)
    return tuple(step for step in steps if step is not None)


def _step(
    node: Node,
    problems: Problems,
    forms: Mapping[str, StepForm],
    checks: Mapping[str, frozenset[str]],
) -> Step | None:
    entries = node.entries
    if entries is None or len(entries) != 1:
        found = node.kind if entries is None else f"{len(entries)} keys: {', '.join(entries)}"
        message = f"a step is a mapping with one key such as 'update: 1', found {found}"
        problems.error(node.place, RULE, message)
        return None
    ((kind, argument),) = entries.items()
    line = node.place.line
    if kind == "expect":
        return Expect(line=line, kind=kind, checks=read_checks(argument, problems, checks))
    if kind not in forms:
        message = unknown_word("step", kind, (*forms, "expect"))
        problems.error(node.keys[kind], RULE, message)
        return None
    return forms[kind].read(kind, argument, line, problems)
