"""Owns the evaluation of Hadoop's access lists. Does not know queues."""

from collections.abc import Collection


def allows(acl: str, user: str, groups: Collection[str]) -> bool:
    """Whether a list, `user1,user2 group1,group2`, names a user or one of its groups. `*` allows
    all users, a blank list none.

    >>> allows("ann,bob staff", "eve", ["staff"]), allows(" ", "ann", [])
    (True, False)
    """
    if acl.strip() == "*":
        return True
    users, _, group_list = acl.partition(" ")
    if user in [name.strip() for name in users.split(",") if name.strip()]:
        return True
    named = [name.strip() for name in group_list.split(",") if name.strip()]
    return any(group in named for group in groups)
