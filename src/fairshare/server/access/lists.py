"""Owns the access lists of applications: users that may view them, and change them."""

from collections.abc import Collection

from fairshare.core.model.applications import Application
from fairshare.core.schedulers.access_lists import allows


def listed(acl: str | None, user: str, groups: Collection[str]) -> bool:
    """Whether a list in Hadoop's form, `user1,user2 group1,group2`, names a user or one of the
    user's groups.

    >>> listed("alice ops", "bob", ("ops",)), listed(" ", "bob", ()), listed(None, "bob", ())
    (True, False, False)
    """
    return acl is not None and allows(acl, user, groups)


def may_look(application: Application, user: str, groups: Collection[str]) -> bool:
    """Whether an application's own list lets a user view all of it."""
    return listed(application.submission.details.view_acl, user, groups)


def may_change(application: Application, user: str, groups: Collection[str]) -> bool:
    """Whether an application's own list lets a user kill, move and change it."""
    return listed(application.submission.details.modify_acl, user, groups)
