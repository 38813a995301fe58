"""Rules about minimum and maximum shares, weights and policies, the shares of masters and the sizes
of containers (Hadoop: FSQueue.getMaxShare, ComputeFairShares, FSLeafQueue.computeMaxAMResource).
"""

import math
from collections.abc import Iterator, Sequence

from fairshare.core.model.queues import ROOT
from fairshare.core.model.resources import (
    MEMORY,
    UNBOUNDED,
    VCORES,
    Resource,
    fits,
    smallest,
    total,
)
from fairshare.core.schedulers.calculators import normalise
from fairshare.core.schedulers.fair.policies import POLICIES
from fairshare.core.schedulers.fair.settings import Amount, QueueSettings
from fairshare.documents.problems import Finding, Place
from fairshare.settings.fair.element_values import forbids_further_types, read_resources
from fairshare.settings.fair.lint.subject import Subject
from fairshare.settings.resource_types import limit_key, new_increment_key
from fairshare.wording import counted


def minimum_above_maximum(subject: Subject) -> Iterator[Finding]:
    """A minimum above a maximum that is a percentage, or the file's default."""
    default = subject.allocations.queue_max_share_default
    for queue in subject.allocations.queues.values():
        maximum = queue.max_share
        if queue.min_share is None or (maximum is not None and maximum.absolute is not None):
            continue  # two amounts in one queue are compared when the file is read
        amount = maximum or default
        limit = subject.resolved(amount)
        if amount is not None and not fits(queue.min_share, limit):
            source = "maxResources" if maximum is not None else "queueMaxResourcesDefault"
            yield Finding(
                subject.place(queue.name, "minResources"),
                f"minResources of {queue.name} is above its {source}"
                f" ({subject.beyond(queue.min_share, limit)}): the minimum counts",
                "lets the minimum win and warns each time",
            )


def minimums_above_bound(subject: Subject) -> Iterator[Finding]:
    """Minimums of siblings that add up to more than is there for all of them."""
    for parent in subject.parents:
        children = subject.children(parent.name)
        none = subject.settings.types.none
        minimums = total((child.min_share or none for child in children), len(none))
        maximum = subject.maximum(parent)
        bound = smallest(maximum, subject.cluster or maximum)
        if fits(minimums, bound):
            continue
        in_cluster = subject.cluster is not None and not fits(minimums, subject.cluster)
        what = "the cluster has" if in_cluster else f"the maxResources of {parent.name} allows"
        limit = subject.cluster if in_cluster and subject.cluster else maximum
        yield Finding(
            subject.place(parent.name, "maxResources"),
            f"the minResources of the {counted(len(children), 'queue')} in {parent.name} add up to"
            " more than"
            f" {what} ({subject.beyond(minimums, limit)}): not all of them can be kept",
            "gives each its minimum as its fair share, so that the shares exceed the total",
        )


def minimums_above_parents_minimum(subject: Subject) -> Iterator[Finding]:
    """A parent that is promised less than it has to promise on."""
    for parent in subject.parents:
        if parent.min_share is None or not any(parent.min_share):
            continue
        none = subject.settings.types.none
        children = subject.children(parent.name)
        minimums = total((child.min_share or none for child in children), len(none))
        if not fits(minimums, parent.min_share):
            yield Finding(
                subject.place(parent.name, "minResources"),
                f"the minResources of the queues in {parent.name} add up to more than its own"
                f" ({subject.beyond(minimums, parent.min_share)}): it may not get what it promises",
                "looks at each level by itself",
            )


def weight_zero(subject: Subject) -> Iterator[Finding]:
    """A queue that gets its minimum and nothing else."""
    for queue in subject.allocations.queues.values():
        if queue.weight == 0:
            share = "its minResources alone" if any(queue.min_share or ()) else "0"
            yield Finding(
                subject.place(queue.name, "weight"),
                f"with weight 0 the fair share of {queue.name} is {share}, and all siblings with"
                " a weight are served first",
                "serves it when no other queue wants anything",
            )


