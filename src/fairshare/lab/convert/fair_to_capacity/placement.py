"""What becomes of placement rules: mapping rules in JSON, and queues that create others.

    specified                       %specified
    user                            root.%user, below the nested rule's queue if there is one
    primaryGroup                    root.%primary_group, likewise
    secondaryGroupExistingQueue     root.%secondary_group, never made
    default, reject                 that queue, reject

A rule that gives no queue is skipped, as there. In the end all else is refused: without that the
Capacity Scheduler would take the queue's name as it was submitted (Hadoop: CSMappingPlacementRule).
Queues are made on demand in the newer way (`auto-queue-creation-v2`): one that is made has weight
1, as in the Fair Scheduler.
"""

import json
from typing import Any, Final

from fairshare.core.model.queues import ROOT
from fairshare.core.placement.rules import RuleSettings, derived_rules
from fairshare.lab.convert.fair_to_capacity.draft import Draft, Options, Outcome
from fairshare.lab.convert.fair_to_capacity.elements import master_part, set_order
from fairshare.lab.convert.fair_to_capacity.maximums import Maximums
from fairshare.lab.convert.fair_to_capacity.source import Source
from fairshare.lab.convert.fair_to_capacity.tree import Queue, Tree

_CREATION: Final = "auto-queue-creation-v2."
_EXPIRATION_S: Final = 10
"""The interval at which the Fair Scheduler looks for empty queues."""


def convert_creation(source: Source, tree: Tree, maximums: Maximums, draft: Draft) -> bool:
    """Write which queues create others, and their templates; whether there are any."""
    for queue in tree.root.below():
        if not queue.makes_queues and not queue.leaf and not queue.children:
            queue.makes_queues = True
            draft.note(
                queue.name,
                "empty-parent",
                "type",
                "parent",
                "changed",
                f"{_CREATION}enabled=true",
                "a queue without queues in it is a leaf, unless it makes them on demand",
                source.place(queue.name),
            )
        if queue.makes_queues:
            draft.set_queue(queue.path, f"{_CREATION}enabled", "true")
            _templates(source, queue, maximums, draft)
        elif queue.own.max_child_share is not None:
            maximums.template(queue)
    makers = any(queue.makes_queues for queue in tree.root.below())
    if makers:
        draft.set(f"{_CREATION}queue-expiration-time", str(_EXPIRATION_S))
    return makers


def _templates(source: Source, queue: Queue, maximums: Maximums, draft: Draft) -> None:
    allocations = source.settings.allocations
    share, _, _ = master_part(allocations.queue_max_master_share_default)
    for owner in (queue.path, f"{queue.path}.*"):  # the second level, such as users of a group
        template = f"{_CREATION}leaf-template."
        set_order(source, owner, allocations.default_policy, draft, template)
        draft.set_queue(owner, f"{template}maximum-am-resource-percent", share)
    largest = maximums.template(queue)
    if largest is not None:
        draft.set_queue(queue.path, f"{_CREATION}leaf-template.maximum-capacity", largest)


DEFAULT_QUEUE: Final = "root.default"

_VARIABLES: Final = {
    "specified": "%specified",
    "user": "%user",
    "nestedUserQueue": "%user",
    "primaryGroup": "%primary_group",
    "secondaryGroupExistingQueue": "%secondary_group",
}
_POLICIES: Final = {
    "%user": "user",
    "%primary_group": "primaryGroup",
    "%secondary_group": "secondaryGroup",
    "root.%primary_group.%user": "primaryGroupUser",
    "root.%secondary_group.%user": "secondaryGroupUser",
}


