"""Rules about capacities (shares of nothing, fractions for percentages), and about what single
users, their applications and their masters may have (Hadoop: LeafQueue, UsersManager).
"""

from collections.abc import Iterator

from fairshare.core.model.queues import ROOT
from fairshare.core.model.resources import VCORES
from fairshare.core.schedulers.capacity.settings import Percentage, Vector
from fairshare.documents.problems import Finding
from fairshare.settings.capacity.lint.subject import CapacitySubject, property_of

_NEAR = 0.001
_ALL = 100.0
_PERCENTAGES = ("maximum-capacity", "minimum-user-limit-percent")


def maximum_below_capacity(subject: CapacitySubject) -> Iterator[Finding]:
    """A guarantee that the queue's own maximum forbids."""
    for name, own in subject.queues:
        match own.capacity, own.maximum_capacity:
            case Percentage(least), Percentage(most) if name != ROOT and 0 <= most < least:
                yield Finding(
                    subject.place(name, "maximum-capacity"),
                    f"maximum-capacity {most:g} of {name} is below its capacity {least:g}: it never"
                    f" gets more than {most:g} percent, and the rest of its guarantee lies idle"
                    " until others borrow it",
                    "takes both, and the maximum wins",
                )


def maximum_of_root(subject: CapacitySubject) -> Iterator[Finding]:
    """A maximum of root holds for the whole cluster."""
    most = subject.own(ROOT).maximum_capacity
    if isinstance(most, Percentage) and 0 <= most.percent < _ALL:
        yield Finding(
            subject.place(ROOT, "maximum-capacity"),
            f"maximum-capacity of root is {most.percent:g}: all queues together never use more of"
            " the cluster than that, and the rest stays idle",
            "holds each queue to its part of it",
        )


def maximum_of_one_container(subject: CapacitySubject) -> Iterator[Finding]:
    """A leaf with room for a master and nothing else."""
    settings = subject.settings
    counted = len(settings.types.names) if settings.dominant else 1
    for name, own in subject.leaves:
        amounts = own.maximum_capacity.absolute if isinstance(own.maximum_capacity, Vector) else ()
        pairs = list(zip(amounts or (), settings.minimum_allocation, strict=False))[:counted]
        if pairs and pairs[0][0] and any(least <= most < 2 * least for most, least in pairs):
            yield Finding(
                subject.place(name, "maximum-capacity"),
                f"maximum-capacity of {name} has room for one of the smallest containers: the"
                " ApplicationMaster takes it, and the application's tasks wait forever",
                "starts masters, and nothing else",
            )


def maximum_out_of_range(subject: CapacitySubject) -> Iterator[Finding]:
    """More than all there is, or less than nothing: Hadoop takes any number."""
    for name, own in subject.queues:
        if isinstance(own.maximum_capacity, Percentage):
            percent = own.maximum_capacity.percent
            if percent > _ALL or percent < 0:
                effect = "more than there is" if percent > 0 else "nothing: no container fits"
                yield Finding(
                    subject.place(name, "maximum-capacity"),
                    f"maximum-capacity of {name} is {percent:g} percent: it allows {effect}."
                    " It is meant to be 0 to 100, or -1 for 100",
                    "takes it",
                )


def maximum_zero(subject: CapacitySubject) -> Iterator[Finding]:
    """A queue that may use nothing."""
    for name, own in subject.queues:
        if isinstance(own.maximum_capacity, Percentage) and own.maximum_capacity.percent == 0:
            yield Finding(
                subject.place(name, "maximum-capacity"),
                f"maximum-capacity of {name} is 0: nothing ever runs there",
                "accepts applications that wait forever",
            )


def capacity_zero(subject: CapacitySubject) -> Iterator[Finding]:
    """A leaf that is guaranteed nothing, and so takes no application."""
    settings = subject.settings
    for name, queue in subject.leaves:
        if queue.maximum_applications is not None or settings.queue_maximum_applications > 0:
            continue
        if queue.label_capacities or subject.guarantee(name) != 0:
            continue
        guilty = next(one for one in subject.path(name) if _is_nothing(subject, one))
        if subject.own(guilty).capacity is None and property_of(guilty, "capacity") in subject.site:
            continue  # what is written there cannot be read, and that is an error of its own
        what = f"{name} is guaranteed nothing"
        if guilty != name:
            what += f", because {guilty} is"
        elif queue.capacity is None:
            what = f"{property_of(name, 'capacity')} is not set, so that {name} has 0 percent"
        yield Finding(
            subject.place(guilty, "capacity"),
            f"{what}: it may have 0 applications, and refuses every one, as its number is a part of"
            f" {settings.maximum_applications}. Set maximum-applications of {name}, or"
            " global-queue-max-application",
            "refuses every application of the queue",
        )


