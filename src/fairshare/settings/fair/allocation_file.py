"""The Fair Scheduler's allocation file, fair-scheduler.xml: its settings for all queues and users,
its placement policy, and how it is read (Hadoop: AllocationFileLoaderService,
QueuePlacementPolicy).
"""

from collections.abc import Callable
from typing import Any, Final

from fairshare.core.model.queues import ROOT
from fairshare.core.model.resources import ResourceTypes
from fairshare.core.schedulers.fair.policies import POLICIES, Policy
from fairshare.core.schedulers.fair.settings import AllocationSettings, QueueSettings, RuleSettings
from fairshare.documents import literals
from fairshare.documents.problems import Problem, Problems
from fairshare.documents.xml import Element, parse_as
from fairshare.settings.fair.element_values import BAD_FILE, ElementValues
from fairshare.settings.fair.queue_elements import NAME_BLANKS, read_queues
from fairshare.settings.setting import Setting, by_name

_OF_PARENTS: Final = tuple(name for name, policy in POLICIES.items() if not policy.leaf_only)
"""The policies that any queue may have, and so a queue that names none."""


def _default_policy(values: ElementValues, element: Element) -> Any:
    policy = values.policy(element)
    if policy is not None and POLICIES[policy].leaf_only:
        values.problems.error(
            element.text_place,
            element.name,
            f"{policy} cannot be the default policy, because it is for leaf queues only:"
            " write it into the queues that shall have it",
            BAD_FILE,
        )
    return policy


SETTINGS: Final = (
    Setting("userMaxAppsDefault", "user_max_applications_default", ElementValues.applications,
        "no limit",
        "The maximum number of running applications of a user, if no `<user>` names the"
        " user.", "10", scope="cluster"),
    Setting("queueMaxAppsDefault", "queue_max_applications_default", ElementValues.applications,
        "no limit", "maxRunningApps of queues without one.", "50",
        scope="cluster"),
    Setting("queueMaxResourcesDefault", "queue_max_share_default", ElementValues.amount, "no limit",
        "maxResources of queues without one.", "50%", scope="cluster"),
    Setting("queueMaxAMShareDefault", "queue_max_master_share_default", ElementValues.share, "0.5",
        "maxAMShare of leaf queues without one.", "0.3",
        scope="cluster"),
    Setting("defaultFairSharePreemptionTimeout", "fair_share_timeout_ms", ElementValues.seconds,
        "never", "fairSharePreemptionTimeout of the root queue, in seconds.", "60",
        scope="cluster"),
    Setting("defaultMinSharePreemptionTimeout", "min_share_timeout_ms", ElementValues.seconds,
        "never", "minSharePreemptionTimeout of the root queue, in seconds.", "30",
        scope="cluster"),
    Setting("defaultFairSharePreemptionThreshold", "fair_share_threshold", ElementValues.fraction,
        "0.5", "fairSharePreemptionThreshold of the root queue.", "0.5",
        scope="cluster"),
    Setting("defaultQueueSchedulingPolicy", "default_policy", _default_policy, "fair",
        "schedulingPolicy of queues without one.", scope="cluster",
        choices=_OF_PARENTS, aliases=("defaultQueueSchedulingMode",)),
)  # fmt: skip
"""The settings at the top of the file, in the order in which they are written."""

BY_NAME: Final = by_name(SETTINGS)


RULE: Final = "placement-rule"

# nestedUserQueue is the rule user with another name.
_SAME_CLASS: Final = {"nestedUserQueue": "user"}
_WITH_PARENT: Final = frozenset(
    {"user", "primaryGroup", "secondaryGroupExistingQueue", "nestedUserQueue"}
)
_NO_PARENT_OF_OTHERS: Final = frozenset({"reject", "nestedUserQueue"})
_NEVER_LAST: Final = frozenset({"specified", "secondaryGroupExistingQueue"})
_NAMES: Final = (*sorted(_WITH_PARENT), "default", "reject", "specified")


def read_placement_policy(
    values: ElementValues, element: Element
) -> tuple[RuleSettings, ...] | None:
    """The rules in their order; None if there is none, so that those of yarn-site.xml hold."""
    problems = values.problems
    if element.empty:
        problems.error(
            element.place,
            RULE,
            "<queuePlacementPolicy> is empty: write rules, or leave it out",
            BAD_FILE,
        )
        return None
    rules = []
    for child in _rules(element, values):
        rule = _rule(child, values)
        if rule is not None:
            rules.append((rule, child))
    if not any(child.name.lower() == "rule" for child in element.children):
        problems.trap(
            element.place,
            RULE,
            "<queuePlacementPolicy> has no <rule>: the rules derived from yarn-site.xml hold",
            "leaves the rules of before untouched",
        )
        return None
    for position, (rule, child) in enumerate(rules[:-1], 1):
        if _is_terminal(rule):
            problems.error(
                child.place,
                RULE,
                f"Rules after rule {position} ({rule.name}) can never be reached:"
                f" it always gives a queue{' or refuses' if rule.name == 'reject' else ''}",
                BAD_FILE,
            )
    if rules and not _is_terminal(rules[-1][0]):
        rule, child = rules[-1]
        problems.error(
            child.place,
            RULE,
            "Could get past last queue placement rule without assigning: end with a rule that"
            " always decides, such as <rule name='default'/> or <rule name='reject'/>",
            BAD_FILE,
        )
    return tuple(rule for rule, _ in rules)


