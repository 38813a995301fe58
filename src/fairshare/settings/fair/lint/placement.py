"""Rules about placement (rules that never decide, queues that refuse), access lists that admit no
users or all, and properties of yarn-site.xml without effect.

Unknown properties of the Fair Scheduler itself are reported when they are read; those of other
daemons are ignored (Hadoop: FSPlacementRule, FSQueue.hasAccess,
FairScheduler.shouldContinueAssigning, FSAppAttempt.getAllowedLocalityLevel).
"""

from collections.abc import Iterator

from fairshare.core.model.queues import ROOT, full_name
from fairshare.core.placement.rules import RuleSettings
from fairshare.core.schedulers.access_lists import allows_all, named, variable_of
from fairshare.documents.problems import Finding, Place
from fairshare.settings.fair.lint.subject import Subject
from fairshare.settings.fair.names import PREFIX
from fairshare.settings.lint_rules import foreign_properties, open_administration
from fairshare.settings.manager import ACL_ENABLED

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


def nobody_may_submit(subject: Subject) -> Iterator[Finding]:
    """A leaf that no list, of its own or above it, opens to any user."""
    for leaf in subject.leaves:
        lists = [
            acl or ("*" if queue.name == ROOT else " ")
            for queue in subject.path(leaf.name)
            for acl in (queue.submit_acl, queue.administer_acl)
        ]
        if any(allows_all(acl) or any(named(acl)) for acl in lists):
            continue
        yield Finding(
            subject.place(leaf.name, "aclSubmitApps"),
            f"no user may submit to {leaf.name}: all its lists and those above it are blank",
            "rejects every application",
        )


def restriction_void(subject: Subject) -> Iterator[Finding]:
    """A list below a queue that admits all users."""
    for name, element in subject.written("aclSubmitApps"):
        if name in ("", ROOT) or allows_all(element.text):
            continue
        for above in subject.path(name):
            if above.name == name:
                continue
            default = "*" if above.name == ROOT else " "
            lists = (
                ("aclSubmitApps", above.submit_acl),
                ("aclAdministerApps", above.administer_acl),
            )
            opened = [tag for tag, acl in lists if allows_all(default if acl is None else acl)]
            if opened:
                yield Finding(
                    element.text_place,
                    f"aclSubmitApps of {name} excludes none, because {opened[0]} of {above.name}"
                    f" admits all: give {above.name} <{opened[0]}>"
                    f"{' and <aclAdministerApps>' if len(opened) > 1 else ''}, too",
                    "admits users that may submit to, or administer, any queue above",
                )
                break


def administration_opens_submission(subject: Subject) -> Iterator[Finding]:
    """Root restricts submission, but all users may administer, and so submit."""
    root = subject.queue(ROOT)
    if (
        root.submit_acl is not None
        and not allows_all(root.submit_acl)
        and allows_all(root.administer_acl or "*")
    ):
        yield Finding(
            subject.place(ROOT, "aclSubmitApps"),
            "aclSubmitApps of root excludes no users, because administrators of a queue may submit"
            " to it, and root lets all users administer: give root <aclAdministerApps>, too",
            "lets all users submit everywhere",
        )


def administration_unchecked(subject: Subject) -> Iterator[Finding]:
    """Lists of administrators, and `yarn.acl.enable` is off."""
    written = [
        element
        for _, element in subject.written("aclAdministerApps")
        if element.text and not allows_all(element.text)
    ]
    if subject.has_site and not subject.settings.acl_enabled and written:
        yield Finding(
            written[0].place,
            f"aclAdministerApps does not keep others from killing and moving applications:"
            f" {ACL_ENABLED} is not true",
            f"checks it only with {ACL_ENABLED}; submissions are checked in any case",
        )


def all_administer(subject: Subject) -> Iterator[Finding]:
    """Access lists that stop no one, since all users are administrators."""
    yield from open_administration(subject.site, subject.settings.acl_enabled)


