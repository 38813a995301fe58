"""Owns `<queuePlacementPolicy>` of the allocation file (Hadoop: QueuePlacementPolicy).

Knows what rules there are and in which order they can stand, not how they choose a queue.
"""

from typing import Final

from fairshare.core.schedulers.fair.settings import RuleSettings
from fairshare.documents import literals
from fairshare.documents.xml import Element
from fairshare.settings.fair.element_values import BAD_FILE, ElementValues
from fairshare.settings.fair.queue_elements import NAME_BLANKS

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
    element: Element, values: ElementValues
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
    found = []
    for child in element.children:
        if child.name.lower() == "rule":
            found.append(child)
        else:
            values.unknown(child, ("rule",), f"<{element.name}>")
    return found


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
