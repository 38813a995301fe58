"""Owns the groups that the operating system knows, from whatever directory service."""

import grp
import os
import pwd

from fairshare.server.users.protocol import GroupsUnavailable
from fairshare.wording import cause


class SystemGroups:
    """The groups as `id` prints them."""

    def groups(self, user: str) -> tuple[str, ...]:
        """The primary one first, the others by number; none for a user unknown here."""
        try:
            primary = pwd.getpwnam(user).pw_gid
        except (KeyError, ValueError):
            return ()
        except OSError as error:
            raise GroupsUnavailable(user, cause(error)) from error
        try:
            numbers = os.getgrouplist(user, primary)
        except OSError as error:
            raise GroupsUnavailable(user, cause(error)) from error
        ordered = dict.fromkeys([primary, *sorted(numbers)])
        return tuple(name for number in ordered if (name := _group_name(number)) is not None)


def _group_name(number: int) -> str | None:
    try:
        return grp.getgrgid(number).gr_name
    except KeyError:
        return None
