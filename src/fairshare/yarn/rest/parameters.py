"""What callers send: identifiers in paths, bodies, and the parameters that filter `/apps`.

Identifiers have any count of digits (Hadoop: ApplicationId.fromString). Bodies are JSON or XML,
read as leniently as Hadoop's readers do, and become a mapping: in XML repeated elements become
lists, and all values strings; a number may be given as a string, and unknown fields are ignored
(Hadoop: ApplicationSubmissionContextInfo). Blank parameters of `/apps` and `/appstatistics` count
as absent, except `name`. The messages of refusals are Hadoop's, including its mistakes, since
clients show them (Hadoop: RMWebServices.getApps, GenericExceptionHandler).
"""

import gzip
import re
import zlib
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
from starlette.requests import Request

from fairshare.api.yarn import APPLICATION_STATES
from fairshare.core.model.applications import Application
from fairshare.core.model.identifiers import ApplicationId, ContainerId, container_id
from fairshare.documents.problems import Problems
from fairshare.documents.xml import parse, plain
from fairshare.runtime.projections.attempt_history import AttemptHistory
from fairshare.server.web.limits import body_limit_bytes
from fairshare.yarn.rest.application_documents import (
    FINAL_STATUSES,
    final_status,
    finished_ms,
    public_state,
)
from fairshare.yarn.rest.errors import Refused, bad_request, not_found, wrong_argument, wrong_form
from fairshare.yarn.rest.gateway import Gateway

_ARGUMENT = "java.lang.IllegalArgumentException"
_NUMBERS = re.compile(r"(-?[0-9]{1,19})_(-?[0-9]{1,19})")
_ATTEMPT = re.compile(r"appattempt_([0-9]{1,19})_([0-9]{1,19})_([0-9]{1,19})")
_CONTAINER = re.compile(
    r"container_(?:e[0-9]{1,9}_)?([0-9]{1,19})_([0-9]{1,19})_([0-9]{1,19})_([0-9]{1,19})"
)


def read_application_id(text: str) -> tuple[int, ApplicationId]:
    """The cluster's number and the application's; raises Refused (400)."""
    prefix, _, rest = text.partition("_")
    if prefix != "application" or not rest:
        raise bad_request(
            f"Invalid ApplicationId prefix: {text}. The valid ApplicationId should start with"
            " prefix application",
            _ARGUMENT,
        )
    match = _NUMBERS.fullmatch(rest)
    if match is None:
        raise bad_request(f"Invalid ApplicationId: {text}", _ARGUMENT)
    return int(match[1]), int(match[2])


def find_application(gateway: Gateway, text: str) -> Application:
    """The application of a path; raises Refused (400, 404)."""
    epoch_ms, number = read_application_id(text)
    state = gateway.scheduler.state
    application = state.applications.get(number) if epoch_ms == state.epoch_ms else None
    if application is None or is_unknown(gateway, number):
        raise not_found(f"app with id: {text} not found")
    return application


def is_unknown(gateway: Gateway, number: ApplicationId) -> bool:
    """With access control on, a caller who may not submit is refused at once, without a record."""
    return gateway.controls_access and gateway.attempt_history.of(number).refusal == "access-denied"


def known_applications(gateway: Gateway) -> Iterator[Application]:
    """All applications that YARN would know, in the order of their submission."""
    if not gateway.controls_access:
        yield from gateway.scheduler.state.applications.values()
        return
    for number, application in gateway.scheduler.state.applications.items():
        if not is_unknown(gateway, number):
            yield application


def read_attempt_id(text: str) -> tuple[int, ApplicationId, int]:
    """Cluster, application and attempt; raises Refused (400)."""
    match = _ATTEMPT.fullmatch(text)
    if match is None:
        raise bad_request(f"Invalid AppAttemptId: {text}", _ARGUMENT)
    return int(match[1]), int(match[2]), int(match[3])


def read_container_id(text: str) -> tuple[int, ContainerId]:
    """Cluster and container; raises Refused (400)."""
    if not text.startswith("container_"):
        raise bad_request(f"Invalid ContainerId prefix: {text}", _ARGUMENT)
    match = _CONTAINER.fullmatch(text)
    if match is None:
        raise bad_request(f"Invalid ContainerId: {text}", _ARGUMENT)
    return int(match[1]), container_id(int(match[2]), int(match[3]), int(match[4]))


INT = 32
LONG = 64
"""The bits of Java's integer types, which Hadoop's fields have."""

_WHOLE = re.compile(r"[+-]?[0-9]+")
_LONGEST = 20
"""The characters of the longest number of 64 bits; int() of a million digits takes long."""
_SHOWN = 40


async def read_object(request: Request, root: str) -> dict[str, Any]:
    """The body as a mapping, without the root element; raises Refused (400, 413, 415).

    `root` is the element's name in XML.
    """
    content = await read_bytes(request)
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "application/json":
        return _from_json(content)
    if kind == "application/xml":
        return _from_xml(content, root)
    if kind:
        raise wrong_form(None, 503)  # what clients of 3.4.1 get
    raise wrong_form("the body has no Content-Type: application/json or application/xml", 503)