def _rules(element: Element, values: ElementValues) -> list[Element]:
    """The children that are rules, in any case of letters; others are reported."""
    rules = []
    for child in element.children:
        if child.name.lower() == "rule":
            rules.append(child)
        else:
            values.unknown(child, ("rule",), f"<{element.name}>")
    return rules


def _rule(element: Element, values: ElementValues) -> RuleSettings | None:
    """One rule with its parent rule; None when a problem says why it cannot be used."""
    problems = values.problems
    rule = _single_rule(element, values)
    nested = _rules(element, values)
    if rule is None or not nested:
        if rule is not None and rule.name == "nestedUserQueue":
            problems.error(element.place, RULE, "nestedUserQueue needs a rule inside it", BAD_FILE)
            return None
        return rule
    for earlier in nested[:-1]:
        values.repeated(nested[-1], earlier)
    parent_element = nested[-1]
    parent = _single_rule(parent_element, values)
    for ignored in _rules(parent_element, values):
        problems.warning(
            ignored.place,
            RULE,
            "a rule inside the rule of another rule has no effect",
            "ignores it",
        )
    if rule.name not in _WITH_PARENT:
        problems.error(
            parent_element.place, RULE, f"the rule {rule.name} takes no rule inside it", BAD_FILE
        )
        return None
    if parent is None:
        return None
    if parent.name in _NO_PARENT_OF_OTHERS:
        problems.error(
            parent_element.place,
            RULE,
            f"the rule {parent.name} cannot stand inside another rule",
            BAD_FILE,
        )
        return None
    if _SAME_CLASS.get(rule.name, rule.name) == parent.name:
        problems.error(
            parent_element.place,
            RULE,
            f"the rule {parent.name} cannot stand inside {rule.name}: both are the same rule",
            BAD_FILE,
        )
        return None
    return RuleSettings(rule.name, rule.create, rule.queue, parent)


def _single_rule(element: Element, values: ElementValues) -> RuleSettings | None:
    """A rule by itself: its attributes."""
    problems = values.problems
    values.attributes(element, ("name", "create", "queue"))
    name = element.attributes.get("name", "")
    if name not in _NAMES:
        known = ", ".join(_NAMES)
        what = f"there is no rule {name!r}" if name else "a rule needs a name"
        problems.error(element.place, RULE, f"{what} (there are {known})", BAD_FILE)
        return None
    word = element.attributes.get("create", "")
    create = literals.boolean(word) if word else True
    if create is None:
        problems.trap(element.place, RULE, f"create={word!r} counts as false", "reads it as false")
    queue = element.attributes.get("queue", "")
    if queue and name != "default":
        problems.warning(
            element.place, RULE, f"the rule {name} has no queue: {queue!r} has no effect"
        )
    elif queue != queue.strip(NAME_BLANKS + "."):
        problems.trap(
            element.place,
            RULE,
            f"{queue!r} is not the name of a queue: root.default is taken",
            "logs an error and takes root.default",
        )
        queue = ""
    return RuleSettings(name, create is True, queue if name == "default" else "")


def _is_terminal(rule: RuleSettings) -> bool:
    """Whether the rule never passes an application on to the next one
    (Hadoop: QueuePlacementPolicy)."""
    if rule.name == "reject":
        return True
    own = rule.create and rule.name not in _NEVER_LAST
    return own and (rule.parent is None or _is_terminal(rule.parent))


_ALL_USERS: Final = "*"


_LEGACY_TIMEOUT: Final = "fairSharePreemptionTimeout"
"""The older name of defaultFairSharePreemptionTimeout; read where the file lacks the newer one."""

_RULES: Final = "queuePlacementPolicy"

_UNSUPPORTED: Final = frozenset({"reservation-planner", "reservation-agent", "reservation-policy"})

_KNOWN: Final = (*BY_NAME, _LEGACY_TIMEOUT, _RULES, *_UNSUPPORTED, "queue", "pool", "user")

NAMES: Final = frozenset(_KNOWN)
"""The elements at the top of the file."""


def read_allocation_file(
    document: str | bytes, file: str, types: ResourceTypes
) -> tuple[AllocationSettings, tuple[Problem, ...]]:
    """The settings of an allocation file, and what there is to say about it (no errors).

    `file` is the name for problems. Raises ConfigurationError with all problems when the file
    is bad (Hadoop: AllocationConfigurationException).
    """
    problems = Problems()
    settings = collect_allocation_file(document, file, ElementValues(types, problems))
    problems.raise_errors()
    return settings, problems.all


