"""Owns the properties of one queue, or of a template for queues: text to settings, one by one.

Knows nothing of the tree of queues and of what is inherited
(Hadoop: CapacitySchedulerConfiguration).
"""

import copy
from collections.abc import Callable
from typing import Final, Literal, TypeVar

from fairshare.config import literals
from fairshare.config.problems import Problems
from fairshare.config.site import Site
from fairshare.families.capacity.names import LABELS, USERS, WEIGHT, Scope
from fairshare.families.capacity.priorities import read_priority_rules
from fairshare.families.capacity.text import (
    read_capacity_text,
    read_largest_container,
    read_maximum_text,
)
from fairshare.model.queues import LONGEST_NAME, ROOT
from fairshare.model.resources import ResourceTypes
from fairshare.schedulers.capacity.settings import (
    Capacity,
    LabelCapacity,
    Percentage,
    PriorityRule,
    QueueSettings,
)

RULE: Final = "property-value"
REFUSED: Final = "does not start"

Kind = Literal["leaf", "parent", "either"]
"""Which ordering policies a queue may have; `either`: a template's may be any."""

_T = TypeVar("_T")

_STATES: Final = ("RUNNING", "STOPPED")
_PACKAGE: Final = "org.apache.hadoop.yarn.server.resourcemanager.scheduler.policy."
_LEAF_POLICIES: Final = {
    "fifo": "FifoOrderingPolicy",
    "fair": "FairOrderingPolicy",
    "fifo-with-partitions": "FifoOrderingPolicyWithExclusivePartitions",
    "fifo-for-pending-apps": "FifoOrderingPolicyForPendingApps",
}
_PARENT_POLICIES: Final = ("utilization", "priority-utilization")


