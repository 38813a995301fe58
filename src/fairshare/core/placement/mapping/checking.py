"""Owns the validation of mappings at load time: it finds targets that no submission can reach.

With one such rule, Hadoop neither starts nor loads the new rules
(Hadoop: MappingRuleValidationContextImpl).
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from fairshare.core.placement.mapping.placing import VARIABLES
from fairshare.core.placement.mapping.queues import MappingQueues, Unusable, from_root, target
from fairshare.core.placement.mapping.rule import MappingAction, MappingRule


class MappingFault(NamedTuple):
    """A rule, by its position from 0, and the problem of its queue."""

    position: int
    message: str


def faults(rules: Sequence[MappingRule], queues: MappingQueues) -> Iterator[MappingFault]:
    """The rules whose target is unreachable for every submission."""
    for position, rule in enumerate(rules):
        if rule.action != MappingAction.PLACE:
            continue
        try:
            _check(rule.path, queues)
        except Unusable as error:
            what = rule.source or rule.path
            yield MappingFault(position, f"Illegal queue mapping {what!r}: {error}")


def _check(path: str, queues: MappingQueues) -> None:
    parts = path.split(".")
    fixed: list[str] = []
    for part in parts:
        if not part:
            raise Unusable(f"the path {path!r} has an empty part")
        if part in VARIABLES:
            _check_beginning(path, fixed, queues)
            return
        fixed.append(part)
    target(path, queues, create=True)


def _check_beginning(path: str, fixed: list[str], queues: MappingQueues) -> None:
    """Raise Unusable unless the part of the path before the first variable is a parent queue, or
    can be created below one."""
    if not fixed:
        return
    beginning = from_root(".".join(fixed), queues)
    if queues.find(beginning) is not None:
        if queues.is_leaf(beginning):
            raise Unusable(
                f"{beginning!r} is a leaf queue: nothing can be below it, as in {path!r}"
            )
        return
    above = beginning.rpartition(".")[0]
    found = queues.find(above)
    if found is None or queues.is_leaf(found) or not queues.makes_leaves(found):
        raise Unusable(f"there is no queue {beginning!r}, and nothing on {path!r} could create it")
