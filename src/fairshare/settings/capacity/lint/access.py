"""Owns the rules about access lists that admit all users, or none
(`acl_submit_applications`)."""

from collections.abc import Iterator

from fairshare.core.model.queues import ROOT
from fairshare.core.schedulers.access_lists import allows_all, named, variable_of
from fairshare.documents.problems import Finding
from fairshare.settings.capacity.lint.subject import CapacitySubject, property_of

_ENABLED = "yarn.acl.enable"
_SUBMIT, _ADMINISTER = "acl_submit_applications", "acl_administer_queue"


def lists_not_checked(subject: CapacitySubject) -> Iterator[Finding]:
    """Lists that restrict where lists are not in use."""
    if not subject.has_site or subject.settings.acl_enabled:
        return
    for name, own in subject.queues:
        for suffix, acl in ((_SUBMIT, own.submit_acl), (_ADMINISTER, own.administer_acl)):
            if acl is not None and not allows_all(acl):
                yield subject.silent(
                    property_of(name, suffix), f"{_ENABLED} is not true", "admits all users"
                )
                return  # one is enough to find the switch


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
            found = variable_of(acl or "")
            if found:
                yield Finding(
                    subject.place(name, suffix),
                    f"{suffix} of {name} has {found}, which is not the user who"
                    " submits: list users and groups by their names",
                    "replaces properties, such as the name of the ResourceManager's own account,"
                    " and takes everything else for a name",
                )


def nobody_may_submit(subject: CapacitySubject) -> Iterator[Finding]:
    """A leaf that no list, of its own or above it, opens to anybody."""
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
