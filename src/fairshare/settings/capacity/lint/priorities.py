"""Owns the rules about priorities without effect
(`yarn.cluster.max-application-priority`)."""

from collections.abc import Iterator

from fairshare.core.model.queues import parent_name
from fairshare.documents.problems import Finding, Problems
from fairshare.settings.capacity.lint.subject import CapacitySubject, property_of
from fairshare.settings.capacity.names import PREFIX

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
        wanted = own.default_application_priority
        if wanted is not None and wanted > most:
            yield Finding(
                subject.place(name, "default-application-priority"),
                f"default-application-priority {wanted} of {name} is above the cluster's maximum"
                f" {most}: applications get {most}. Set {_MAXIMUM} in yarn-site.xml",
                f"takes {most}",
            )


def priority_under_fair(subject: CapacitySubject) -> Iterator[Finding]:
    """Priorities in a leaf that does not order by them."""
    for name, own in subject.leaves:
        if own.default_application_priority and own.ordering_policy == "fair":
            yield Finding(
                subject.place(name, "default-application-priority"),
                f"default-application-priority of {name} does not decide who is served first: its"
                " ordering-policy is fair, which looks at what applications use. It counts for who"
                " starts first, alone",
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
