"""Rules about priorities without effect, access lists that admit all users or none, and properties
that belong to no queue: sizes of containers, how many a heartbeat assigns, and those of another
scheduler (Hadoop: CapacitySchedulerConfiguration.getQueueMaximumAllocation).
"""

from collections.abc import Iterator

from fairshare.core.model.queues import ROOT, parent_name
from fairshare.core.model.resources import MEMORY
from fairshare.core.schedulers.access_lists import allows_all, named, variable_of
from fairshare.documents.problems import Finding, Problems
from fairshare.settings.capacity.lint.subject import CapacitySubject, property_of
from fairshare.settings.capacity.names import PREFIX
from fairshare.settings.capacity.scheduler_settings import HEARTBEAT
from fairshare.settings.lint_rules import foreign_properties, open_administration
from fairshare.settings.manager import ACL_ENABLED

_MAXIMUM = "yarn.cluster.max-application-priority"
_POLICY = "priority-utilization"
_RULES = "acl_application_max_priority"
_WORKFLOWS = PREFIX + "workflow-priority-mappings"


def queue_priority_not_looked_at(subject: CapacitySubject) -> Iterator[Finding]:
    """A queue's priority below a parent that orders by utilization."""
    for name, own in subject.queues:
        if not own.priority:
            continue
        parent = parent_name(name)
        policy = next(
            (p for one in subject.path(parent) if (p := subject.own(one).ordering_policy)),
            "utilization",
        )
        if parent and policy != _POLICY:
            yield subject.silent(
                property_of(name, "priority"),
                f"{parent} orders its queues by utilization alone. Set"
                f" {property_of(parent, 'ordering-policy')} to {_POLICY}",
            )


def application_priority_capped(subject: CapacitySubject) -> Iterator[Finding]:
    """A priority above the cluster's, which is 0 by default."""
    if not subject.has_site and _MAXIMUM not in subject.site:
        return
    most = subject.settings.maximum_application_priority
    for name, own in subject.leaves:
        priority = own.default_application_priority
        if priority is not None and priority > most:
            yield Finding(
                subject.place(name, "default-application-priority"),
                f"default-application-priority {priority} of {name} is above the cluster's maximum"
                f" {most}: applications get {most}. Set {_MAXIMUM} in yarn-site.xml",
                f"takes {most}",
            )


def priority_under_fair(subject: CapacitySubject) -> Iterator[Finding]:
    """Priorities in a leaf that does not order by them."""
    for name, own in subject.leaves:
        if own.default_application_priority and own.ordering_policy == "fair":
            yield Finding(
                subject.place(name, "default-application-priority"),
                f"default-application-priority of {name} does not decide which application is"
                " served first: its ordering-policy is fair, which looks at what applications use."
                " It counts only for which application starts first",
                "ignores priorities in the order fair",
            )


def priority_rules_not_checked(subject: CapacitySubject) -> Iterator[Finding]:
    """Lists of the priorities that users may use, where lists are not in use."""
    if not subject.has_site or subject.settings.acl_enabled:
        return
    for name, _ in subject.leaves:
        if subject.is_written(name, _RULES):
            yield subject.silent(
                property_of(name, _RULES),
                "yarn.acl.enable is not true, and all users may use every priority",
                "does not look at it",
            )


def priority_group_read_as_user(subject: CapacitySubject) -> Iterator[Finding]:
    """`group=` in front of, or without, `user=` (Hadoop: AppPriorityACLConfigurationParser)."""
    for name, _ in subject.leaves:
        text = subject.site.text(property_of(name, _RULES), Problems()) or ""
        for group in text.split("[")[1:]:
            keys = [part.partition("=")[0].strip().lower() for part in group.split()]
            first = next((key for key in keys if key in ("user", "group")), "")
            if first == "group":
                yield Finding(
                    subject.place(name, _RULES),
                    f"group= in [{group.strip().rstrip(']')}] is read as names of users: write"
                    " user= before it, with the name of a user",
                    "takes the first of user= and group= for users",
                )


def workflows_not_mapped(subject: CapacitySubject) -> Iterator[Finding]:
    """Mappings of workflows, which count only when they override."""
    settings = subject.settings
    if settings.workflow_priorities and not settings.workflow_priorities_override:
        yield subject.silent(
            _WORKFLOWS, f"{PREFIX}workflow-priority-mappings-override.enable is not true"
        )


_SUBMIT, _ADMINISTER = "acl_submit_applications", "acl_administer_queue"


def lists_not_checked(subject: CapacitySubject) -> Iterator[Finding]:
    """Lists that restrict where lists are not in use."""
    if not subject.has_site or subject.settings.acl_enabled:
        return
    for name, own in subject.queues:
        for suffix, acl in ((_SUBMIT, own.submit_acl), (_ADMINISTER, own.administer_acl)):
            if acl is not None and not allows_all(acl):
                yield subject.silent(
                    property_of(name, suffix), f"{ACL_ENABLED} is not true", "admits all users"
                )
                return  # one is enough to find the switch


def all_administer(subject: CapacitySubject) -> Iterator[Finding]:
    """Access lists that stop no one, since all users are administrators."""
    yield from open_administration(subject.site, subject.settings.acl_enabled)