class QueueReader:
    """Reads scopes. What is wrong in a value is reported at its place, and read as absent."""

    def __init__(
        self,
        site: Site,
        types: ResourceTypes,
        problems: Problems,
        *,
        legacy: bool = True,
        maximum_priority: int = 0,
    ) -> None:
        self._site = site
        self._types = types
        self._problems = problems
        self._legacy = legacy
        self._maximum_priority = maximum_priority
        self._forgives = False

    def forgiving(self) -> "QueueReader":
        """A reader of what Hadoop does not look at when it starts: a wrong value is reported."""
        reader = copy.copy(self)
        reader._forgives = True
        return reader

    def children(self, scope: Scope) -> tuple[str, ...] | None:
        """The short names of the queues right below; None if the file has no list."""
        name = scope.prefix + "queues"
        if name not in self._site:
            return None
        found: dict[str, None] = {}
        for child in self._site.strings(name, self._problems):
            if child in found:
                self._refuse(name, f"{child!r} is given twice, but names must differ")
            elif "." in child:
                self._refuse(name, f"{child!r} has a period, which divides names of queues")
            elif len(scope.path) + len(child) >= LONGEST_NAME:
                self._refuse(
                    name,
                    f"{child[:50]!r} and the queues above have more than the {LONGEST_NAME}"
                    " characters that a full name may have",
                )
            else:
                found[child] = None
        return tuple(found)

    def makes_queues(self, scope: Scope) -> bool:
        """Whether queues may be made below this one on demand, so that it is a parent."""
        return any(
            self._boolean(scope, suffix, False)
            for suffix in ("auto-queue-creation-v2.enabled", "auto-create-child-queue.enabled")
        )

    def state(self, scope: Scope) -> str | None:
        """The state that is written of a queue, in capitals; None: none."""
        name = scope.prefix + "state"
        text = self._site.text(name, self._problems)
        if text is None:
            return None
        if text.upper() in _STATES:
            return text.upper()
        self._refuse(name, f"{text!r} is not a state that can be set: {' or '.join(_STATES)}")
        return None

    def read(
        self, scope: Scope, kind: Kind, children: tuple[str, ...] | None = None
    ) -> QueueSettings:
        """Everything that is written of a queue or in a template."""
        own = scope.path == ROOT and not scope.template
        # Hadoop asks for some properties only of leaves, and for others only to make a queue.
        of_leaf = self if kind == "leaf" else self.forgiving()
        of_parent = self if kind == "parent" else self.forgiving()
        to_make = self.forgiving()
        return QueueSettings(
            children=children,
            capacity=self._root_capacity(scope) if own else self._capacity(scope, "capacity"),
            maximum_capacity=self._maximum(scope, "maximum-capacity"),
            minimum_user_limit_percent=of_leaf._single(scope, "minimum-user-limit-percent"),
            user_limit_factor=of_leaf._single(scope, "user-limit-factor"),
            user_weights=self._user_weights(scope),
            maximum_applications=of_leaf._integer(scope, "maximum-applications"),
            maximum_parallel_applications=self._integer(scope, "max-parallel-apps"),
            maximum_master_share=self._single(scope, "maximum-am-resource-percent"),
            ordering_policy=self._ordering_policy(scope, kind),
            size_based_weight=self._boolean(
                scope, "ordering-policy.fair.enable-size-based-weight", False
            ),
            enforced_partitions=self._strings(
                scope, "ordering-policy.exclusive-enforced-partitions"
            ),
            priority=self._integer(scope, "priority"),
            default_application_priority=of_leaf._integer(scope, "default-application-priority"),
            state=self.state(scope),
            submit_acl=self._text(scope, "acl_submit_applications"),
            administer_acl=self._text(scope, "acl_administer_queue"),
            priority_rules=self._priority_rules(scope),
            maximum_allocation_mb=self._integer(scope, "maximum-allocation-mb", bits=64),
            maximum_allocation_vcores=self._integer(scope, "maximum-allocation-vcores"),
            maximum_allocation=self._largest_container(scope),
            preemption_disabled=self._boolean(scope, "disable_preemption", False),
            intra_queue_preemption_disabled=self._boolean(
                scope, "intra-queue-preemption.disable_preemption", False
            ),
            maximum_lifetime_s=self._integer(scope, "maximum-application-lifetime", bits=64),
            default_lifetime_s=self._integer(scope, "default-application-lifetime", bits=64),
            allow_zero_capacity_sum=self._boolean(scope, "allow-zero-capacity-sum", False),
            accessible_labels=self._accessible_labels(scope),
            label_capacities={label: self._label(scope, label) for label in scope.labels},
            default_label_expression=self._label_expression(scope),
            dynamic_children=self._boolean(scope, "auto-queue-creation-v2.enabled", False),
            maximum_dynamic_children=to_make._integer(scope, "auto-queue-creation-v2.max-queues"),
            maximum_queue_depth=of_parent._integer(
                scope, "auto-queue-creation-v2.maximum-queue-depth"
            ),
            remove_dynamic=self._boolean(
                scope, "auto-queue-creation-v2.queue-auto-removal.enable", True
            ),
            legacy_dynamic_leaves=self._boolean(scope, "auto-create-child-queue.enabled", False),
            legacy_fail_on_exceeding=self._boolean(
                scope, "auto-create-child-queue.fail-on-exceeding-parent-capacity", False
            ),
            legacy_maximum_leaves=to_make._integer(scope, "auto-create-child-queue.max-queues"),
        )

    # One value each.

    def _refuse(self, name: str, message: str) -> None:
        place = self._site.place(name)
        if self._forgives:
            message = f"{name}: {message}: the default holds"
            self._problems.trap(place, RULE, message, "starts, and looks at it later or never")
        else:
            self._problems.error(place, RULE, f"{name}: {message}", REFUSED)

    def _skipped(self, name: str) -> Callable[[str], None]:
        def report(message: str) -> None:
            place = self._site.place(name)
            self._problems.trap(place, RULE, f"{name}: {message}", "goes on without a word")

        return report

    def _read(self, name: str, read: Callable[[str], _T]) -> _T | None:
        """A value that `read` makes of the text; None if absent or wrong (reported)."""
        text = self._site.text(name, self._problems)
        if text is None:
            return None
        try:
            return read(text)
        except ValueError as error:
            self._refuse(name, str(error))
            return None

    def _text(self, scope: Scope, suffix: str) -> str | None:
        return self._site.text(scope.prefix + suffix, self._problems)

    def _integer(self, scope: Scope, suffix: str, bits: int = 32) -> int | None:
        return self._read(scope.prefix + suffix, lambda text: literals.property_integer(text, bits))

    def _single(self, scope: Scope, suffix: str) -> float | None:
        return self._read(scope.prefix + suffix, literals.single)

    def _boolean(self, scope: Scope, suffix: str, default: bool) -> bool | None:
        name = scope.prefix + suffix
        if name not in self._site:
            return None
        return self._site.boolean(name, default, self._problems)

    def _strings(self, scope: Scope, suffix: str) -> tuple[str, ...] | None:
        name = scope.prefix + suffix
        return self._site.strings(name, self._problems) if name in self._site else None

    def _root_capacity(self, scope: Scope) -> Capacity | None:
        """Root has all there is: what the file says of its capacity is not even looked at."""
        name = scope.prefix + "capacity"
        text = self._site.text(name, self._problems)
        if text is not None and literals.trim(text) not in ("100", "100.0"):
            self._problems.trap(
                self._site.place(name),
                RULE,
                f"{name}: {text!r} has no effect, root always has 100 percent",
                "takes 100 without a word",
            )
        return None if text is None else Percentage(100.0)

    def _capacity(self, scope: Scope, suffix: str) -> Capacity | None:
        name = scope.prefix + suffix
        skipped = self._skipped(name)
        return self._read(
            name,
            lambda text: read_capacity_text(text, self._types, skipped, legacy=self._legacy),
        )

    def _maximum(self, scope: Scope, suffix: str) -> Capacity | None:
        name = scope.prefix + suffix
        skipped = self._skipped(name)
        return self._read(
            name, lambda text: read_maximum_text(text, self._types, skipped, legacy=self._legacy)
        )

    def _label_maximum(self, scope: Scope, suffix: str) -> Capacity | None:
        """Of a label, unlike of the queue, -1 is not taken for 100."""
        found = self._maximum(scope, suffix)
        text = self._text(scope, suffix)
        if isinstance(found, Percentage) and text is not None and "[" not in text:
            percent = literals.single(text)
            if not 0 <= percent <= 100:
                message = f"Illegal capacity of {percent:g}: it must be 0 to 100 percent"
                self._refuse(scope.prefix + suffix, message)
        return found

    def _largest_container(self, scope: Scope) -> dict[str, int] | None:
        name = scope.prefix + "maximum-allocation"
        skipped = self._skipped(name)
        return self._read(name, lambda text: read_largest_container(text, self._types, skipped))

    def _user_weights(self, scope: Scope) -> dict[str, float]:
        weights = {}
        for user in scope.users:
            weight = self._read(f"{scope.prefix}{USERS}{user}{WEIGHT}", literals.single)
            if weight is not None:
                weights[user] = weight
        return weights

    def _ordering_policy(self, scope: Scope, kind: Kind) -> str | None:
        name = scope.prefix + "ordering-policy"
        if name not in self._site:
            return None
        written = self._site.string(name, "", self._problems)
        for word, java in _LEAF_POLICIES.items():
            if written in (word, _PACKAGE + java) and kind != "parent":
                return word
        if written in _PARENT_POLICIES and kind != "leaf":
            return written
        known = {
            "leaf": (*_LEAF_POLICIES,),
            "parent": _PARENT_POLICIES,
            "either": (*_LEAF_POLICIES, *_PARENT_POLICIES),
        }[kind]
        what = {"leaf": "a leaf queue", "parent": "a parent queue", "either": "a queue"}[kind]
        self._refuse(
            name,
            f"Unable to construct the ordering policy {written!r}:"
            f" {what} has one of {', '.join(known)}",
        )
        return None

    def _priority_rules(self, scope: Scope) -> tuple[PriorityRule, ...] | None:
        name = scope.prefix + "acl_application_max_priority"
        found = self._read(name, lambda text: read_priority_rules(text, self._maximum_priority))
        if found is None:
            return None
        rules, lowered = found
        if lowered:
            self._problems.warning(
                self._site.place(name),
                RULE,
                f"{name}: a max_priority above yarn.cluster.max-application-priority"
                f" ({self._maximum_priority}) counts as that",
                "lowers it and warns",
            )
        return rules or None

    def _accessible_labels(self, scope: Scope) -> tuple[str, ...] | None:
        labels = self._strings(scope, "accessible-node-labels")
        if labels is not None and scope.path == ROOT and not scope.template:
            return ("*",)
        return ("*",) if labels and "*" in labels else labels

    def _label(self, scope: Scope, label: str) -> LabelCapacity:
        prefix = f"{LABELS}{label}."
        if scope.path == ROOT and not scope.template:
            # Root has all nodes of every label, whatever the file says.
            for suffix in ("capacity", "maximum-capacity"):
                self._text(scope, prefix + suffix)
            whole = Percentage(100.0)
            share = self._single(scope, prefix + "maximum-am-resource-percent")
            return LabelCapacity(whole, whole, share)
        return LabelCapacity(
            self._capacity(scope, prefix + "capacity"),
            self._label_maximum(scope, prefix + "maximum-capacity"),
            self._single(scope, prefix + "maximum-am-resource-percent"),
        )

    def _label_expression(self, scope: Scope) -> str | None:
        text = self._text(scope, "default-node-label-expression")
        return None if text is None else literals.trim(text)
