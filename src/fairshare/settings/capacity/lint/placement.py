"""Owns the rules about mappings that never decide, or decide badly
(Hadoop: CSMappingPlacementRule)."""

from collections.abc import Iterator

from fairshare.core.placement.mapping import MappingAction, MappingFallback, MappingRule, Matcher
from fairshare.documents.problems import Finding, Place, Problems
from fairshare.settings.capacity.lint.subject import CapacitySubject
from fairshare.settings.capacity.mappings import APPLICATION_MAPPINGS, JSON, JSON_FILE, MAPPINGS
from fairshare.settings.capacity.names import PREFIX

_OVERRIDE = PREFIX + "queue-mappings-override.enable"
_VARIABLE = "%"
_DEFAULT = "root.default"


def mapping_never_reached(subject: CapacitySubject) -> Iterator[Finding]:
    """A rule behind one that takes all users that it could match."""
    seen: set[tuple[Matcher, str]] = set()
    taken: MappingRule | None = None
    for rule in subject.settings.mappings:
        like = (rule.matcher, rule.match)
        if taken is not None or like in seen:
            before = "a rule for all users" if taken is not None else "a rule for the same"
            yield Finding(
                _place(subject, rule),
                f"the mapping {rule.source} is never reached: {before} precedes it",
                "takes the first rule that matches",
            )
        if not _decides(rule, subject):
            continue
        if rule.matcher is not Matcher.GROUP or _VARIABLE not in rule.match:
            seen.add(like)
        if rule.matcher is Matcher.ALL and taken is None:
            taken = rule


def _decides(rule: MappingRule, subject: CapacitySubject) -> bool:
    """Whether no later rule is asked once this one matches."""
    if rule.action is MappingAction.SET_DEFAULT:
        return False
    if rule.action is MappingAction.REJECT or rule.fallback is not MappingFallback.SKIP:
        return True
    return _VARIABLE not in rule.path and bool(subject.leaf.get(rule.path))


def mapping_to_stopped_queue(subject: CapacitySubject) -> Iterator[Finding]:
    """A rule that sends people to a queue that takes nothing."""
    for rule in subject.settings.mappings:
        target = _target(subject, rule)
        stopped = [q for q in subject.path(target) if subject.own(q).state == "STOPPED"]
        if target and stopped:
            yield Finding(
                _place(subject, rule),
                f"the mapping {rule.source} leads to {target}, where no application is taken:"
                f" {stopped[-1]} is STOPPED",
                "refuses the application",
            )


def fallback_missing(subject: CapacitySubject) -> Iterator[Finding]:
    """Applications without a place are sent to root.default, which does not exist."""
    if subject.leaf.get(_DEFAULT):
        return
    for rule in subject.settings.mappings:
        above = rule.path.partition(f".{_VARIABLE}")[0]
        if subject.own(above).dynamic_children:
            continue
        if rule.fallback is MappingFallback.PLACE_DEFAULT and _VARIABLE in rule.path:
            yield Finding(
                _place(subject, rule),
                f"the mapping {rule.source} refuses who has no queue there: it falls back to"
                f" {_DEFAULT}, which is not a leaf queue",
                "refuses the application; later rules are not asked",
            )


def override_without_mappings(subject: CapacitySubject) -> Iterator[Finding]:
    """The override is on, and there is nothing that could override."""
    if subject.settings.mappings_override and not subject.settings.mappings:
        yield subject.silent(_OVERRIDE, "there are no queue-mappings")


def _target(subject: CapacitySubject, rule: MappingRule) -> str:
    """The full name of a fixed target; empty if there is none."""
    if rule.action is not MappingAction.PLACE or _VARIABLE in rule.path:
        return ""
    if "." in rule.path:
        return rule.path if rule.path in subject.leaf else ""
    found = [name for name in subject.leaf if name.rpartition(".")[2] == rule.path]
    return found[0] if len(found) == 1 else ""


def _place(subject: CapacitySubject, rule: MappingRule) -> Place:
    for name in (MAPPINGS, APPLICATION_MAPPINGS):
        if rule.source in subject.site.strings(name, Problems()):
            return subject.site.place(name)
    return subject.place_of(JSON, JSON_FILE, MAPPINGS)
