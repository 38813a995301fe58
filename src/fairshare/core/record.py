"""The record of the journal: one input that changed the state, with its events."""

from typing import TYPE_CHECKING

import msgspec

from fairshare.core.model.events import ClusterEvent, Event
from fairshare.core.model.inputs import Input

if TYPE_CHECKING:
    AnyEvent = Event
else:
    AnyEvent = ClusterEvent  # and all that `register_events` adds


Pace = tuple[tuple[int, int], ...]
"""What the runtime did since the record before without a record, as (ms before this one, what):
`runtime/pace.py` has the meaning."""


class Record(msgspec.Struct, frozen=True, array_like=True):
    """One atomic step of history: an input that changed the state, and its events; and the pace of
    the runtime since the step before, None where it is not known."""

    sequence: int
    now_ms: int
    input: Input
    events: "tuple[AnyEvent, ...]"  # looked up when the first journal is read
    pace: Pace | None = None


def register_events(*kinds: type[Event]) -> None:
    """Let journals contain events of a single scheduler, too.

    Only before this process reads its first journal: the decoder of records is made then.
    """
    for kind in kinds:
        globals()["AnyEvent"] |= kind
