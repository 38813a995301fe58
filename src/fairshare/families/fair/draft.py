"""Owns drafts of fair-scheduler.xml."""

from typing import Final

from fairshare.families.element_draft import ElementDraft
from fairshare.families.fair.queue_settings import FORM
from fairshare.model.queues import ROOT

DRAFT: Final = ElementDraft(FORM, "queue", ROOT)
