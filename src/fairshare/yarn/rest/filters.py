"""The parameters of `/apps` and `/appstatistics`, and the filters that they set.

Blank parameters count as absent, except `name`. The messages of refusals are Hadoop's, including
its mistakes, since clients show them (Hadoop: RMWebServices.getApps).
"""

from collections.abc import Iterable, Iterator

import msgspec
from starlette.requests import Request

from fairshare.api.yarn import APPLICATION_STATES
from fairshare.core.model.applications import Application
from fairshare.runtime.projections.attempt_history import AttemptHistory
from fairshare.yarn.rest.bodies import LONG, java_number
from fairshare.yarn.rest.errors import bad_request, wrong_argument
from fairshare.yarn.rest.states import FINAL_STATUSES, final_status, finished_ms, public_state

MOST_MS = 2**63 - 1
SELECTABLE = (
    "resourceRequests",
    "timeouts",
    "appNodeLabelExpression",
    "amNodeLabelExpression",
    "resourceInfo",
)


class Filter(msgspec.Struct, frozen=True):
    """The filters of a request; None and empty: any value."""

    states: frozenset[str] = frozenset()
    final_status: str = ""
    user: str = ""
    queue: str = ""
    limit: int = 2**63 - 1
    started_ms: tuple[int, int] = (0, MOST_MS)
    finished_ms: tuple[int, int] = (0, MOST_MS)
    types: frozenset[str] = frozenset()
    tags: frozenset[str] = frozenset()
    name: str | None = None
    without: frozenset[str] = frozenset()


def read_filter(request: Request) -> Filter:
    """The parameters of `/apps`; raises Refused (400)."""
    parameters = request.query_params
    name = parameters.get("name")
    limit = read_limit(parameters.get("limit", ""))
    started = read_range(request, "startedTime", "startTimeBegin", "startedTime")
    finished = read_range(request, "finishedTime", "finishTimeBegin", "finishTime")
    states = read_states(words(request, "state", "states"))
    without = read_without(request)
    status = parameters.get("finalStatus", "")
    if status and status not in FINAL_STATUSES:
        raise wrong_argument(
            "No enum constant org.apache.hadoop.yarn.api.records.FinalApplicationStatus." + status
        )
    return Filter(
        states=states,
        final_status=status,
        user=parameters.get("user", ""),
        queue=parameters.get("queue", ""),
        limit=limit,
        started_ms=started,
        finished_ms=finished,
        types=frozenset(word.lower() for word in words(request, "applicationTypes")),
        tags=frozenset(word.lower() for word in words(request, "applicationTags")),
        name=name,
        without=without,
    )


def words(request: Request, *names: str) -> list[str]:
    """The words of parameters that may be repeated, and separated by commas."""
    texts = [text for name in names for text in request.query_params.getlist(name)]
    return [word.strip() for text in texts for word in text.split(",") if word.strip()]


def read_states(found: Iterable[str]) -> frozenset[str]:
    """Public states in upper or lower case; raises Refused (400)."""
    for word in found:
        if word.upper() not in APPLICATION_STATES:
            raise bad_request(
                f"Invalid application-state {word} specified. It should be one of"
                f" [{', '.join(APPLICATION_STATES)}]"
            )
    return frozenset(word.upper() for word in found)


def read_without(request: Request) -> frozenset[str]:
    """The fields to leave out, in lower case; raises Refused (400)."""
    known = {word.lower(): word for word in SELECTABLE}
    found = words(request, "deSelects")
    for word in found:
        if word.lower() not in known:
            raise bad_request(
                f"Invalid deSelects string {word} specified. It should be one of"
                f" [{', '.join(SELECTABLE)}]"
            )
    return frozenset(word.lower() for word in found)


def read_limit(text: str) -> int:
    """The most applications to list; raises Refused (400)."""
    if not text:
        return 2**63 - 1
    number = _number(text, "limit")
    if number <= 0:
        raise bad_request("limit value must be greater then 0")
    return number


def read_range(request: Request, name: str, begin: str, short: str) -> tuple[int, int]:
    """A range of instants; raises Refused (400). `begin` and `short` are Hadoop's names for it."""
    first, last = 0, MOST_MS
    text = request.query_params.get(name + "Begin", "")
    if text:
        first = _number(text, name + "Begin")
        if first < 0:
            raise bad_request(f"{short}Begin must be greater than 0")
    text = request.query_params.get(name + "End", "")
    if text:
        last = _number(text, name + "End")
        if last < 0:
            raise bad_request(f"{short}End must be greater than 0")
    if first > last:
        raise bad_request(f"{short}End must be greater than {begin}")
    return first, last


def _number(text: str, name: str) -> int:
    try:
        return java_number(text, LONG)
    except ValueError:
        raise bad_request(f"{name} value must be a number!") from None


def select(
    wanted: Filter, applications: Iterable[Application], attempt_history: AttemptHistory, queue: str
) -> Iterator[Application]:
    """The matching applications. `queue` is the full name of the requested queue.

    As in Hadoop the final status is checked after `limit` has been applied.
    """
    if wanted == Filter(without=wanted.without):
        yield from applications
        return
    found = 0
    for application in applications:
        if found == wanted.limit:
            return
        history = attempt_history.of(application.id)
        if not matches(wanted, application, queue):
            continue
        first, last = wanted.finished_ms
        if not first <= finished_ms(application, history) <= last:
            continue
        if wanted.states and public_state(application, history) not in wanted.states:
            continue
        found += 1
        status = final_status(application, history) if wanted.final_status else ""
        if status == wanted.final_status:
            yield application


def matches(wanted: Filter, application: Application, queue: str) -> bool:
    """Whether all filters match, except those that need the history of its attempts."""
    if wanted.user and application.user != wanted.user:
        return False
    # Applications in a queue below match while they are in it; a finished one keeps its last queue.
    below = application.attempt.active and application.queue.startswith(queue + ".")
    if queue and application.queue != queue and not below:
        return False
    if wanted.name is not None and application.submission.name != wanted.name:
        return False
    if wanted.types and application.submission.details.type.lower() not in wanted.types:
        return False
    if wanted.tags and wanted.tags.isdisjoint(application.submission.tags):
        return False
    first, last = wanted.started_ms
    return first <= application.submitted_ms <= last
