"""The identification of callers on the Unix socket: the kernel says which account has connected
(SO_PEERCRED), and nothing that the caller sends counts.

Root and the server's own account, whose processes can read its files anyway, are administrators.
"""

import contextlib
import os
import time
from pathlib import Path
from typing import Final

from fairshare.server.access.tokens import Identity
from fairshare.this_machine import account_numbered

PREFIX: Final = "unix:"
"""Begins the address of a peer on the Unix socket; its number of the account follows."""
KEPT_S: Final = 60.0
_MOST_KEPT: Final = 10_000


def address_of_peer(uid: int) -> str:
    """The address of connections of an account.

    >>> address_of_peer(1000)
    'unix:1000'
    """
    return f"{PREFIX}{uid}"


class Peers:
    """The accounts behind connections; their names are kept for a minute, as a directory service
    may take its time to answer."""

    def __init__(self) -> None:
        self._kept: dict[int, tuple[float, str]] = {}
        self._unmapped_uid = 65_534
        # What the kernel says of accounts that have no number here.
        with contextlib.suppress(OSError, ValueError):
            self._unmapped_uid = int(Path("/proc/sys/kernel/overflowuid").read_text())

    def knows(self, peer: str) -> bool:
        """Whether `identify` does not block: for a peer that is not on the Unix socket, too."""
        if not peer.startswith(PREFIX):
            return True
        kept = self._kept.get(int(peer.removeprefix(PREFIX)))
        return kept is not None and kept[0] > time.monotonic()

    def identify(self, peer: str) -> Identity | None:
        """The account behind a peer; None if it is not on the Unix socket, or has no account here,
        as those of other user namespaces. Raises AccountsUnavailable."""
        if not peer.startswith(PREFIX):
            return None
        uid = int(peer.removeprefix(PREFIX))
        if uid == self._unmapped_uid:
            return None
        kept = self._kept.get(uid)
        if kept is None or kept[0] <= time.monotonic():
            if len(self._kept) >= _MOST_KEPT:
                self._kept.clear()
            account = account_numbered(uid)
            kept = (time.monotonic() + KEPT_S, "" if account is None else account.pw_name)
            self._kept[uid] = kept
        name = kept[1]
        if not name:
            return None
        return Identity(name, administrator=uid in (0, os.geteuid()), proof=f"uid {uid}")