async def read_bytes(request: Request) -> bytes:
    """The body, unpacked; raises Refused (400, 413)."""
    most_bytes = body_limit_bytes(request)
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > most_bytes:
            raise _too_large(most_bytes)
    content = bytes(body)
    if "gzip" in request.headers.get("content-encoding", ""):
        try:
            unpacked = zlib.decompressobj(zlib.MAX_WBITS | 16)
            content = unpacked.decompress(content, most_bytes + 1)
        except (zlib.error, gzip.BadGzipFile) as error:
            raise wrong_form(f"the body is not gzip: {error}") from None
        if len(content) > most_bytes:
            raise _too_large(most_bytes)
    return content


def _too_large(most_bytes: int) -> Refused:
    return wrong_form(f"the body is larger than {most_bytes} bytes", 413)


def _from_json(content: bytes) -> dict[str, Any]:
    if not content.strip():
        raise wrong_form("the body is empty: JSON is needed")
    try:
        value = msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise wrong_form(f"the body is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise wrong_form("the body must be an object")
    return value


def _from_xml(content: bytes, root: str) -> dict[str, Any]:
    problems = Problems()
    element = parse(content, "the body", problems)
    if element is None:
        raise wrong_form(f"the body is not XML: {problems.all[0].message}")
    if element.name != root:
        raise wrong_form(f"the body's root element must be {root}, not {element.name}")
    found = plain(element, strip=True)
    return found if isinstance(found, dict) else {}


def first_object(body: dict[str, Any], name: str) -> dict[str, Any]:
    """A body that is wrapped in its own name, or is not."""
    inner = body.get(name)
    return inner if len(body) == 1 and isinstance(inner, dict) else body


def as_list(value: object) -> list[Any]:
    """One or many: a bare value means a list of one, null an empty list."""
    if value is None or value == "":
        return []
    return value if isinstance(value, list) else [value]


def pairs(value: object) -> list[tuple[str, Any]]:
    """The entries of a Java map: `{"entry": [{"key":, "value":}]}`, or one of them bare."""
    entries = value.get("entry") if isinstance(value, dict) else value
    return [
        (str(one.get("key", "")), one.get("value", ""))
        for one in as_list(entries)
        if isinstance(one, dict)
    ]


def text_of(value: object, default: str = "") -> str:
    """A text; numbers are taken as they are written."""
    if value is None or isinstance(value, dict | list):
        return default
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def lenient_integer(value: object, name: str, default: int = 0, *, bits: int = INT) -> int:
    """The integer of a field, also as a string; an absent one is the default, anything else is 0.

    Raises Refused (400) for one that Hadoop's field, of `INT` or `LONG` bits, cannot hold.

    >>> lenient_integer("1024", "memory"), lenient_integer("much", "memory")
    (1024, 0)
    >>> lenient_integer(None, "memory", 7)
    7
    """
    if value is None:
        return default
    if isinstance(value, bool):
        return 0
    most = 1 << (bits - 1)
    if isinstance(value, int | float):
        # A float is compared as it is: int() of an infinite one fails.
        if -most <= value < most:
            return int(value)
    elif not isinstance(value, str) or not _WHOLE.fullmatch(value.strip()):
        return 0
    else:
        digits = value.strip()
        if len(digits) <= _LONGEST and -most <= int(digits) < most:
            return int(digits)
    kind = "int" if bits == INT else "long"
    raise bad_request(f"{name}: {str(value)[:_SHOWN]} is out of range of {kind}")


def java_number(text: str, bits: int = INT) -> int:
    """A number as Java's parseInt and parseLong read it; raises ValueError.

    >>> java_number("-7"), java_number("+7")
    (-7, 7)
    """
    most = 1 << (bits - 1)
    if _WHOLE.fullmatch(text) and len(text) <= _LONGEST and -most <= int(text) < most:
        return int(text)
    raise ValueError(f"{text[:_SHOWN]!r} is no whole number of {bits} bits")


def truth(value: object, default: bool = False) -> bool:
    """A truth value, also as a string."""
    if value is None:
        return default
    return value is True or (isinstance(value, str) and value.strip().lower() == "true")


MOST_MS = 2**63 - 1
EVER = (0, MOST_MS)
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
    started_ms: tuple[int, int] = EVER
    finished_ms: tuple[int, int] = EVER
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
    names = words(request, "deSelects")
    for word in names:
        if word.lower() not in known:
            raise bad_request(
                f"Invalid deSelects string {word} specified. It should be one of"
                f" [{', '.join(SELECTABLE)}]"
            )
    return frozenset(word.lower() for word in names)


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
    count = 0
    for application in applications:
        if count == wanted.limit:
            return
        if not matches(wanted, application, queue):
            continue
        history = attempt_history.of(application.id)
        first, last = wanted.finished_ms
        if wanted.finished_ms != EVER and not first <= finished_ms(application, history) <= last:
            continue
        if wanted.states and public_state(application, history) not in wanted.states:
            continue
        count += 1
        status = final_status(application, history) if wanted.final_status else ""
        if status == wanted.final_status:
            yield application


def matches(wanted: Filter, application: Application, queue: str) -> bool:
    """Whether all filters match, except those that need the history of its attempts."""
    if wanted.user and application.user != wanted.user:
        return False
    # Applications in a queue below match while they are in it; a finished one keeps its last queue.
    below = application.active and application.queue.startswith(queue + ".")
    if queue and application.queue != queue and not below:
        return False
    if wanted.name is not None and application.brief.name != wanted.name:
        return False
    if wanted.types and application.brief.type.lower() not in wanted.types:
        return False
    if wanted.tags and wanted.tags.isdisjoint(application.brief.tags):
        return False
    first, last = wanted.started_ms
    return first <= application.submitted_ms <= last
