"""Owns the rules about what single users, their applications and their masters may have
(Hadoop: LeafQueue, UsersManager)."""

from collections.abc import Iterator

from fairshare.core.schedulers.capacity.settings import Percentage
from fairshare.documents.problems import Finding
from fairshare.settings.capacity.lint.subject import CapacitySubject, property_of

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
                    f"the weight of {user} in {name} is 0: he gets one container, and no more",
                    "gives him one container",
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
    for name, own in subject.queues:
        if own.maximum_applications == 0 and subject.leaf[name]:
            yield Finding(
                subject.place(name, "maximum-applications"),
                f"maximum-applications of {name} is 0: it refuses every application",
                "refuses every application of the queue",
            )
        if own.maximum_parallel_applications == 0:
            yield Finding(
                subject.place(name, "max-parallel-apps"),
                f"max-parallel-apps of {name} is 0: applications are accepted, and none starts",
                "lets them wait forever",
            )
