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


class ApplyBody(ActorBody, frozen=True, kw_only=True):
    """A draft to put in force. `digest` is that of the file that it was made from."""

    text: Text
    digest: Annotated[str, msgspec.Meta(max_length=64)]
    note: Annotated[str, msgspec.Meta(max_length=500)] = ""
