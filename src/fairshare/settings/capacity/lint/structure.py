"""Rules about which settings suit which queue, leaf or parent, running or stopped or made on
demand, about mappings that never decide, and about preemption that cannot happen.

Hadoop: CapacitySchedulerQueueManager.createQueue, CSMappingPlacementRule,
ProportionalCapacityPreemptionPolicy.
"""

from collections.abc import Iterator

from fairshare.core.model.queues import ROOT
from fairshare.core.placement.mapping import MappingAction, MappingFallback, MappingRule, Matcher
from fairshare.core.schedulers.capacity.settings import Weight
from fairshare.documents.problems import Finding, Place, Problems
from fairshare.settings.capacity.lint.subject import CapacitySubject, property_of
from fairshare.settings.capacity.mappings import APPLICATION_MAPPINGS, JSON, JSON_FILE, MAPPINGS
from fairshare.settings.capacity.monitor import ENABLE, INTRA, POLICIES, PREEMPTION, UNDERUTILIZED
from fairshare.settings.capacity.names import PREFIX
from fairshare.settings.capacity.queue_settings import SETTINGS

_OF_LEAVES = tuple(one.name for one in SETTINGS if one.scope == "leaf")
_OF_MAKERS = tuple(
    one.name for one in SETTINGS if one.scope == "parent" and one.name.startswith("auto-")
)
_OF_PARENTS = tuple(
    one.name for one in SETTINGS if one.scope == "parent" and one.name not in _OF_MAKERS
)
_TEMPLATES = ("auto-queue-creation-v2.", "leaf-queue-template.")
_STOPPED = "STOPPED"


def leaf_setting_of_parent(subject: CapacitySubject) -> Iterator[Finding]:
    """What only a leaf has, and no child inherits."""
    for name, _ in subject.parents:
        for suffix in _OF_LEAVES:
            if subject.is_written(name, suffix):
                yield subject.silent(
                    property_of(name, suffix),
                    f"{name} is a parent queue, and its children do not inherit it",
                )


def parent_setting_of_leaf(subject: CapacitySubject) -> Iterator[Finding]:
    """What only a parent has."""
    for name, _ in subject.leaves:
        for suffix in _OF_PARENTS:
            if subject.is_written(name, suffix):
                yield subject.silent(property_of(name, suffix), f"{name} has no queues below it")


def creation_is_off(subject: CapacitySubject) -> Iterator[Finding]:
    """Settings for queues made on demand, below a queue that makes none."""
    for name, own in subject.queues:
        if own.dynamic_children or own.legacy_dynamic_leaves:
            continue
        written = [suffix for suffix in _OF_MAKERS if subject.is_written(name, suffix)]
        written += [
            key.removeprefix(property_of(name, ""))
            for word in _TEMPLATES
            for key in subject.site.names(property_of(name, word))
            if "template." in key
        ]
        for suffix in written:
            yield subject.silent(
                property_of(name, suffix),
                f"no queues are made below {name}: auto-queue-creation-v2.enabled is not true",
                "makes no queues there",
            )


def queue_stopped(subject: CapacitySubject) -> Iterator[Finding]:
    """Queues that take no applications."""
    for name, own in subject.queues:
        if own.state == _STOPPED:
            below = sum(one.startswith(f"{name}.") for one in subject.leaf)
            rest = f", and neither do the {below} queues below it" if below else ""
            yield Finding(
                subject.place(name, "state"),
                f"{name} is STOPPED: it takes no applications{rest}",
                "refuses every application there",
            )


def no_default_queue(subject: CapacitySubject) -> Iterator[Finding]:
    """Applications without a queue are sent to one that does not exist."""
    settings = subject.settings
    if f"{ROOT}.default" in subject.leaf or settings.mappings or settings.queues == {}:
        return
    if any(name.endswith(".default") for name in subject.leaf) or len(subject.leaf) < 2:
        return
    yield Finding(
        subject.place_of(property_of(ROOT, "queues")),
        "there is no queue default and no queue-mappings: who names no queue is refused",
        "refuses the application: submitted to unknown queue: default",
    )


def short_name_twice(subject: CapacitySubject) -> Iterator[Finding]:
    """A name in two places, where preemption inside queues needs it to be one's own
    (Hadoop: IntraQueueCandidatesSelector)."""
    if not (subject.settings.monitor.enabled and subject.settings.monitor.intra_queue.enabled):
        return
    owners: dict[str, str] = {}
    for name in subject.leaf:
        short = name.rpartition(".")[2]
        first = owners.setdefault(short, name)
        if first != name:
            yield Finding(
                subject.place(name, "capacity"),
                f"{name} and {first} have the same short name: preemption inside queues fails",
                "loses that pass of the monitor",
            )


_ENABLED = "auto-queue-creation-v2.enabled"
_LEGACY = "auto-create-child-queue.enabled"


