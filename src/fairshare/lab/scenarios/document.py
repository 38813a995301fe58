"""The form of a scenario file: the struct of its keys, of which those of the steps are in
`steps.py` and `job_steps.py`, and those of the checks in `expectations.py`.

Turns YAML into a `Scenario`, or names every mistake with its line.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec
from msgspec import field

from fairshare.documents.located import Node
from fairshare.documents.problems import Problems
from fairshare.documents.structs import NOT_A_KEY, At, Doc, read
from fairshare.documents.values import TEXT, TEXTS, Reader, Value, by_name, choice, unknown_word
from fairshare.documents.yaml_tree import read_yaml
from fairshare.errors import ConfigurationError, FairshareError
from fairshare.lab.scenarios.expectations import CHECKS, JOB_CHECKS, read_checks
from fairshare.lab.scenarios.files import RULE, fill_in
from fairshare.lab.scenarios.job_steps import JOB_STEPS, JOBS
from fairshare.lab.scenarios.steps import PROPERTIES, REFUSAL, STEPS, Expect, Step, read_step
from fairshare.lab.scenarios.steps import Node as NodeOfScenario
from fairshare.settings.family import AnyFamily
from fairshare.settings.registry import all_families, family_of_public_name
from fairshare.settings.shell import FILE as OWN_FILE

VERSION: Final = 1
SITE_FILES: Final = ("yarn-site.xml", "mapred-site.xml", "resource-types.xml")


class NotAScenario(FairshareError):
    """The file is YAML, and does not say that it is a scenario."""


def config_names() -> tuple[str, ...]:
    """The files that a configuration of a scenario may have."""
    own = (name for family in all_families().values() for name in family.files)
    return tuple(dict.fromkeys((*own, *SITE_FILES, OWN_FILE)))


def _read_version(reader: Reader, node: Node, what: str) -> int | None:
    if node.text == str(VERSION):
        return VERSION
    message = f"scenario is {node.text!r}: this program reads version {VERSION}"
    reader.wrong(node.place, message)
    return None


def _schedulers() -> Value:
    """The name of a scheduler."""
    return choice([family.public_name for family in all_families().values()])


def _config() -> Value:
    """Texts of files, or the directory that has them, whose texts are filled in before."""
    names = config_names()
    words = "texts or paths of " + ", ".join(f"`{name}`" for name in names)
    files = by_name(TEXT, words, names, empty="")
    return Value({"anyOf": [files.schema, TEXT.schema]}, f"{words}; or a directory", files.read)


def _read_later(kind: Callable[[], Value]) -> Value:
    """A kind of value that follows from the schedulers that there are when it is read."""

    def read_now(reader: Reader, node: Node, what: str) -> Any:
        return kind().read(reader, node, what)

    return msgspec.structs.replace(kind(), read=read_now)


_VERSION: Final = Value({"enum": [VERSION]}, f"`{VERSION}`", _read_version)
_GENERATION: Final = Value(
    # without quotes YAML has numbers here, and 0.20 is 0.2
    {"enum": [*JOBS.generations, *map(float, JOBS.generations)]},
    choice(JOBS.generations).words,
    choice(JOBS.generations).read,
)
_SCHEDULER: Final = _read_later(_schedulers)


def _steps_value(forms: Mapping[str, type[Step]], checks: Mapping[str, frozenset[str]]) -> Value:
    def read_steps(reader: Reader, node: Node, what: str) -> tuple[Step, ...]:
        made = (_step(item, reader, forms, checks) for item in reader.items(node, what))
        return tuple(step for step in made if step is not None)

    return Value({"type": "array"}, "list of [steps](#steps)", read_steps)


class Scenario(msgspec.Struct, frozen=True, kw_only=True):
    """The file."""

    file: Annotated[str, NOT_A_KEY] = ""
    version: Annotated[int, _VERSION, Doc("the version of this format")] = field(name="scenario")
    name: Annotated[str, Doc("what the scenario shows")] = ""
    source: Annotated[str, Doc("the source of its numbers")] = ""
    scheduler: Annotated[str, _SCHEDULER, Doc("the scheduler under test")]
    config: Annotated[
        dict[str, str],
        _read_later(_config),
        Doc(
            "Hadoop's files by name, each as inline text or as a path relative to this file's"
            " directory; or the path of a directory that contains them. Of `fairshare.toml` it has"
            " `[fairness]`, `[time_limits]` and `[bookings]`"
        ),
    ] = {}
    properties: Annotated[
        dict[str, str | None],
        PROPERTIES,
        Doc(
            "properties of `yarn-site.xml`; with `capacity` of `capacity-scheduler.xml`, with"
            " `mapreduce` of `mapred-site.xml`",
            "Hadoop's defaults",
        ),
    ] = {}
    groups: Annotated[
        dict[str, tuple[str, ...]],
        by_name(TEXTS, "`{ann: [staff, lab]}`", empty=()),
        Doc("the groups of each user, primary group first"),
    ] = {}
    nodes: Annotated[
        tuple[NodeOfScenario, ...],
        Doc("the cluster at the start", words="list of [nodes](#a-node)"),
    ] = ()
    error: Annotated[
        str | bool | None, REFUSAL, Doc("the configuration must be rejected; there are no steps")
    ] = None
    steps: Annotated[tuple[Step, ...], _steps_value(STEPS, CHECKS), Doc("the steps")] = ()
    unlike_hadoop: Annotated[str, Doc("the reason why Hadoop behaves differently")] = ""

    @property
    def family(self) -> AnyFamily:
        """The family of the scheduler under test."""
        family = family_of_public_name(self.scheduler)
        assert family is not None, f"no scheduler {self.scheduler}"
        return family

    @property
    def job_switches(self) -> dict[str, Any]:
        """What only scenarios of MapReduce have (`Jobs.files`)."""
        return {}

    def check(self, at: At) -> None:
        """Nodes have different names, and what is refused at the start has no steps."""
        names: set[str] = set()
        for name in (name for node in self.nodes for name in node.names):
            if name in names:
                at.wrong(f"the node {name!r} is given twice in nodes", "nodes")
            names.add(name)
        if self.error and self.steps:
            at.wrong(
                "a configuration that must be refused at the start ('error') can have no steps"
            )


class JobScenario(Scenario, frozen=True, kw_only=True):
    """Only with scheduler: mapreduce."""

    generation: Annotated[str, _GENERATION, Doc("the Hadoop release whose behaviour applies")]
    strict: Annotated[bool, Doc("reproduce Hadoop's behaviour even if it appears to be a bug")] = (
        False
    )
    wait_for_maps: Annotated[bool, Doc("whether reduces wait until maps have ended")] = True
    hadoop_differs: Annotated[str, Doc("the reason why Hadoop behaves differently")] = ""
    steps: Annotated[tuple[Step, ...], _steps_value(JOB_STEPS, JOB_CHECKS), Doc("the steps")] = ()

    @property
    def job_switches(self) -> dict[str, Any]:
        """The release, and how it is followed."""
        return {
            "generation": self.generation,
            "strict": self.strict,
            "wait_for_maps": self.wait_for_maps,
        }


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
    scenario = None
    if root is not None and root.entries is not None:
        fill_in(root, config_names(), directory, problems)
        scheduler = root.entries.get("scheduler")
        family = None if scheduler is None else family_of_public_name(scheduler.text)
        of_jobs = family is not None and family.jobs is not None
        reader = Reader(problems, RULE, bare_unit="s")
        scenario = read(root, JobScenario if of_jobs else Scenario, reader)
    problems.raise_errors()
    if scenario is None:
        raise ConfigurationError(problems.all)
    return msgspec.structs.replace(scenario, file=file)


def _step(
    node: Node,
    reader: Reader,
    forms: Mapping[str, type[Step]],
    checks: Mapping[str, frozenset[str]],
) -> Step | None:
    entries = node.entries
    if entries is None or len(entries) != 1:
        kind = node.kind if entries is None else f"{len(entries)} keys: {', '.join(entries)}"
        message = f"a step is a mapping with one key such as 'update: 1', found {kind}"
        reader.wrong(node.place, message)
        return None
    ((kind, argument),) = entries.items()
    line = node.place.line
    if kind == "expect":
        return Expect(line=line, kind=kind, checks=read_checks(argument, reader, checks))
    if kind not in forms:
        reader.wrong(node.keys[kind], unknown_word("step", kind, (*forms, "expect")))
        return None
    return read_step(forms[kind], kind, argument, line, reader)
