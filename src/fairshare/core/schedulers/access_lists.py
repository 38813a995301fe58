"""Hadoop's access lists: what they name, and whom they allow (Hadoop: AccessControlList)."""

import re
from collections.abc import Collection

_SEPARATOR = re.compile(r"[ \t\n\v\f\r]*[,\n][ \t\n\v\f\r]*")
_BLANKS = "".join(map(chr, range(0x21)))


def parts_of(text: str) -> list[str]:
    """The parts of a list divided by commas or line ends, without blanks; empty ones are kept, as
    Hadoop keeps them, except at the end (Hadoop: StringUtils.getTrimmedStrings).

    >>> parts_of(" ann,bob\\n cy,,")
    ['ann', 'bob', 'cy']
    """
    trimmed = text.strip(_BLANKS)
    parts = _SEPARATOR.split(trimmed) if trimmed else []
    while parts and not parts[-1]:
        parts.pop()
    return parts


def named(acl: str) -> tuple[list[str], list[str]]:
    """The users and the groups of a list: the first blank divides them.

    >>> named("ann,bob staff")
    (['ann', 'bob'], ['staff'])
    """
    users, _, groups = acl.partition(" ")
    return [name for name in parts_of(users) if name], [name for name in parts_of(groups) if name]


def variable_of(acl: str) -> str | None:
    """The first name that is written like a variable: `${user.name}`, `%user`, `$USER`.

    >>> variable_of("ann,${user.name} staff"), variable_of("ann staff")
    ('${user.name}', None)
    """
    users, groups = named(acl)
    return next((name for name in (*users, *groups) if name.startswith(("$", "%"))), None)


def allows_all(acl: str) -> bool:
    """Whether a star is all of the users, or all of the groups: `*`, `* staff`, `ann *`.

    >>> [allows_all(acl) for acl in ("*", " *", "* staff", "ann *", "*,ann", "ann *,staff")]
    [True, True, True, True, False, False]
    """
    return any(half.strip(_BLANKS) == "*" for half in acl.split(" ", 1))


def allows(acl: str, user: str, groups: Collection[str]) -> bool:
    """Whether a list, `user1,user2 group1,group2`, names a user or one of its groups. A star
    allows all users, a blank list none.

    >>> allows("ann,bob staff", "eve", ["staff"]), allows(" ", "ann", [])
    (True, False)
    """
    if allows_all(acl):
        return True
    users, group_list = named(acl)
    return user in users or any(group in group_list for group in groups)