def maximum_zero(subject: Subject) -> Iterator[Finding]:
    """A maximum of 0 of a type: requests for the type are refused."""
    types = subject.settings.types
    for place, what, text, amount in _maximums(subject):
        numbers: Sequence[float] = amount.absolute or amount.fractions or ()
        zero = [name for name, number in zip(types.names, numbers, strict=True) if number == 0]
        if forbids_further_types(text, types):  # which is reported when the file is read
            zero = [name for name in zero if name in types.names[:2]]
        if zero:
            yield Finding(
                place,
                f"{what} is 0 of {', '.join(zero)}: applications that need it are refused",
                "rejects applications and asks that need it",
            )


def maximum_without_vcores(subject: Subject) -> Iterator[Finding]:
    """An absolute maximum that names no vcores allows none, as Hadoop computes it."""
    for place, what, _, amount in _maximums(subject):
        numbers = amount.absolute
        if numbers is not None and numbers[1] == UNBOUNDED and numbers[0] != UNBOUNDED:
            yield Finding(
                place,
                f"{what} names no vcores, and so allows none: no container ever fits."
                " Write vcores=... too",
                "keeps the number that is not there in 32 bits, where it is -1",
            )


def maximum_below_container(subject: Subject) -> Iterator[Finding]:
    """A leaf whose maximum is smaller than the smallest container."""
    smallest_container = smallest_of(subject)
    for leaf in subject.leaves:
        reach = subject.reachable(leaf)
        if not fits(smallest_container, reach) and all(reach[:2]):
            yield Finding(
                subject.place(leaf.name, "maxResources"),
                f"the smallest container does not fit into what {leaf.name} may use"
                f" ({subject.beyond(smallest_container, reach)}): nothing ever runs there",
                "accepts applications, which then wait forever",
            )


def maximum_of_one_container(subject: Subject) -> Iterator[Finding]:
    """A leaf with room for a master and nothing else."""
    smallest_container = smallest_of(subject)
    two = tuple(2 * amount for amount in smallest_container)
    for leaf in subject.leaves:
        reach = subject.settings.types.unbounded
        for above in subject.path(leaf.name):
            reach = smallest(reach, subject.maximum(above))
        if fits(smallest_container, reach) and not fits(two, reach):
            yield Finding(
                subject.place(leaf.name, "maxResources"),
                f"{leaf.name} may use no more than one of the smallest containers"
                f" ({subject.beyond(two, reach)} for two): the ApplicationMaster takes it, and the"
                " application's tasks wait forever. Raise maxResources of it and of the queues"
                " above",
                "starts masters, and nothing else",
            )


def default_maximum_binds_root(subject: Subject) -> Iterator[Finding]:
    """`queueMaxResourcesDefault` is the maximum of root, too, unless root has its own."""
    default = subject.allocations.queue_max_share_default
    written = subject.written("queueMaxResourcesDefault")
    if not written or default is None or subject.queue(ROOT).max_share is not None:
        return
    most = subject.resolved(default)
    whole = subject.cluster or subject.settings.types.unbounded
    if fits(whole, most):
        return
    limits = ", ".join(
        f"{name}={amount}"
        for name, amount, there in zip(subject.settings.types.names, most, whole, strict=True)
        if amount < there
    )
    yield Finding(
        subject.top_place("queueMaxResourcesDefault"),
        f"queueMaxResourcesDefault holds for root, too: all queues together never use more than"
        f" {limits}, however large the cluster is. Give root its own <maxResources>, such as 100%",
        "leaves the rest of the cluster idle",
    )


def child_maximum_of_leaf(subject: Subject) -> Iterator[Finding]:
    """`maxChildResources` of a leaf, which has no child queues."""
    for leaf in subject.leaves:
        if leaf.max_child_share is not None:
            yield Finding(
                subject.place(leaf.name, "maxChildResources"),
                f"maxChildResources of {leaf.name} has no effect: it is a leaf. Add type='parent'"
                " if queues shall be made below it",
                "keeps it for children that cannot be",
                "warning",
            )


def smallest_of(subject: Subject) -> Resource:
    """The smallest container that there is: the minimum, rounded up to the increment."""
    settings = subject.settings
    return normalise(
        settings.types.none,
        settings.minimum_allocation,
        settings.increment_allocation,
        settings.maximum_allocation,
    )


