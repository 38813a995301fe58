"""Owns the contract of a source of groups, and the refusal when it fails."""

from typing import Protocol

from fairshare.errors import InputError


class GroupSource(Protocol):
    """Says in which groups a user is: the operating system, a file, a command."""

    def groups(self, user: str) -> tuple[str, ...]:
        """A user's groups, the primary one first; none for a user whom the source does not know.

        May take its time; called from any thread. Raises GroupsUnavailable.
        """


class GroupsUnavailable(InputError):
    """Nobody can say now in which groups a user is: what needs to know it is refused."""

    def __init__(self, user: str, reason: str) -> None:
        super().__init__(
            "groups-unavailable",
            f"the groups of user {user} cannot be found out: {reason}; try again, or ask who runs"
            " the server to look at the source of groups",
        )
