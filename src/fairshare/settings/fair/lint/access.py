"""Owns the rules about access lists that admit no users, or all
(Hadoop: FSQueue.hasAccess)."""

from collections.abc import Iterator

from fairshare.core.model.queues import ROOT
from fairshare.core.schedulers.access_lists import allows_all, named, variable_of
from fairshare.documents.problems import Finding
from fairshare.settings.fair.lint.subject import Subject

_ENABLED = "yarn.acl.enable"


def nobody_may_submit(subject: Subject) -> Iterator[Finding]:
    """A leaf that no list, of its own or above it, opens to anybody."""
    for leaf in subject.leaves:
        if any(
            _names_users(acl or ("*" if queue.name == ROOT else " "))
            for queue in subject.path(leaf.name)
            for acl in (queue.submit_acl, queue.administer_acl)
        ):
            continue
        yield Finding(
            subject.place(leaf.name, "aclSubmitApps"),
            f"no user may submit to {leaf.name}: all its lists and those above it are blank",
            "rejects every application",
        )


def restriction_void(subject: Subject) -> Iterator[Finding]:
    """A list below a queue that admits all users."""
    for name, element in subject.written("aclSubmitApps"):
        if name in ("", ROOT) or allows_all(element.text):
            continue
        for above in subject.path(name):
            if above.name == name:
                continue
            default = "*" if above.name == ROOT else " "
            lists = (
                ("aclSubmitApps", above.submit_acl),
                ("aclAdministerApps", above.administer_acl),
            )
            opened = [tag for tag, acl in lists if allows_all(default if acl is None else acl)]
            if opened:
                yield Finding(
                    element.text_place,
                    f"aclSubmitApps of {name} excludes none, because {opened[0]} of {above.name}"
                    f" admits all: give {above.name} <{opened[0]}>"
                    f"{' and <aclAdministerApps>' if len(opened) > 1 else ''}, too",
                    "admits users that may submit to, or administer, any queue above",
                )
                break


def administration_opens_submission(subject: Subject) -> Iterator[Finding]:
    """Root restricts submission, but all users may administer, and so submit."""
    root = subject.queue(ROOT)
    if (
        root.submit_acl is not None
        and not allows_all(root.submit_acl)
        and allows_all(root.administer_acl or "*")
    ):
        yield Finding(
            subject.place(ROOT, "aclSubmitApps"),
            "aclSubmitApps of root excludes no users, because administrators of a queue may submit"
            " to it, and root lets all users administer: give root <aclAdministerApps>, too",
            "lets all users submit everywhere",
        )


def administration_unchecked(subject: Subject) -> Iterator[Finding]:
    """Lists of administrators, and `yarn.acl.enable` is off."""
    written = [
        element
        for _, element in subject.written("aclAdministerApps")
        if element.text and not allows_all(element.text)
    ]
    if subject.has_site and not subject.settings.acl_enabled and written:
        yield Finding(
            written[0].place,
            f"aclAdministerApps does not keep others from killing and moving applications:"
            f" {_ENABLED} is not true",
            f"checks it only with {_ENABLED}; submissions are checked in any case",
        )


def variable_in_list(subject: Subject) -> Iterator[Finding]:
    """Names that look like variables, which lists do not have."""
    for name, element in subject.written("aclSubmitApps", "aclAdministerApps"):
        found = variable_of(element.text)
        if found:
            yield Finding(
                element.text_place,
                f"{element.name} of {name} has {found}, which is not replaced: it names a user who"
                " is called so. List users and groups by their names",
                "looks for a user of this name",
            )


def _names_users(acl: str) -> bool:
    return allows_all(acl) or any(named(acl))
