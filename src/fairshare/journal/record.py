"""Owns the record of the journal: one input that changed the state, with its events."""

import msgspec

from fairshare.model.inputs import Input
from fairshare.schedulers.events import AnyEvent


class Record(msgspec.Struct, frozen=True, array_like=True):
    """One atomic step of history: an input that changed the state, and its events."""

    sequence: int
    now_ms: int
    input: Input
    events: tuple[AnyEvent, ...]
