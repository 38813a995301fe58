"""`[time_limits]` of fairshare.toml: how long tasks may run in a queue.

    [time_limits]
    default_s = "12h"               # of tasks that have no limit of their own
    maximum_s = "3d"

    [time_limits.queues."root.short"]
    maximum_s = "30m"

Hadoop's files have lifetimes of applications, and under the Capacity Scheduler alone.
"""

from typing import Annotated, Final

import msgspec
from msgspec import Meta

from fairshare.core.model.queues import ROOT, full_name
from fairshare.core.model.time_limits import TimeLimit
from fairshare.documents.structs import At

SECTION: Final = "time_limits"
_Limit = Annotated[int, Meta(ge=1, le=100 * 366 * 86_400)] | None


class QueueTimeLimit(msgspec.Struct, frozen=True):
    """How long tasks run that have no limit of their own (`default_s`), and how long any may."""

    default_s: _Limit = None
    maximum_s: _Limit = None

    def check(self, at: At) -> None:
        """The default is possible."""
        default_s, maximum_s = self.default_s, self.maximum_s
        if default_s is not None and maximum_s is not None and default_s > maximum_s:
            at.wrong(f"{at.path('default_s')} is longer than maximum_s", "default_s")


class TimeLimitSettings(QueueTimeLimit, frozen=True, kw_only=True):
    """The same for all queues, and by queue. What a queue leaves out the nearest queue above
    says."""

    queues: dict[str, QueueTimeLimit] = {}

    def check(self, at: At) -> None:
        """The limits of all queues are above, and each queue is there once."""
        super().check(at)
        names: dict[str, str] = {}
        for name in self.queues:
            if full_name(name) == ROOT:
                at.wrong("the limits of all queues belong to [time_limits]", "queues", name)
            elif names.setdefault(full_name(name), name) != name:
                at.wrong(f"{name!r} and {names[full_name(name)]!r} are the same", "queues", name)


def time_limits_of(settings: TimeLimitSettings) -> dict[str, TimeLimit]:
    """The limits by the full names of queues, as the core has them."""
    limits = {ROOT: settings, **{full_name(name): own for name, own in settings.queues.items()}}
    return {
        queue: TimeLimit(_ms(limit.default_s), _ms(limit.maximum_s))
        for queue, limit in limits.items()
        if limit.default_s is not None or limit.maximum_s is not None
    }


def _ms(seconds: int | None) -> int | None:
    return None if seconds is None else seconds * 1_000
