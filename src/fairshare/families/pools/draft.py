"""Owns drafts of the pools file."""

from typing import Final

from fairshare.families.element_draft import ElementDraft
from fairshare.families.pools.pool_settings import FORM

DRAFT: Final = ElementDraft(FORM, "pool", "")
