"""Owns the path of the scheduler: each family has its own document
(Hadoop: RMWebServices.getSchedulerInfo)."""

from starlette.requests import Request

from fairshare.families.yarn.documents import Document
from fairshare.web.yarn.answering import Answer, YarnRoute
from fairshare.web.yarn.callers import Caller
from fairshare.web.yarn.gateway import gateway_of


class SchedulerInfo(Document):
    """The scheduler, in the form of its family."""

    schedulerInfo: Document


async def show_scheduler(request: Request, caller: Caller) -> Answer:
    """GET /scheduler."""
    gateway = gateway_of(request)
    return Answer(SchedulerInfo(gateway.yarn.document(gateway)), "scheduler")


ROUTES = [YarnRoute("/scheduler", get=show_scheduler)]
