"""Owns the contract of a source of groups, and the refusal when it fails."""

from typing import Protocol

from fairshare.errors import InputError


class GroupSource(Protocol):
    """A source of users' groups: the operating system, a file, a command."""

    def groups(self, user: str) -> tuple[str, ...]:
        """A user's groups, the primary one first; none for a user whom the source does not know.

        May take its time; called from any thread. Raises GroupsUnavailable.
        """


class GroupsUnavailable(InputError):
    """The source cannot return a user's groups now: calls that need them are refused."""

    def __init__(self, user: str, reason: str) -> None:
        super().__init__(
            "groups-unavailable",
            f"the groups of user {user} cannot be found out: {reason}; try again, or ask who runs"
            " the server to look at the source of groups",
        )
