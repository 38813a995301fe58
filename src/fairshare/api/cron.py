"""The records of cron jobs: applications that are submitted at the times of a cron line."""

from typing import Annotated, Literal

import msgspec

from fairshare.api.values import LINE, WORD, Body, User
from fairshare.api.work import Submission

Overlap = Literal["skip", "queue", "replace"]
"""What happens when a job is due while its last application is not over: nothing; it is submitted
when that one has ended, once; or that one is killed first."""

Outcome = Literal["submitted", "skipped", "queued", "refused"]

CronName = Annotated[str, msgspec.Meta(min_length=1, max_length=80, pattern=WORD)]


class CronBody(Body, frozen=True, kw_only=True):
    """A new cron job. Without `user` the server identifies the user, without `time_zone` it is the
    server's. `replace`: one of this name may be there already.

    The submission has neither conditions for its start nor a deadline, nor Python calls.
    """

    user: User | None = None
    name: CronName
    schedule: Annotated[str, msgspec.Meta(min_length=1, max_length=200, pattern=LINE)]
    time_zone: Annotated[str, msgspec.Meta(max_length=100, pattern=LINE)] = ""
    overlap: Overlap = "skip"
    submission: Submission
    replace: bool = False


class CronRun(msgspec.Struct, frozen=True):
    """One time that a job was due. `state` is the application's, if the server still knows it."""

    due_ms: int
    outcome: Outcome
    application: str = ""
    state: str = ""
    reason: str = ""


class CronJob(msgspec.Struct, frozen=True, kw_only=True):
    """A cron job. `next_ms` is when it is due next, null while it is paused. `runs` are its last
    ones, the newest first; empty in a list. `queue` is that of the last run, if it is known,
    else the requested one; empty if placement rules choose it."""

    user: str
    name: str
    schedule: str
    time_zone: str
    overlap: Overlap
    queue: str
    command: str
    paused: bool
    created_ms: int
    next_ms: int | None = None
    last_application: str = ""
    runs: tuple[CronRun, ...] = ()


class CronJobs(msgspec.Struct, frozen=True):
    """Cron jobs, in the order of their users and names."""

    jobs: tuple[CronJob, ...]


class CronOrderBody(Body, frozen=True, kw_only=True):
    """The user who pauses, resumes or deletes a job; by default the user of the server."""

    user: User | None = None
