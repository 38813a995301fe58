"""When a server that waits may lead: the rule, and what the servers say of themselves.

The server that leads counts beats in the database. Another one that has read the same count for
some time presumes it dead, and claims the next epoch. That may be wrong, as with a leader that was
frozen or cut off; it is harmless, since each write checks the epoch in its own transaction: what a
former leader decides is never recorded, and orders go out only after the record.

No clock of another machine counts: only how long the same count was read, on the reader's own.
"""

import os
import socket
from pathlib import Path
from typing import Final

import msgspec

from fairshare.this_machine import boot_id

BEAT_S: Final = 0.5


class Beat(msgspec.Struct, frozen=True):
    """Which server leads in which epoch, and a number that changes while it does. Without a
    `holder` no server leads."""

    epoch: int
    holder: str
    count: int


class Holder(msgspec.Struct, frozen=True):
    """A server that leads. `place` is its state directory; `address` is empty until it listens."""

    host: str
    pid: int
    place: str
    address: str = ""

    def __str__(self) -> str:
        where = f" at {self.address}" if self.address else ""
        return f"process {self.pid} on {self.host}{where}"


def this_server(directory: Path) -> Holder:
    """What this process says of itself."""
    status = directory.stat()
    place = f"{boot_id()}/{status.st_dev}/{status.st_ino}"
    return Holder(socket.gethostname(), os.getpid(), place)


def holder_of(beat: Beat) -> Holder | None:
    """Which server leads; None: none does."""
    if not beat.holder:
        return None
    try:
        return msgspec.json.decode(beat.holder, type=Holder)
    except msgspec.DecodeError:
        return Holder("an unknown host", 0, "")


class Watch:
    """Follows the beats of the server that leads, for `patience_s`.

    `place` is the state directory of this process, which holds its lock: a leader from the same
    directory has ended.

    >>> watch = Watch(3, "here")
    >>> beat = Beat(7, '{"host":"a","pid":1,"place":"there"}', 41)
    >>> [watch.may_claim(now_s, beat) for now_s in (10.0, 11.0, 12.0, 13.1)]
    [False, False, False, True]
    >>> watch.may_claim(13.2, Beat(8, "", 42))
    True
    """

    def __init__(self, patience_s: float, place: str) -> None:
        self._patience_s = patience_s
        self._place = place
        self._seen: Beat | None = None
        self._since_s = 0.0

    def may_claim(self, now_s: float, beat: Beat) -> bool:
        """Whether the leader is presumed dead, after a beat was read at an instant."""
        if beat != self._seen:
            self._seen, self._since_s = beat, now_s
        holder = holder_of(beat)
        if holder is None or holder.place == self._place:
            return True
        return now_s - self._since_s >= self._patience_s

    def begin_again(self) -> None:
        """The database was away: the leader could not count either."""
        self._seen = None