def restriction_void(subject: CapacitySubject) -> Iterator[Finding]:
    """A list below a queue that admits all users
    (`yarn.scheduler.capacity.root.acl_submit_applications`)."""
    for name, own in subject.queues:
        if name == ROOT or own.submit_acl is None or allows_all(own.submit_acl):
            continue
        for above in list(subject.path(name))[1:]:
            found = subject.own(above)
            default = "*" if above == ROOT else " "
            for suffix, acl in ((_SUBMIT, found.submit_acl), (_ADMINISTER, found.administer_acl)):
                if allows_all(default if acl is None else acl):
                    yield Finding(
                        subject.place(name, _SUBMIT),
                        f"{_SUBMIT} of {name} excludes no users, because {suffix} of {above}"
                        f" admits all: set {property_of(above, suffix)}",
                        "admits users that may submit to, or administer, any queue above",
                    )
                    break
            else:
                continue
            break


def variable_in_list(subject: CapacitySubject) -> Iterator[Finding]:
    """Names that look like variables of the user who submits, which lists do not have."""
    for name, own in subject.queues:
        for suffix, acl in ((_SUBMIT, own.submit_acl), (_ADMINISTER, own.administer_acl)):
            variable = variable_of(acl or "")
            if variable:
                yield Finding(
                    subject.place(name, suffix),
                    f"{suffix} of {name} has {variable}, which is not the user who"
                    " submits: list users and groups by their names",
                    "replaces properties, such as the name of the ResourceManager's own account,"
                    " and takes everything else for a name",
                )


def nobody_may_submit(subject: CapacitySubject) -> Iterator[Finding]:
    """A leaf that no list, of its own or above it, opens to any user."""
    if subject.has_site and not subject.settings.acl_enabled:
        return
    for name, _ in subject.leaves:
        lists = [
            ("*" if one == ROOT else " ") if acl is None else acl
            for one in subject.path(name)
            for acl in (subject.own(one).submit_acl, subject.own(one).administer_acl)
        ]
        if not any(allows_all(acl) or any(named(acl)) for acl in lists):
            yield Finding(
                subject.place(name, _SUBMIT, _ADMINISTER),
                f"no user may submit to {name}: all its lists and those above it are blank",
                "rejects every application",
            )


_SIZES = ("maximum-allocation-mb", "maximum-allocation-vcores")
_NODE_DELAY = PREFIX + "node-locality-delay"
_RACK_DELAY = PREFIX + "rack-locality-additional-delay"


def container_size_overridden(subject: CapacitySubject) -> Iterator[Finding]:
    """Two ways of writing the largest container, of which one wins."""
    for name, queue in subject.queues:
        for suffix in _SIZES:
            if not subject.is_written(name, suffix):
                continue
            if queue.maximum_allocation is not None:
                yield subject.silent(
                    property_of(name, suffix), f"maximum-allocation of {name} is set, too"
                )


def container_size_below_minimum(subject: CapacitySubject) -> Iterator[Finding]:
    """A largest container that is smaller than the smallest."""
    if not subject.has_site:
        return
    names, least = subject.settings.types.names, subject.settings.minimum_allocation
    for name, own in subject.queues:
        most = dict(own.maximum_allocation or {})
        if own.maximum_allocation is None and own.maximum_allocation_mb is not None:
            most[MEMORY] = own.maximum_allocation_mb
        for resource, amount in most.items():
            smallest = least[names.index(resource)]
            if amount < smallest:
                yield Finding(
                    subject.place(name, "maximum-allocation", *_SIZES),
                    f"the largest container of {name} has {resource}={amount}, and the smallest of"
                    f" the cluster {smallest}: larger asks are refused, and smaller ones do not"
                    " grow to the minimum",
                    "refuses every larger ask",
                )


def container_size_without_a_type(subject: CapacitySubject) -> Iterator[Finding]:
    """A largest container that names some types, and so has nothing of the others."""
    names = subject.settings.types.names
    for name, own in subject.queues:
        if own.maximum_allocation is None:
            continue
        missing = [resource for resource in names if resource not in own.maximum_allocation]
        if missing:
            yield Finding(
                subject.place(name, "maximum-allocation"),
                f"maximum-allocation of {name} does not name {' and '.join(missing)}, so that its"
                " containers may have none of that: name all types, or write"
                " maximum-allocation-mb, which leaves the others as they are",
                "refuses every ask with any of them",
            )


def assigns_one(subject: CapacitySubject) -> Iterator[Finding]:
    """How many containers a heartbeat may assign is set, and it assigns one."""
    if subject.settings.multiple_assignments:
        return
    for suffix in ("maximum-container-assignments", "maximum-offswitch-assignments"):
        if HEARTBEAT + suffix in subject.site:
            yield subject.silent(
                HEARTBEAT + suffix, f"{HEARTBEAT}multiple-assignments-enabled is false"
            )


def rack_delay_without_node_delay(subject: CapacitySubject) -> Iterator[Finding]:
    """Waiting for a rack, and not for a node. A further delay of 0 means not waiting at all."""
    settings = subject.settings
    if settings.node_locality_delay < 0 < settings.rack_locality_additional_delay:
        yield Finding(
            subject.place_of(_NODE_DELAY, _RACK_DELAY),
            f"{_NODE_DELAY} is {settings.node_locality_delay}, so that none waits for a node: the"
            f" delay for racks counts from there and is one shorter for each below 0",
            "adds both",
        )


_OTHERS = {
    "yarn.scheduler.fair.": "the Fair Scheduler",
    "mapred.fairscheduler.": "the Fair Scheduler of MapReduce 1",
    "mapred.capacity-scheduler.": "the Capacity Scheduler of MapReduce 1",
}


def property_of_other_scheduler(subject: CapacitySubject) -> Iterator[Finding]:
    """Properties that look as if they mattered; the first one of each kind is named."""
    return foreign_properties(subject.site, _OTHERS, "Capacity Scheduler")