def collect_allocation_file(
    document: str | bytes, file: str, values: ElementValues
) -> AllocationSettings:
    """As `read_allocation_file`, but errors are only added to the problems of `values`."""
    problems = values.problems
    root = parse_as("allocations", document, file, problems, BAD_FILE)
    if root is None:
        return AllocationSettings(from_file=True)
    fields: dict[str, Any] = {}
    seen: dict[str, Element] = {}
    queues, users = [], []
    for child in root.children:
        known = _reader_of(child.name)
        if known is not None:
            field, read = known
            if field in seen:
                values.repeated(child, seen[field])
            seen[field] = child
            fields[field] = read(values, child)
        elif child.name in ("queue", "pool"):
            queues.append(child)
        elif child.name == "user":
            users.append(child)
        elif child.name in _UNSUPPORTED:
            problems.warning(
                child.place,
                "unsupported",
                f"<{child.name}> has no effect: there is no reservation system",
                "keeps it for the reservation system",
            )
        else:
            values.unknown(child, _KNOWN, "<allocations>")
    legacy = fields.pop("legacy_fair_share_timeout_ms", None)
    fields.setdefault("fair_share_timeout_ms", legacy)
    settings, elements = read_queues(queues, values)
    result = AllocationSettings(
        queues=settings,
        user_max_applications=_users(users, values),
        from_file=True,
        **{field: value for field, value in fields.items() if value is not None},
    )
    _check_policies(result, elements, values)
    _check_acls(result, elements, values)
    return result


def _reader_of(name: str) -> tuple[str, Callable[[ElementValues, Element], Any]] | None:
    """The field of an element at the top, and the function that reads it."""
    setting = BY_NAME.get(name)
    if setting is not None:
        return setting.field, setting.read
    if name == _LEGACY_TIMEOUT:
        return "legacy_fair_share_timeout_ms", ElementValues.seconds
    if name == _RULES:
        return "rules", read_placement_policy
    return None


def _users(elements: list[Element], values: ElementValues) -> dict[str, int]:
    limits: dict[str, int] = {}
    for element in elements:
        values.attributes(element, ("name",))
        name = element.attributes.get("name", "")
        if not name:
            values.problems.warning(
                element.place, "user", "a <user> without name has no effect", "ignores it"
            )
        for child in element.children:
            if child.name != "maxRunningApps":
                values.unknown(child, ("maxRunningApps",), "<user>")
                continue
            if name in limits:
                values.problems.warning(
                    child.place,
                    "repeated-element",
                    f"the limit of the user {name!r} is set again: the earlier one has no effect",
                    "takes the last one",
                )
            limit = values.applications(child)
            if limit is not None and name:
                limits[name] = limit
    return limits


def _check_policies(
    settings: AllocationSettings, elements: dict[str, Element], values: ElementValues
) -> None:
    """Report queues that their parent's policy forbids
    (Hadoop: SchedulingPolicy.isChildPolicyAllowed): they are not made."""

    def policy_of(name: str) -> Policy | None:
        queue = settings.queues.get(name)
        return POLICIES.get((queue and queue.policy) or settings.default_policy)

    for name, queue in settings.queues.items():
        policy, message = policy_of(name), ""
        above = name.rpartition(".")[0]
        parent = policy_of(above) if above else None
        if policy is None:
            continue
        if policy.leaf_only and (queue.parent or name == ROOT):
            message = (
                f"{name} is a parent queue, and the policy {policy.name} is for leaf queues only"
            )
        elif parent is not None and not parent.leaf_only and not parent.allows_child(policy):
            message = (
                f"{name} has the policy {policy.name},"
                f" and its parent {above} the policy {parent.name}"
            )
        if message:
            values.problems.trap(
                elements[name].place,
                "policy-pair",
                f"{message}: this cannot be, and what is below it is not made either",
                "logs an error and does not create the queue",
            )


def _check_acls(
    settings: AllocationSettings, elements: dict[str, Element], values: ElementValues
) -> None:
    """Report a list of administrators that excludes no users, because root's list allows all
    (Hadoop: FSQueue.hasAccess). Of lists for submissions the rule `restriction-void` says so."""
    root = settings.queues.get(ROOT, QueueSettings(ROOT))
    if (root.administer_acl or _ALL_USERS).strip() != _ALL_USERS:
        return
    tag = "aclAdministerApps"
    for name, queue in settings.queues.items():
        if name != ROOT and (queue.administer_acl or _ALL_USERS).strip() != _ALL_USERS:
            place = next(c.place for c in elements[name].children if c.name == tag)
            values.problems.trap(
                place,
                tag,
                f"<{tag}> of {name} excludes no users, because root allows all:"
                f" give the queue root <{tag}> of one blank",
                "admits all users, too",
            )
            return