def _maximums(subject: Subject) -> Iterator[tuple[Place, str, str, Amount]]:
    """All maximums of the file: place, name for people, text, amount; bad ones are left out."""
    for queue, element in subject.written(
        "maxResources", "maxChildResources", "queueMaxResourcesDefault"
    ):
        try:
            amount = read_resources(element.text, subject.settings.types, UNBOUNDED)
        except ValueError:
            continue
        what = f"{element.name} of {queue}" if queue else element.name
        yield element.text_place, what, element.text, amount


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


_NO_LIMIT = -1.0


def master_share_too_small(subject: Subject) -> Iterator[Finding]:
    """maxAMShare so small that not even one master fits, however much the queue gets."""
    master = smallest_of(subject)
    for leaf in subject.leaves:
        limit = _most_for_masters(subject, leaf)
        if limit is None or fits(master, limit) or not fits(master, subject.reachable(leaf)):
            continue  # a leaf without room for any container is reported as such
        share, place = leaf.max_master_share, subject.place(leaf.name, "maxAMShare")
        if share is None:
            share = subject.allocations.queue_max_master_share_default
            if subject.written("queueMaxAMShareDefault"):
                place = subject.top_place("queueMaxAMShareDefault")
        yield Finding(
            place,
            f"maxAMShare {share:g} leaves no room for a single application master in {leaf.name}"
            f" ({subject.beyond(master, limit)}): nothing ever runs there",
            "accepts applications, whose masters then wait forever",
        )


def _most_for_masters(subject: Subject, leaf: QueueSettings) -> Resource | None:
    """The limit on masters if the queue had all that it may have; None: there is none
    (Hadoop: FSLeafQueue.computeMaxAMResource)."""
    share = leaf.max_master_share
    if share is None:
        share = subject.allocations.queue_max_master_share_default
    if abs(share - _NO_LIMIT) < 0.0001:
        return None
    return tuple(
        UNBOUNDED if most == UNBOUNDED and share > 0 else math.ceil(most * share)
        for most in subject.reachable(leaf)
    )


def container_maximum_above_schedulers(subject: Subject) -> Iterator[Finding]:
    """maxContainerAllocation above the maximum allocation of all queues."""
    for queue in subject.allocations.queues.values():
        if queue.max_container is None:
            continue
        maximum = subject.settings.maximum_allocation
        written = tuple(0 if x == UNBOUNDED else x for x in queue.max_container)
        if not fits(written, maximum):
            yield Finding(
                subject.place(queue.name, "maxContainerAllocation"),
                f"maxContainerAllocation of {queue.name} is above the maximum allocation of"
                f" yarn-site.xml ({subject.beyond(written, maximum)}), which holds",
                "takes the smaller one",
                "warning",
            )


def container_maximum_below_minimum(subject: Subject) -> Iterator[Finding]:
    """maxContainerAllocation below the minimum allocation."""
    for queue in subject.allocations.queues.values():
        minimum = subject.settings.minimum_allocation
        if queue.max_container is not None and not fits(minimum, queue.max_container):
            yield Finding(
                subject.place(queue.name, "maxContainerAllocation"),
                f"maxContainerAllocation of {queue.name} is below the minimum allocation of"
                f" yarn-site.xml ({subject.beyond(minimum, queue.max_container)}): larger asks are"
                " refused, and smaller ones are not rounded up to the minimum",
                "refuses every ask that is above it",
            )


def increment_does_not_divide_maximum(subject: Subject) -> Iterator[Finding]:
    """Asks near the maximum are not rounded up to a multiple of the increment."""
    settings = subject.settings
    for name, increment, maximum in zip(
        settings.types.names,
        settings.increment_allocation,
        settings.maximum_allocation,
        strict=True,
    ):
        if increment <= 0 or maximum == UNBOUNDED or maximum % increment == 0:
            continue
        keys = [new_increment_key(name)]
        if name in (MEMORY, VCORES):
            keys += [limit_key(name, "increment"), limit_key(name, "maximum")]
        keys.append(f"yarn.resource-types.{name}.maximum-allocation")
        yield Finding(
            subject.site.place(*keys),
            f"the increment {increment} of {name} does not divide the maximum allocation {maximum}:"
            f" the largest containers have {maximum}, which is not a multiple of it",
            "cuts to the maximum after it has rounded up",
        )