def _is_nothing(subject: CapacitySubject, name: str) -> bool:
    """Whether a queue has nothing of what the one above it has, or there is none above."""
    above = subject.guarantee(name.rpartition(".")[0]) if name != ROOT else None
    return above is None or (subject.guarantee(name) == 0 and above != 0)


def fraction_as_percentage(subject: CapacitySubject) -> Iterator[Finding]:
    """0.5 where 50 is meant."""
    for name, _ in subject.parents:
        percents = [
            capacity.percent
            for child in subject.children(name)
            if isinstance(capacity := subject.own(child).capacity, Percentage)
        ]
        if percents and abs(sum(percents) - 1) < _NEAR and all(p <= 1 for p in percents):
            first = subject.children(name)[0]
            yield Finding(
                subject.place(first, "capacity"),
                f"the capacities of the children of {name} add up to 1: capacity is a percentage,"
                " write 50 for one half",
                "does not start: they must add up to 100",
            )
    for name, own in subject.queues:
        values = (own.maximum_capacity, own.minimum_user_limit_percent)
        for suffix, value in zip(_PERCENTAGES, values, strict=True):
            percent = value.percent if isinstance(value, Percentage) else value
            if isinstance(percent, float) and 0 < percent < 1:
                yield Finding(
                    subject.place(name, suffix),
                    f"{suffix} of {name} is {percent:g} percent: it is a percentage, and no"
                    f" fraction. Write {100 * percent:g} if that is meant",
                    f"takes it for {percent:g} percent",
                )


def percentage_as_fraction(subject: CapacitySubject) -> Iterator[Finding]:
    """10 where 0.1 is meant."""
    found = [("", subject.settings.maximum_master_share)]
    found += [(name, own.maximum_master_share or 0.0) for name, own in subject.queues]
    for name, share in found:
        if share > 1:
            key = "maximum-am-resource-percent"
            full = property_of(name, key) if name else property_of("x", key).replace("x.", "", 1)
            yield Finding(
                subject.place_of(full),
                f"{full} is {share:g}, which is {100 * share:g} percent: it is a fraction. Write"
                f" {share / 100:g} for {share:g} percent",
                "lets masters use everything",
            )


def amounts_above_cluster(subject: CapacitySubject) -> Iterator[Finding]:
    """Absolute capacities below root that are more than there is."""
    if subject.cluster is None:
        return
    vectors = [
        amounts
        for child in subject.children(ROOT)
        if isinstance(capacity := subject.own(child).capacity, Vector)
        and (amounts := capacity.absolute) is not None
    ]
    for name, amount, there in zip(
        subject.settings.types.names,
        map(sum, zip(*vectors, strict=True)),
        subject.cluster,
        strict=False,
    ):
        if amount > there:
            yield Finding(
                subject.place(subject.children(ROOT)[0], "capacity"),
                f"the capacities of the queues below root add up to {name}={amount}, and the"
                f" cluster has {there}: all are scaled down",
                "scales them down in proportion",
            )


def vcores_not_looked_at(subject: CapacitySubject) -> Iterator[Finding]:
    """Amounts of vcores with the calculator that looks at memory alone."""
    if subject.settings.dominant:
        return
    index = subject.settings.types.names.index(VCORES)
    for name, queue in subject.queues:
        for suffix, value in (
            ("capacity", queue.capacity),
            ("maximum-capacity", queue.maximum_capacity),
        ):
            if isinstance(value, Vector) and value.amounts[index].value:
                yield _unseen(subject, name, suffix)
        if queue.maximum_allocation_vcores is not None:
            yield _unseen(subject, name, "maximum-allocation-vcores")


def _unseen(subject: CapacitySubject, name: str, suffix: str) -> Finding:
    return Finding(
        subject.place(name, suffix),
        f"{suffix} of {name} has vcores, and DefaultResourceCalculator looks at memory alone: set"
        " yarn.scheduler.capacity.resource-calculator to DominantResourceCalculator",
        "books every container with 1 vcore, and compares memory",
    )


_NO_FACTOR = -1.0
_ORDINARY = 100.0


def _percent(subject: CapacitySubject, name: str) -> float:
    own = subject.own(name).minimum_user_limit_percent
    return subject.settings.minimum_user_limit_percent if own is None else own


def _factor(subject: CapacitySubject, name: str) -> float:
    own = subject.own(name).user_limit_factor
    return subject.settings.user_limit_factor if own is None else own


