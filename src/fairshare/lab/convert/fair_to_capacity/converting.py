"""The order in which a configuration is converted, the whole that comes out, and what surrounds it:
what is assumed where there is no yarn-site.xml, and the proof that the result can be loaded.

Opens no file: our own reader reads the texts before they are written.
"""

from collections.abc import Mapping

import msgspec

from fairshare.core.model.resources import Resource
from fairshare.core.schedulers.capacity.settings import CapacitySettings
from fairshare.documents.problems import Problem, Problems
from fairshare.errors import FairshareError
from fairshare.lab.convert.fair_to_capacity.capacities import convert_capacities
from fairshare.lab.convert.fair_to_capacity.draft import Draft, Finding, Options
from fairshare.lab.convert.fair_to_capacity.elements import (
    convert_elements,
    convert_limits,
    convert_policies,
    is_dominant,
)
from fairshare.lab.convert.fair_to_capacity.maximums import Maximums
from fairshare.lab.convert.fair_to_capacity.placement import Placement, convert_creation
from fairshare.lab.convert.fair_to_capacity.properties import convert_preemption, convert_properties
from fairshare.lab.convert.fair_to_capacity.source import Source
from fairshare.lab.convert.fair_to_capacity.texts import capacity_text, companion_files
from fairshare.lab.convert.fair_to_capacity.tree import Tree
from fairshare.settings.capacity.family import CapacityFamily
from fairshare.settings.capacity.names import CAPACITY_FILE
from fairshare.settings.capacity.reading import collect_capacity
from fairshare.settings.directory import SITE_FILES
from fairshare.settings.fair.names import PREFIX
from fairshare.settings.manager import ACL_ENABLED
from fairshare.settings.site_files import read_site


def assumptions(source: Source) -> dict[str, str]:
    """The properties that were not there to be read and matter here, with the values assumed.

    Empty where the properties were read.
    """
    if source.subject.has_site:
        return {}
    settings = source.settings
    least, most = settings.minimum_allocation, settings.maximum_allocation
    assumed: dict[str, object] = {
        f"{PREFIX}preemption": settings.preemption,
        ACL_ENABLED: settings.acl_enabled,
        f"{PREFIX}assignmultiple": settings.assign_multiple,
        f"{PREFIX}locality.threshold.node": settings.locality_threshold_node,
        f"{PREFIX}locality.threshold.rack": settings.locality_threshold_rack,
        f"{PREFIX}sizebasedweight": settings.size_based_weight,
        f"{PREFIX}continuous-scheduling-enabled": settings.continuous_scheduling,
    }
    if settings.allocations.rules is None:
        assumed[f"{PREFIX}user-as-default-queue"] = settings.user_as_default_queue
        assumed[f"{PREFIX}allow-undeclared-pools"] = settings.allow_undeclared_pools
    assumed |= {
        "yarn.scheduler.minimum-allocation-mb": least[0],
        "yarn.scheduler.increment-allocation-mb": settings.increment_allocation[0],
        "yarn.scheduler.maximum-allocation-mb": most[0],
        "yarn.scheduler.maximum-allocation-vcores": most[1],
    }
    return {name: _text(value) for name, value in assumed.items()}


def _text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)


def check_conversion(files: Mapping[str, bytes]) -> tuple[CapacitySettings, tuple[Problem, ...]]:
    """The settings that the files say, and what the reader has to say about the new file.

    Raises ConfigurationError with everything for which they would not be loaded.
    """
    problems = Problems()
    documents = [(name, files[name]) for name in (*SITE_FILES, CAPACITY_FILE) if name in files]
    site = read_site(documents, problems)
    settings = collect_capacity(site, problems, CAPACITY_FILE)
    problems.raise_errors()
    reported = tuple(problem for problem in problems.all if problem.file == CAPACITY_FILE)
    return settings, reported


class NeedsCluster(FairshareError):
    """A way of writing shares that needs the size of the cluster, which is not given."""


class Conversion(msgspec.Struct, frozen=True):
    """What came out.

    `files` are complete texts by name, as Hadoop reads them; `settings` is what our own reader
    makes of them, and `problems` what it says. `names` gives each queue's new path by its old name.
    `guarantees` are the capacities on the cluster, if that is known, and `children` how many queues
    each parent has; both by old name.
    """

    files: dict[str, bytes]
    findings: tuple[Finding, ...]
    settings: CapacitySettings
    problems: tuple[Problem, ...]
    names: dict[str, str]
    guarantees: dict[str, Resource]
    children: dict[str, int]
    scheduler: str = CapacityFamily.name


def convert(source: Source, options: Options) -> Conversion:
    """Convert; raises NeedsCluster, and ConfigurationError if the result cannot be loaded."""
    if options.mode == "absolute" and options.cluster is None:
        raise NeedsCluster(
            "--mode absolute writes amounts, which needs the size of the cluster:"
            " say --cluster memory-mb=81920,vcores=80"
        )
    draft = Draft()
    tree = Tree(source, draft)
    Placement(source, tree, options, draft).convert()
    dominant = is_dominant(source, tree, options)
    for parent in tree.root.below():
        if parent.children:
            shorts = (child.path.rpartition(".")[2] for child in parent.children)
            draft.set_queue(parent.path, "queues", ",".join(shorts))
    guarantees = convert_capacities(source, tree, options, draft)
    maximums = Maximums(source, options, dominant, guarantees, draft)
    maximums.convert(tree)
    convert_elements(source, tree, draft)
    convert_limits(source, tree, draft)
    convert_policies(source, tree, dominant, draft)
    makes_queues = convert_creation(source, tree, maximums, draft)
    convert_preemption(source, tree, makes_queues, draft)
    convert_properties(source, options, draft)
    files = {
        "capacity-scheduler.xml": capacity_text(draft.capacity),
        **companion_files(source, draft.site),
    }
    settings, problems = check_conversion(files)
    # What concerns all queues comes first, then queue by queue, in the order of the file.
    position = {queue.name: number for number, queue in enumerate(tree.root.below(), 1)}
    return Conversion(
        files=files,
        findings=tuple(sorted(draft.findings, key=lambda finding: position.get(finding.queue, 0))),
        settings=settings,
        problems=problems,
        names={name: queue.path for name, queue in tree.queues.items()},
        guarantees=guarantees,
        children={queue.name: len(queue.children) for queue in tree.parents},
    )
