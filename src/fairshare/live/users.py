"""Owns what this machine knows of users: who runs the server, and the groups of a user.

Placement rules choose queues by group; as in Hadoop the server looks them up, and what it found is
part of the submission, so that a recorded decision never depends on the machine again.
"""

import getpass
import grp
import os
import pwd


def own_user() -> str:
    """The user that the server runs as; its number if it has no name."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())


def groups_of_user(user: str) -> tuple[str, ...]:
    """The names of a user's groups, the primary one first; empty for a user unknown here."""
    try:
        primary = pwd.getpwnam(user).pw_gid
        numbers = os.getgrouplist(user, primary)
    except (KeyError, OSError, ValueError):
        return ()
    ordered = dict.fromkeys([primary, *sorted(numbers)])
    return tuple(name for number in ordered if (name := _group_name(number)) is not None)


def _group_name(number: int) -> str | None:
    try:
        return grp.getgrgid(number).gr_name
    except KeyError:
        return None
