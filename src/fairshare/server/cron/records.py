"""Owns the record of a cron job, and that of each time that it was due. Knows no file."""

from typing import Final, Literal

import msgspec

from fairshare.api.cron import Outcome, Overlap
from fairshare.api.work import Submission

TAG: Final = "cron="
"""Begins the tag of the applications of a cron job."""

Key = tuple[str, str]


class Job(msgspec.Struct, kw_only=True):
    """A cron job.

    `next_ms` is when it is due next; None: never again. `last` is the application that was
    submitted last, 0 for none, of the cluster `epoch_ms`. `queued_run` is the run that waits until
    that one has ended, or that an earlier server did not get to; 0 for none.
    """

    user: str
    name: str
    schedule: str
    time_zone: str
    overlap: Overlap
    submission: Submission
    created_ms: int
    paused: bool = False
    next_ms: int | None = None
    epoch_ms: int = 0
    last: int = 0
    queued_run: int = 0

    @property
    def key(self) -> Key:
        """Its identity."""
        return self.user, self.name

    @property
    def tag(self) -> str:
        """The tag of its applications."""
        return f"{TAG}{self.name}"


class Run(msgspec.Struct, kw_only=True):
    """One time that a cron job was due, and what came of it. `application` is empty if none was
    submitted. Applications from the number `first_application` on may be it."""

    due_ms: int
    outcome: Outcome | Literal["submitting"]
    first_application: int = 0
    application: str = ""
    reason: str = ""
    number: int = 0
