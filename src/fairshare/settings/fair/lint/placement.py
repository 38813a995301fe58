"""Owns the rules about placement: rules that never decide, queues that refuse
(Hadoop: FSPlacementRule)."""

from collections.abc import Iterator

from fairshare.core.model.queues import ROOT, full_name
from fairshare.core.placement.rules import RuleSettings
from fairshare.documents.problems import Finding, Place
from fairshare.settings.fair.lint.subject import Subject
from fairshare.settings.fair.names import PREFIX

_AS_DEFAULT = PREFIX + "user-as-default-queue"
_UNDECLARED = PREFIX + "allow-undeclared-pools"
_POLICY = "queuePlacementPolicy"
_DEFAULT_QUEUE = "root.default"


def rule_never_reached(subject: Subject) -> Iterator[Finding]:
    """A rule behind a like one that gives all that it could."""
    creates: dict[tuple[str, str, RuleSettings | None], bool] = {}
    for place, rule in _placed_rules(subject):
        like = (rule.name, rule.queue, rule.parent)
        if like in creates and (creates[like] or not _creates(rule)):
            yield Finding(
                place,
                f"the rule {rule.name} never decides: the same rule precedes it",
                "tries it in vain",
            )
        creates[like] = creates.get(like, False) or _creates(rule)


def rule_finds_no_queue(subject: Subject) -> Iterator[Finding]:
    """A rule that may create nothing, and the file has no queue that it could give."""
    for place, rule in _placed_rules(subject):
        if rule.name == "reject" or _creates(rule) or _has_candidate(subject, rule):
            continue
        yield Finding(
            place,
            f"the rule {rule.name} never decides: it may not create queues, and the file has none"
            " that it could give",
            "passes every application on",
        )


def default_queue_is_parent(subject: Subject) -> Iterator[Finding]:
    """The rule `default` gives a queue in which nothing can run."""
    for place, rule in _placed_rules(subject):
        name = full_name(rule.queue or "default")
        if rule.name == "default" and (name == ROOT or subject.queue(name).parent):
            yield Finding(
                place,
                f"the rule default gives {name}, which is a parent queue: what comes there is"
                " refused",
                "rejects the application, because it is not a leaf queue",
            )


def placement_properties_overridden(subject: Subject) -> Iterator[Finding]:
    """Properties that stand for rules, and rules in the file."""
    if subject.allocations.rules is None:
        return
    for name in (_AS_DEFAULT, _UNDECLARED):
        if name in subject.site:
            yield Finding(
                subject.site.place(name),
                f"{name} has no effect: the allocation file has a <{_POLICY}>",
                "follows the rules of the file",
                "warning",
            )


def user_queues_not_created(subject: Subject) -> Iterator[Finding]:
    """Users shall have queues of their own, which are never created."""
    settings = subject.settings
    if (
        subject.allocations.rules is None
        and settings.user_as_default_queue
        and not settings.allow_undeclared_pools
    ):
        yield Finding(
            subject.site.place(_AS_DEFAULT, _UNDECLARED),
            f"{_AS_DEFAULT} only holds for users who have a queue in the allocation file, because"
            f" {_UNDECLARED} is false: all others share {_DEFAULT_QUEUE}",
            "places them into root.default",
        )


def default_queue_undeclared(subject: Subject) -> Iterator[Finding]:
    """Undeclared queues are forbidden, and the one that all fall back to is not declared."""
    if (
        subject.allocations.rules is None
        and not subject.settings.allow_undeclared_pools
        and subject.elements is not None
        and _DEFAULT_QUEUE not in subject.allocations.queues
    ):
        yield Finding(
            subject.site.place(_UNDECLARED),
            f"{_UNDECLARED} is false, and the allocation file has no queue default: it is made"
            " nevertheless, without limits of its own, for all whose queue is not declared",
            "creates root.default when an application needs it",
        )


def _creates(rule: RuleSettings) -> bool:
    """Whether a rule may give queues that the file does not have."""
    return rule.create and rule.name != "secondaryGroupExistingQueue"


def _has_candidate(subject: Subject, rule: RuleSettings) -> bool:
    queues = subject.allocations.queues
    if rule.name == "specified":
        return bool(queues)
    if rule.name == "default":
        return full_name(rule.queue or "default") in queues
    if rule.parent is None:
        return bool(subject.children(ROOT))
    if rule.parent.name == "default":
        return bool(subject.children(full_name(rule.parent.queue or "default")))
    return any(subject.children(queue.name) for queue in subject.children(ROOT))


def _placed_rules(subject: Subject) -> list[tuple[Place, RuleSettings]]:
    """The rules with their places; with that of the policy, if a bad rule was left out."""
    rules = subject.allocations.rules or ()
    policies = subject.written(_POLICY)
    if not policies:
        return [(subject.top_place(), rule) for rule in rules]
    _, policy = policies[-1]
    places = [child.place for child in policy.children if child.name.lower() == "rule"]
    if len(places) != len(rules):
        places = [policy.place] * len(rules)
    return list(zip(places, rules, strict=True))
