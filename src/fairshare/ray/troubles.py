"""What is said when Ray cannot be used: one sentence with what to do. Pure."""

import re
from typing import Final

REFUSED_TOKEN: Final = "InvalidAuthToken"  # noqa: S105 - Ray's word in its log
"""What Ray logs, and puts into no error, when its head refuses a token."""

_GIVE: Final = (
    "give the server the cluster's token, as a file that only its user can read, in"
    " RAY_AUTH_TOKEN_PATH, and RAY_AUTH_MODE=token"
)
_MOST: Final = 500
_STORE_FULL: Final = ("ObjectStoreFullError", "OutOfDiskError")


def no_connection(address: str, error: Exception, logged: str) -> str:
    """Why a driver could not connect, of the error and of what Ray logged meanwhile.

    >>> no_connection("head:6379", ConnectionRefusedError(111, "Connection refused"), "")
    'no Ray cluster answers at head:6379 (Connection refused): start its head there, or correct \
address in [ray]'
    """
    kind, words = type(error).__name__, first_line(error)
    if REFUSED_TOKEN in logged:
        return f"the Ray cluster at {address} refuses the server's token: {_GIVE}"
    if kind == "AuthenticationError":
        place = words.partition(". ")[0]
        return f"there is no token for the Ray cluster at {address} ({place}): {_GIVE}"
    versions = re.findall(r"^\s+(Ray|Python): (\S+)$", str(error), re.M)
    if "Version mismatch" in str(error) and len(versions) == 4:
        theirs, ours = (" and ".join(map(" ".join, pair)) for pair in (versions[:2], versions[2:]))
        return (
            f"the Ray cluster at {address} has {theirs}, and the server {ours}: install the same"
            " versions on all machines"
        )
    return (
        f"no Ray cluster answers at {address} ({words}): start its head there, or correct address"
        " in [ray]"
    )


def no_answer(error: Exception) -> str:
    """What it means that a cluster that answered before does not answer now."""
    return (
        f"the head of the Ray cluster does not answer ({first_line(error)}): containers go on and"
        " nothing new starts; start it again with its storage if it has ended"
    )


def not_sent(error: Exception) -> str:
    """Why orders could not be handed to an agent."""
    if type(error).__name__ in _STORE_FULL:
        return (
            "Ray's object store is full, and the arguments of a Python call do not fit: free it, or"
            " start Ray with more (ray start --object-store-memory)"
        )
    return f"Ray did not take the order: {first_line(error)}"


def first_line(error: Exception) -> str:
    """The first line of an error; Ray's have many."""
    text = getattr(error, "strerror", None) or str(error).strip() or type(error).__name__
    return str(text).partition("\n")[0][:_MOST]