def creation_needs_weights(subject: CapacitySubject) -> Iterator[Finding]:
    """Queues shall be made beside others that have percentages or amounts
    (Hadoop: CapacitySchedulerQueueManager.createQueue)."""
    if not subject.settings.legacy_queue_mode:
        return
    for name, queue in subject.parents:
        others = [
            child
            for child in subject.children(name)
            if not isinstance(subject.own(child).capacity, Weight)
        ]
        if queue.dynamic_children and others:
            yield Finding(
                subject.place(name, _ENABLED),
                f"no queue can be made below {name}: {others[0]} has no weight, and queues made on"
                " demand have weights alone. Give all of them weights (1w), or set"
                " legacy-queue-mode.enabled to false",
                "refuses the application that needs the queue",
            )


def made_queues_stay(subject: CapacitySubject) -> Iterator[Finding]:
    """Queues are made and never removed, because the policy that does it is not there
    (Hadoop: AutoCreatedQueueDeletionPolicy)."""
    if not subject.has_site or subject.settings.monitor.auto_removal:
        return
    for name, own in subject.parents:
        if own.dynamic_children and own.remove_dynamic is not False:
            yield Finding(
                subject.place(name, _ENABLED),
                f"queues made below {name} stay for ever: {POLICIES} does not name"
                f" AutoCreatedQueueDeletionPolicy, or {ENABLE} is not true",
                "keeps them",
            )


def legacy_creation_unmanaged(subject: CapacitySubject) -> Iterator[Finding]:
    """Legacy leaves are created, but never receive their capacity (Hadoop: ManagedParentQueue)."""
    if not subject.has_site or subject.settings.monitor.legacy_queue_management:
        return
    for name, own in subject.queues:
        if own.legacy_dynamic_leaves:
            yield Finding(
                subject.place(name, _LEGACY),
                f"queues made below {name} keep the capacity of their first moment: {POLICIES}"
                f" does not name QueueManagementDynamicEditPolicy, or {ENABLE} is not true",
                "gives them no capacity later",
            )


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
                f"the mapping {rule.source} refuses users without a queue there: it falls back to"
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


_INTRA_OF_QUEUE = "intra-queue-preemption.disable_preemption"
_PRIORITY = "priority-utilization"


def preemption_is_off(subject: CapacitySubject) -> Iterator[Finding]:
    """Settings of preemption, and no monitor that would look at them."""
    if subject.settings.monitor.enabled or not (subject.has_site or ENABLE in subject.site):
        return
    why = f"{ENABLE} is not true"
    if subject.settings.monitor.monitor_on:
        why = f"{POLICIES} does not name ProportionalCapacityPreemptionPolicy"
    for name in subject.site.names(PREEMPTION):
        yield subject.silent(name, why, "preempts nothing")
    for name, own in subject.queues:
        if own.preemption_disabled is False:
            yield subject.silent(property_of(name, "disable_preemption"), why, "preempts nothing")
        if own.intra_queue_preemption_disabled is False:
            yield subject.silent(property_of(name, _INTRA_OF_QUEUE), why, "preempts nothing")


def intra_queue_preemption_is_off(subject: CapacitySubject) -> Iterator[Finding]:
    """Settings of the preemption inside queues, which is not switched on."""
    monitor = subject.settings.monitor
    if not monitor.enabled or monitor.intra_queue.enabled:
        return
    why = f"{INTRA}enabled is not true"
    for name in subject.site.names(INTRA):
        if name != INTRA + "enabled":
            yield subject.silent(name, why)
    for name, _ in subject.queues:
        if subject.is_written(name, _INTRA_OF_QUEUE):
            yield subject.silent(property_of(name, _INTRA_OF_QUEUE), why)


def preemption_observes(subject: CapacitySubject) -> Iterator[Finding]:
    """The monitor is on, and takes nothing."""
    monitor = subject.settings.monitor
    if not monitor.enabled:
        return
    for suffix, idle in (
        ("observe_only", monitor.observe_only),
        ("total_preemption_per_round", monitor.total_per_round <= 0),
        ("natural_termination_factor", monitor.natural_termination_factor <= 0),
    ):
        if idle:
            name = PREEMPTION + suffix
            value = "true" if suffix == "observe_only" else "0"
            yield Finding(
                subject.place_of(name),
                f"{name} is {value}: preemption is on, and takes no container",
                "chooses containers, and takes none",
            )


def preemption_disabled_everywhere(subject: CapacitySubject) -> Iterator[Finding]:
    """The monitor is on, and root forbids it to all."""
    if not subject.settings.monitor.enabled or not subject.own(ROOT).preemption_disabled:
        return
    if all(own.preemption_disabled is not False for _, own in subject.queues):
        yield Finding(
            subject.place(ROOT, "disable_preemption"),
            "disable_preemption of root is true, and no queue below says otherwise: preemption is"
            " on, and takes nothing",
            "preempts nothing between queues",
        )


def underutilized_without_priorities(subject: CapacitySubject) -> Iterator[Finding]:
    """Preemption for priorities of queues, where no parent looks at them."""
    if not subject.settings.monitor.underutilized:
        return
    if all(own.ordering_policy != _PRIORITY for _, own in subject.queues):
        yield subject.silent(
            UNDERUTILIZED + "enabled", f"no parent queue has the ordering-policy {_PRIORITY}"
        )
