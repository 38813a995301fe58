"""Owns the rows of the operation table for the paths that only the pages use."""

from typing import Any, Final

from fairshare.insight.owed import OwedPart
from fairshare.insight.shares import Share
from fairshare.live.lines import ApplicationLine
from fairshare.live.views import NodeView
from fairshare.schedulers.views import QueueView
from fairshare.web.openapi.forms import Amounts, extended, form, shown
from fairshare.web.openapi.operation import NUMBER, Operation, Parameter

LINE = extended(ApplicationLine, "ApplicationLine", id=str, diagnostics=str)
PAST_LINE = extended(ApplicationLine, "PastApplication", id=str, diagnostics=str, at_ms=int)
AT: Final = Parameter("at", "An instant of the past in milliseconds.", NUMBER)
PART: Final = (
    Parameter("search", "A part of what names a row."),
    Parameter("sort", "A column; with `-` before it the most first."),
    Parameter("order", "Any name for this order: asked for by it again, rows keep their places."),
    Parameter("offset", "How many rows to pass over.", NUMBER),
    Parameter("limit", "How many rows at most.", {"type": "integer", "minimum": 1}),
    AT,
)

OWED: Final = form(
    "Owed",
    "What a queue is owed, in parts by cause.",
    queue=str,
    type=str,
    owed=int,
    unasked=int,
    waiting=int,
    looked=int,
    parts=list[extended(OwedPart, "OwedPart", first=str | None)],  # type: ignore[misc]
)

PAGE_OPERATIONS: Final[dict[tuple[str, str], Operation]] = {
    ("GET", "/pages/applications"): Operation(
        "pages",
        form(
            "ApplicationLines",
            "A screenful of applications, and figures of all that match.",
            at_ms=int | None,
            known=int,
            counts=dict[str, int],
            matching=int,
            held=int,
            containers=int,
            offset=int,
            rows=list[LINE],  # type: ignore[valid-type]
        ),
        parameters=(
            Parameter("state", "waiting, running, finished, failed or killed."),
            Parameter("user", "Only his."),
            Parameter("queue", "Only those of this queue and of all below it."),
            *PART,
        ),
    ),
    ("GET", "/pages/applications/choices"): Operation(
        "pages",
        form("Choices", "What a list may be narrowed to.", users=list[str], queues=list[str]),
    ),
    ("GET", "/pages/applications/{application}"): Operation("pages", PAST_LINE, parameters=(AT,)),
    ("GET", "/pages/nodes"): Operation(
        "pages",
        form(
            "NodeLines",
            "A screenful of nodes, and figures of all that match.",
            at_ms=int | None,
            known=int,
            matching=int,
            counts=dict[str, int],
            labels=dict[str, int],
            used=Amounts,
            total=Amounts,
            containers=int,
            idle=int,
            decommissioned=list[str] | None,
            offset=int,
            rows=list[shown(NodeView)],  # type: ignore[misc]
        ),
        parameters=(Parameter("only", "reserved, draining, or =LABEL."), *PART),
    ),
    ("GET", "/pages/node-map"): Operation(
        "pages",
        form(
            "NodeMap",
            "All nodes that match, in columns, by rack and name.",
            at_ms=int | None,
            by=str,
            names=list[str],
            racks=list[str],
            totals=list[int],
            used=list[int],
            containers=list[int],
            marks=list[int],
        ),
        parameters=(
            Parameter("only", "reserved, draining, or =LABEL."),
            Parameter("search", "A part of name, rack, label or an attribute."),
            Parameter("by", "A resource type."),
            AT,
        ),
    ),
    ("GET", "/pages/nodes/{node}"): Operation("pages", dict[str, Any], parameters=(AT,)),
    ("GET", "/pages/queues/{queue}/owed"): Operation("pages", OWED),
    ("GET", "/pages/tree"): Operation(
        "pages",
        form(
            "QueueTree",
            "The queues in sight, and how many there are.",
            at_ms=int | None,
            total=Amounts,
            known=int,
            owed=int,
            queues=list[extended(QueueView, "QueueInSight", share=shown(Share))],  # type: ignore[misc]
        ),
        parameters=(
            Parameter("fold", "Queues that are not open or closed as at first, with commas."),
            Parameter("search", "A part of the name."),
            Parameter("below", "1: only leaves that are owed something."),
            Parameter("queue", "One that is shown in any case."),
            AT,
        ),
    ),
    ("GET", "/pages/queues"): Operation(
        "pages",
        form(
            "QueueNames",
            "All queues by name.",
            queues=list[form("QueueName", "A queue.", name=str, parent=str, leaf=bool)],  # type: ignore[misc]
        ),
    ),
}
