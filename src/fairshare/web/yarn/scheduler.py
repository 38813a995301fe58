"""Owns the path of the scheduler: each family has its own document
(Hadoop: RMWebServices.getSchedulerInfo)."""

from starlette.requests import Request

from fairshare.families.yarn.documents import Document, unwritten
from fairshare.server.slices import made_in_slices
from fairshare.web.yarn.answering import XML, Answer, YarnRoute, accepted_form
from fairshare.web.yarn.callers import Caller
from fairshare.web.yarn.gateway import gateway_of
from fairshare.web.yarn.rendering import raw


class SchedulerInfo(Document):
    """The scheduler, in the form of its family."""

    schedulerInfo: Document


async def show_scheduler(request: Request, caller: Caller) -> Answer:
    """GET /scheduler: made in slices, queue by queue; as JSON each queue is written at once."""
    gateway = gateway_of(request)
    written = unwritten if accepted_form(request) == XML else raw
    steps = gateway.yarn.document_in_steps(gateway, written)
    return Answer(SchedulerInfo(await made_in_slices(steps)), "scheduler")


ROUTES = [YarnRoute("/scheduler", get=show_scheduler)]