def user_percent_above_100(subject: CapacitySubject) -> Iterator[Finding]:
    """More than everything for each user."""
    for name, own in subject.leaves:
        percent = own.minimum_user_limit_percent
        if percent is not None and percent > _ORDINARY:
            yield Finding(
                subject.place(name, "minimum-user-limit-percent"),
                f"minimum-user-limit-percent of {name} is {percent:g}: the first user may have all"
                " of the queue, and more than its capacity where user-limit-factor allows it, while"
                " the others wait",
                "takes it as it is",
            )


def no_applications_per_user(subject: CapacitySubject) -> Iterator[Finding]:
    """So few applications for each user that it is none
    (Hadoop: LeafQueue.getMaxApplicationsPerUser)."""
    for name, own in subject.leaves:
        most = own.maximum_applications
        if most is None or most < 0:
            part = subject.guarantee(name)
            if part is None:
                continue
            most = int(subject.settings.maximum_applications * part)
        factor = _factor(subject, name)
        if most < 1 or factor == _NO_FACTOR:
            continue
        if int(most * _percent(subject, name) / 100 * factor) < 1:
            yield Finding(
                subject.place(name, "minimum-user-limit-percent", "user-limit-factor"),
                f"every application of {name} is refused: a user may have {most} applications of"
                f" the queue x {_percent(subject, name):g} percent (minimum-user-limit-percent)"
                f" x {factor:g} (user-limit-factor), which is none",
                "refuses every application of the queue",
            )


def user_factor_zero(subject: CapacitySubject) -> Iterator[Finding]:
    """No user may have more than one container."""
    for name, own in subject.leaves:
        if own.user_limit_factor == 0:
            yield Finding(
                subject.place(name, "user-limit-factor"),
                f"user-limit-factor of {name} is 0: no user gets more than one container",
                "gives each user a limit of nothing, and one container beyond it",
            )


def one_user_cannot_grow(subject: CapacitySubject) -> Iterator[Finding]:
    """A maximum above the capacity that one user alone never reaches (`user-limit-factor`)."""
    for name, own in subject.leaves:
        if own.user_limit_factor is not None or _factor(subject, name) != 1:
            continue
        match own.capacity, own.maximum_capacity:
            case Percentage(least), Percentage(most) if 0 < least < most:
                yield Finding(
                    subject.place(name, "maximum-capacity"),
                    f"one user alone never gets {name} beyond its capacity {least:g} to its maximum"
                    f" {most:g}: user-limit-factor is 1. Set it to {most / least:.3g}, or to -1"
                    " for no limit",
                    "holds each user to the queue's capacity",
                )


def user_weight_zero(subject: CapacitySubject) -> Iterator[Finding]:
    """A user who gets one container (Hadoop: LeafQueue.canAssignToUser)."""
    for name, own in subject.queues:
        for user, weight in own.user_weights.items():
            if weight == 0:
                yield Finding(
                    subject.place(name, f"user-settings.{user}.weight"),
                    f"the weight of {user} in {name} is 0: that is one container, and no more",
                    "gives the user one container",
                )


def masters_get_nothing(subject: CapacitySubject) -> Iterator[Finding]:
    """One application at a time."""
    for name, own in subject.leaves:
        share, where = own.maximum_master_share, f"maximum-am-resource-percent of {name}"
        if share is not None and share <= 0:
            place = property_of(name, "maximum-am-resource-percent")
            yield _one_at_a_time(subject, place, where, share)
    share = subject.settings.maximum_master_share
    if share <= 0:
        name = "yarn.scheduler.capacity.maximum-am-resource-percent"
        yield _one_at_a_time(subject, name, name, share)


def _one_at_a_time(subject: CapacitySubject, name: str, where: str, share: float) -> Finding:
    return Finding(
        subject.place_of(name),
        f"{where} is {share:g}: only one application runs at a time, because the first master is"
        " always let in",
        "starts one application at a time",
    )


def no_applications(subject: CapacitySubject) -> Iterator[Finding]:
    """Numbers of applications that let none in."""
    for name, queue in subject.queues:
        if queue.maximum_applications == 0 and subject.leaf[name]:
            yield Finding(
                subject.place(name, "maximum-applications"),
                f"maximum-applications of {name} is 0: it refuses every application",
                "refuses every application of the queue",
            )
        if queue.maximum_parallel_applications == 0:
            yield Finding(
                subject.place(name, "max-parallel-apps"),
                f"max-parallel-apps of {name} is 0: applications are accepted, and none starts",
                "lets them wait forever",
            )