class Placement:
    """Converts the rules of a file, or those that hold without any."""

    def __init__(self, source: Source, tree: Tree, options: Options, draft: Draft) -> None:
        self._source = source
        self._tree = tree
        self._options = options
        self._draft = draft
        self._mappings: list[dict[str, Any]] = []

    def convert(self) -> None:
        """Write the mappings. May add queues, and lets parents make queues: before all else."""
        settings = self._source.settings
        rules = settings.allocations.rules
        if rules is None:
            rules = derived_rules(
                user_as_default=settings.user_as_default_queue,
                allow_undeclared=settings.allow_undeclared_pools,
            )
        for rule, following in zip(rules, (*rules[1:], None), strict=True):
            self._rule(rule, following)
        if not (self._mappings and _decides(self._mappings[-1])):
            self._mappings.append(_mapping("reject"))
        self._draft.set("mapping-rule-format", "json")
        text = json.dumps({"rules": self._mappings})
        self._draft.set("mapping-rule-json", text)
        self._draft.set("queue-mappings-override.enable", "true")
        if not self._tree.root.children and not self._tree.root.makes_queues:
            self._tree.add(DEFAULT_QUEUE)  # root needs a queue

    def _rule(self, rule: RuleSettings, following: RuleSettings | None) -> None:
        match rule.name:
            case "reject":
                self._mappings.append(_mapping("reject"))
                self._note(rule, "kept", "reject", "refuses what comes so far")
            case "default":
                self._default(rule)
            case "specified":
                self._specified(rule, following)
            case _:
                self._variable(rule)

    # One rule each.

    def _default(self, rule: RuleSettings) -> None:
        name = _queue_name(rule)
        queue = self._tree.queues.get(name)
        if queue is None and not rule.create:
            self._note(rule, "kept", "", f"there is no queue {name}, and it may not be made")
            return
        if queue is None:
            queue = self._tree.add(name)
        if queue is None or not queue.leaf:
            self._mappings.append(_mapping("reject"))
            why = f"{name} is not a leaf queue: applications that reach it are refused, as before"
            self._note(rule, "kept", "reject", why)
            return
        self._mappings.append(_mapping("custom", customPlacement=queue.path, create=False))
        why = "the queue is always there, and has its share of the weights" if queue.added else ""
        self._note(rule, "changed" if why else "kept", queue.path, why or "the same queue")

    def _specified(self, rule: RuleSettings, following: RuleSettings | None) -> None:
        create = rule.create and self._let_make(self._tree.parents, rule)
        self._mappings.append(_mapping("specified", create=create))
        changes = []
        if create:
            changes.append("queues are made below root and all parents, two levels deep at most")
        if following is not None and following.name != "reject":
            changes.append("who names a parent queue comes to the next rule, and is not refused")
        why = "; ".join((*changes, "a short name finds a queue anywhere, if only one has it"))
        self._note(rule, "changed" if changes else "kept", "%specified", why)

    def _variable(self, rule: RuleSettings) -> None:
        below = self._below(rule)
        if below is None:
            return
        path = f"{below}.{_VARIABLES[rule.name]}"
        create = rule.create and rule.name != "secondaryGroupExistingQueue"
        made = create and self._let_make(self._makers(rule, below), rule)
        policy = _POLICIES.get(path)
        if policy is not None:
            mapping = _mapping(policy, parentQueue=ROOT, create=made)
        elif "%" not in below:
            mapping = _mapping(_POLICIES[_VARIABLES[rule.name]], parentQueue=below, create=made)
        else:
            mapping = _mapping("custom", customPlacement=path, create=made)
        self._mappings.append(mapping)
        outcome, why = self._verdict(rule, create, made)
        self._note(rule, outcome, path, why)

    def _below(self, rule: RuleSettings) -> str | None:
        """The path, with variables, that a rule appends its own part to; None: it never places."""
        nested = rule.parent
        if nested is None:
            return ROOT
        if nested.name == "specified":
            return "%specified"
        if nested.name != "default":
            return f"{ROOT}.{_VARIABLES[nested.name]}"
        name = _queue_name(nested)
        queue = self._tree.queues.get(name)
        if queue is None and nested.create:
            queue = self._tree.add(name, parent=True)
        if queue is None or queue.leaf:
            what = "is a leaf queue" if queue is not None else "is not there"
            self._note(rule, "kept", "", f"{name} {what}: the rule never gave a queue")
            return None
        return queue.path

    def _makers(self, rule: RuleSettings, below: str) -> list[Queue]:
        """The parents that must make queues for a rule that creates."""
        nested = rule.parent
        if nested is None:
            return [self._tree.root]
        if nested.name == "default":
            return [queue for queue in self._tree.parents if queue.path == below]
        direct = [queue for queue in self._tree.root.children if not queue.leaf]
        if nested.name == "specified":
            direct = self._tree.parents
        may_make = nested.create and nested.name != "secondaryGroupExistingQueue"
        return [self._tree.root, *direct] if may_make else direct

    def _let_make(self, makers: list[Queue], rule: RuleSettings) -> bool:
        """Let parents make queues; whether at least one does. Siblings with percentages or amounts
        leave no room for a queue with a weight."""
        weighted = self._options.mode in ("weights", "vectors")
        able = [queue for queue in makers if weighted or not queue.children]
        for queue in able:
            queue.makes_queues = True
        unable = [queue.name for queue in makers if queue not in able]
        if unable:
            why = (
                f"{', '.join(unable)} has queues with a capacity in {self._options.mode}, beside"
                " which none can be made on demand: --mode weights lets them"
            )
            self._note(rule, "lost", "", why, "creation")
        return bool(able)

    def _verdict(self, rule: RuleSettings, create: bool, made: bool) -> tuple[Outcome, str]:
        nested = rule.parent
        if create and not made:
            return "changed", "only queues that are there are found"
        if rule.name == "secondaryGroupExistingQueue" or (
            nested is not None and nested.name == "secondaryGroupExistingQueue"
        ):
            return "changed", "the user's further groups are looked at, and no longer the first"
        if nested is not None and nested.create != rule.create and nested.name != "default":
            return "changed", "one flag says for both rules whether queues are made"
        if create:
            return "kept", "queues are made on demand, and removed when they are empty"
        return "kept", "only queues that are there are found"

    def _note(
        self, rule: RuleSettings, outcome: Outcome, became: str, why: str, kind: str = "placement"
    ) -> None:
        nested = "" if rule.parent is None else f" in {_rule_text(rule.parent)}"
        place = self._source.place("", "queuePlacementPolicy")
        value = _rule_text(rule) + nested
        self._draft.note("", kind, "rule", value, outcome, became, why, place)


def _mapping(policy: str, **more: object) -> dict[str, Any]:
    """One rule for all users."""
    made = {"type": "user", "matches": "*", "policy": policy, "fallbackResult": "skip"}
    return {**made, **more}


def _decides(mapping: dict[str, Any]) -> bool:
    """Whether no later mapping is asked: it refuses, or names a queue that is always there."""
    return mapping["policy"] == "reject" or "%" not in mapping.get("customPlacement", "%")


def _queue_name(rule: RuleSettings) -> str:
    name = rule.queue or DEFAULT_QUEUE
    return name if name == ROOT or name.startswith(f"{ROOT}.") else f"{ROOT}.{name}"


def _rule_text(rule: RuleSettings) -> str:
    queue = f" {rule.queue}" if rule.queue else ""
    return rule.name + queue + ("" if rule.create else " (does not create)")
