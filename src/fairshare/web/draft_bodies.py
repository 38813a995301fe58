"""Owns the schema of request bodies about drafts of the configuration: strict, as all bodies."""

from typing import Annotated

import msgspec

from fairshare.api.values import ActorBody
from fairshare.config.xml import MAX_BYTES
from fairshare.families.draft import Edit

Text = Annotated[str, msgspec.Meta(max_length=MAX_BYTES)]


class DraftBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A draft, and the edits to apply to it."""

    text: Text
    edits: Annotated[tuple[Edit, ...], msgspec.Meta(max_length=100)] = ()


class TrialBody(ActorBody, frozen=True, kw_only=True):
    """A draft to try on the last part of the history: a duration, such as 24h or 14d."""

    text: Text
    last: Annotated[str, msgspec.Meta(max_length=32)] = "24h"


class ApplyBody(ActorBody, frozen=True, kw_only=True):
    """A draft to put in force. `digest` is that of the file that it was made from."""

    text: Text
    digest: Annotated[str, msgspec.Meta(max_length=64)]
    note: Annotated[str, msgspec.Meta(max_length=500)] = ""
