"""Owns the order in which a configuration is converted, and the whole that comes out.

Pure but for what it was given. Knows no part of the conversion itself.
"""

from collections.abc import Mapping

import msgspec

from fairshare.config.problems import Problem
from fairshare.errors import FairshareError
from fairshare.families.capacity.family import CapacityFamily
from fairshare.families.fair_to_capacity.capacities import convert_capacities
from fairshare.families.fair_to_capacity.checking import check_conversion
from fairshare.families.fair_to_capacity.creation import convert_creation
from fairshare.families.fair_to_capacity.draft import Draft
from fairshare.families.fair_to_capacity.elements import convert_elements, convert_limits
from fairshare.families.fair_to_capacity.files import capacity_text, companion_files
from fairshare.families.fair_to_capacity.finding import Finding
from fairshare.families.fair_to_capacity.maximums import Maximums
from fairshare.families.fair_to_capacity.options import Options
from fairshare.families.fair_to_capacity.placement import Placement
from fairshare.families.fair_to_capacity.policies import convert_policies, is_dominant
from fairshare.families.fair_to_capacity.preemption import convert_preemption
from fairshare.families.fair_to_capacity.properties import convert_properties
from fairshare.families.fair_to_capacity.source import Source
from fairshare.families.fair_to_capacity.tree import Tree
from fairshare.model.resources import Resource
from fairshare.schedulers.capacity.settings import CapacitySettings


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
    return Conversion(
        files=files,
        findings=tuple(_in_order(draft.findings, tree)),
        settings=settings,
        problems=problems,
        names={name: queue.path for name, queue in tree.queues.items()},
        guarantees=guarantees,
        children={queue.name: len(queue.children) for queue in tree.parents},
    )


def _in_order(findings: list[Finding], tree: Tree) -> list[Finding]:
    """What concerns all queues first, then queue by queue, in the order of the file."""
    position: Mapping[str, int] = {
        queue.name: number for number, queue in enumerate(tree.root.below(), 1)
    }
    return sorted(findings, key=lambda one: position.get(one.queue, 0))