def variable_in_list(subject: Subject) -> Iterator[Finding]:
    """Names that look like variables, which lists do not have."""
    for name, element in subject.written("aclSubmitApps", "aclAdministerApps"):
        variable = variable_of(element.text)
        if variable:
            yield Finding(
                element.text_place,
                f"{element.name} of {name} has {variable}, which is not replaced: it names a user"
                " who is called so. List users and groups by their names",
                "looks for a user of this name",
            )


_MULTIPLE = PREFIX + "assignmultiple"
_DYNAMIC = PREFIX + "dynamic.max.assign"
_MOST = PREFIX + "max.assign"
_CONTINUOUS = PREFIX + "continuous-scheduling-enabled"
_SLEEP = PREFIX + "continuous-scheduling-sleep-ms"
_THRESHOLDS = (PREFIX + "locality.threshold.node", PREFIX + "locality.threshold.rack")
_DELAYS = (PREFIX + "locality-delay-node-ms", PREFIX + "locality-delay-rack-ms")


def assigns_one(subject: Subject) -> Iterator[Finding]:
    """How many containers a heartbeat may assign is set, and it assigns one."""
    if subject.settings.assign_multiple:
        return
    for name in (_DYNAMIC, _MOST):
        if name in subject.site:
            yield _without_effect(subject, name, f"{_MULTIPLE} is not true")


def assigns_by_free_room(subject: Subject) -> Iterator[Finding]:
    """A number of containers is set, and half of the free room counts instead."""
    settings = subject.settings
    if settings.assign_multiple and settings.dynamic_max_assign and _MOST in subject.site:
        yield _without_effect(
            subject, _MOST, f"{_DYNAMIC} is true (its default): half of the free room counts"
        )


def locality_half_set(subject: Subject) -> Iterator[Finding]:
    """One threshold, or delay, of two: no application waits for locality."""
    settings = subject.settings
    pairs = (
        (_THRESHOLDS, settings.locality_threshold_node, settings.locality_threshold_rack),
        (_DELAYS, settings.locality_delay_node_ms, settings.locality_delay_rack_ms),
    )
    for names, *values in pairs:
        if (values[0] >= 0) != (values[1] >= 0):
            set_one, other = names if values[0] >= 0 else names[::-1]
            yield Finding(
                subject.site.place(set_one),
                f"{set_one} has no effect as long as {other} is not set, too: no ask waits for"
                " a near node",
                "turns delay scheduling off if either is negative",
            )


def locality_of_other_mode(subject: Subject) -> Iterator[Finding]:
    """Delays without continuous scheduling; thresholds with it."""
    continuous = subject.settings.continuous_scheduling
    word = "true" if continuous else "not true"
    for name in _THRESHOLDS if continuous else _DELAYS:
        if name in subject.site:
            yield _without_effect(subject, name, f"{_CONTINUOUS} is {word}")


def sleep_not_honoured(subject: Subject) -> Iterator[Finding]:
    """Nothing sleeps here."""
    if _SLEEP in subject.site:
        yield Finding(
            subject.site.place(_SLEEP),
            f"{_SLEEP} has no effect here: a node is looked at as soon as something has happened"
            " that could matter",
            f"sleeps for this time between two passes, if {_CONTINUOUS} is true",
            "warning",
        )


def _without_effect(subject: Subject, name: str, reason: str) -> Finding:
    place = subject.site.place(name)
    return Finding(place, f"{name} has no effect: {reason}", "ignores it", "warning")


_OTHERS = {
    "yarn.scheduler.capacity.": "the Capacity Scheduler",
    "yarn.resourcemanager.monitor.capacity.": "the Capacity Scheduler's preemption",
    "yarn.resourcemanager.scheduler.monitor.": "the Capacity Scheduler's preemption",
    "mapred.fairscheduler.": "the Fair Scheduler of MapReduce 1",
    "mapreduce.fairscheduler.": "the Fair Scheduler of MapReduce 1",
}


def property_of_other_scheduler(subject: Subject) -> Iterator[Finding]:
    """Properties that look as if they mattered; the first one of each kind is named."""
    return foreign_properties(subject.site, _OTHERS, "Fair Scheduler")
