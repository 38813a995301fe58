"""Owns the rules about policies that do not go together
(Hadoop: SchedulingPolicy.isChildPolicyAllowed).

Pairs of queues that the file names are checked when it is read.
"""

from collections.abc import Iterator

from fairshare.config.findings import Finding
from fairshare.families.fair.lint.subject import Subject
from fairshare.schedulers.fair.policies import POLICIES


def default_policy_forbidden(subject: Subject) -> Iterator[Finding]:
    """Queues made on demand have the default policy, which their parent's policy forbids."""
    default = subject.allocations.default_policy
    for parent in subject.parents:
        policy = parent.policy or default
        if not POLICIES[policy].allows_child(POLICIES[default]):
            yield Finding(
                subject.place(parent.name, "schedulingPolicy", "schedulingMode"),
                f"no queue without a policy of its own can be made in {parent.name}: its policy is"
                f" {policy}, and the default policy is {default}",
                "logs an error and does not create the queue",
            )
