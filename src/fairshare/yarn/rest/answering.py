"""The conversion of a handler's document to the bytes of an answer: content negotiation, headers,
refusals, `HEAD` and `OPTIONS` (Hadoop: RMWebServices), and the origins that may read answers.

A handler takes a request and the caller, and returns an `Answer`, or raises a refusal. Headers for
browsers of other origins are off by default, as in Hadoop (Hadoop: CrossOriginFilter).
"""

import gzip
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from xml.sax.saxutils import quoteattr

import msgspec
from msgspec import UNSET
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from fairshare.errors import InputError
from fairshare.server.slices import sliced
from fairshare.server.web.audit import note
from fairshare.server.web.faults import STATUSES
from fairshare.settings.web import CrossOriginSettings
from fairshare.yarn.rest.callers import Caller, Rejected, identify
from fairshare.yarn.rest.errors import PlainRefusal, Refused, wrong_form
from fairshare.yarn.rest.gateway import gateway_of
from fairshare.yarn.rest.rendering import encoder, mapped, natural, xml
from fairshare.yarn.views.documents import Document


def is_trusted(settings: CrossOriginSettings, origin: str) -> bool:
    """Whether pages of an origin may read answers.

    >>> is_trusted(CrossOriginSettings(True, ("http://*.example",)), "http://a.example")
    True
    """
    if not settings.enabled:
        return False
    for allowed in settings.origins:
        if allowed.startswith("regex:"):
            if re.fullmatch(allowed.removeprefix("regex:"), origin):
                return True
        elif re.fullmatch(re.escape(allowed).replace(r"\*", ".*"), origin):
            return True
    return False


def headers_for(request: Request, settings: CrossOriginSettings) -> Mapping[str, str]:
    """The headers of an answer; empty if the origin may not read it, or the request's method or
    headers are not allowed."""
    origin = request.headers.get("origin", "")
    if not origin or not is_trusted(settings, origin):
        return {}
    if request.headers.get("access-control-request-method", "GET") not in settings.methods:
        return {}
    allowed = {name.lower() for name in settings.headers}
    wanted = request.headers.get("access-control-request-headers", "")
    if any(name.strip().lower() not in allowed for name in wanted.split(",") if name.strip()):
        return {}
    return {
        "Access-Control-Allow-Origin": origin,
        "Access-Control-Allow-Credentials": "true",
        "Access-Control-Allow-Methods": ",".join(settings.methods),
        "Access-Control-Allow-Headers": ",".join(settings.headers),
        "Access-Control-Max-Age": settings.max_age_s,
    }


JSON = "application/json"
XML = "application/xml"
WADL = "application/vnd.sun.wadl+xml"
_WRITTEN = {JSON: "application/json;charset=utf-8", XML: "application/xml; charset=utf-8"}
HEADERS = {
    "Cache-Control": "no-cache",
    "Pragma": "no-cache",
    "X-Content-Type-Options": "nosniff",
    "X-FRAME-OPTIONS": "SAMEORIGIN",
    "X-XSS-Protection": "1; mode=block",
    "Vary": "Accept-Encoding",
}
"""Headers of every answer below `/ws`, and of the pages beside it."""

MIN_COMPRESSED = 256
MIN_APART = 65_536
"""Answers of at least so many bytes, about a millisecond of work, are compressed in a thread."""


class Answer(msgspec.Struct):
    """The answer of a handler. `name` is the root element in XML; `dialect` how JSON is written.

    `natural` keeps the root element in JSON, `bare` drops it, `mapped` is the older dialect. With
    `text` the answer is that text alone.
    """

    document: object = None
    name: str = ""
    dialect: str = "natural"
    status: int = 200
    headers: Mapping[str, str] = {}
    text: str | None = None
    encoded: bytes | None = None  # the JSON, where it has been written already
    kind: str = ""  # another Content-Type than that of the form


async def listed(
    request: Request, name: str, form: type[Document], items: Iterable[Document]
) -> Answer:
    """The answer with a list of documents: the only field of `form`. They are made and written in
    slices, and must not depend on the state any more."""
    if accepted_form(request) != JSON:
        return Answer(form([item async for item in sliced(items)] or UNSET), name)
    written = b",".join([encoder.encode(item) async for item in sliced(items)])
    if not written:
        return Answer(form(UNSET), name)
    (field,) = form.__struct_fields__
    content = b'{"%b":{"%b":[%b]}}' % (name.encode(), field.encode(), written)
    return Answer(name=name, encoded=content)


NOT_THERE_IN_XML = {"Cache-Control": "must-revalidate,no-cache,no-store", "Connection": "close"}
"""A request in XML for what does not exist gets 500 and no body, as from Hadoop 3.4.1."""

Handler = Callable[[Request, Caller], Awaitable[Answer]]


_DOCUMENTS = {"*/*": JSON, "application/*": JSON, JSON: JSON, XML: XML}
_DESCRIPTIONS = {"*/*": WADL, "application/*": WADL, WADL: WADL, XML: XML}


def accepted_form(request: Request, forms: Mapping[str, str] = _DOCUMENTS) -> str | None:
    """JSON or XML, or another of some forms by what `Accept` may name: the one that the caller
    prefers; None if the caller accepts none."""
    best: tuple[float, int, str] | None = None
    for header in request.headers.getlist("accept") or ["*/*"]:
        for place, part in enumerate(header.split(",")):
            kind, *parameters = (word.strip() for word in part.split(";"))
            form = forms.get(kind.lower())
            weight = _weight(parameters)
            if form is None or weight <= 0:
                continue
            precise = 2 if "*" not in kind else 1 if kind != "*/*" else 0
            found = (weight, precise * 1_000 - place, form)
            if best is None or found[:2] > best[:2]:
                best = found
    return best[2] if best else None


def _weight(parameters: list[str]) -> float:
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "q":
            try:
                return float(value)
            except ValueError:
                return 0.0
    return 1.0


async def respond(request: Request, handlers: Mapping[str, Handler]) -> Response:
    """Call the handler of the method, and write its answer."""
    try:
        caller = await identify(request)
    except Rejected as rejected:
        return await _finish(
            request, rejected.content, rejected.status, JSON, rejected.headers, rejected.cookie
        )
    note(request, user=caller.user)
    answer = await _answer(request, handlers, caller)
    form = accepted_form(request)
    refused_form = form is None
    form = form or JSON
    if answer.status == 204 or (answer.document is None and answer.text is None):
        content = b"" if answer.encoded is None else answer.encoded
    elif answer.text is not None:
        content = answer.text.encode()  # YARN sends it as it is, whatever form is accepted
    else:
        content = write(answer, form)
    if answer.status == 404 and form == XML and request.method in ("GET", "HEAD"):
        return await _finish(request, b"", 500, "", NOT_THERE_IN_XML, caller.cookie)
    assert not refused_form or answer.status >= 400 or answer.document is None
    kind = answer.kind or _WRITTEN[form]
    return await _finish(request, content, answer.status, kind, answer.headers, caller.cookie)


async def _answer(request: Request, handlers: Mapping[str, Handler], caller: Caller) -> Answer:
    allow = ",".join(("OPTIONS", "HEAD", *(m for m in ("POST", "PUT", "DELETE") if m in handlers)))
    allow = f"{allow},GET" if "GET" in handlers else allow.replace("HEAD,", "").replace(",HEAD", "")
    if request.method == "OPTIONS":
        form = accepted_form(request, _DESCRIPTIONS)
        if form is None:
            return Answer(status=204, headers={"Allow": allow})
        content = _description(request, handlers)
        return Answer(encoded=content, headers={"Allow": allow}, kind=f"{form};charset=utf-8")
    handler = handlers.get("GET" if request.method == "HEAD" else request.method)
    try:
        if handler is None:
            raise wrong_form(None, 503, allow)  # what clients of 3.4.1 get; `Allow` says why
        if accepted_form(request) is None:
            raise wrong_form(
                "this path answers application/json and application/xml; Accept names neither", 406
            )
        return await handler(request, caller)
    except Refused as refused:
        return refusal_of(refused)
    except PlainRefusal as plain:
        return Answer(text=plain.message, status=plain.status)
    except InputError as error:
        return _input_error(error)


def _description(request: Request, methods: Iterable[str]) -> bytes:
    """The methods of a path in WADL. Hadoop's own HTTP client asks for them before its first call,
    to log in, and takes any other answer than 200 for a failure."""
    kinds = "".join(f'<representation mediaType="{kind}; charset=utf-8"/>' for kind in (JSON, XML))
    listed = "".join(
        f'<method name="{method}"><response>{kinds}</response></method>' for method in methods
    )
    base = quoteattr(f"{request.url.scheme}://{request.headers.get('host', '')}/")
    path = quoteattr(request.url.path.lstrip("/"))
    return (
        '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>'
        f'<application xmlns="http://wadl.dev.java.net/2009/02"><resources base={base}>'
        f"<resource path={path}>{listed}</resource></resources></application>"
    ).encode()


def refusal_of(refused: Refused) -> Answer:
    """The answer for a refusal."""
    headers = {"Allow": refused.allow} if refused.allow else {}
    # What the server of 3.4.1 cannot dispatch has no message, and this charset.
    undispatched = refused.status == 503 and refused.document.message is UNSET
    return Answer(
        refused.document,
        "RemoteException",
        status=refused.status,
        headers=headers,
        kind=f"{JSON};charset=null" if undispatched else "",
    )


_KEPT = (403, 413, 429, 500, 503)
"""The statuses of our own interface that refusals have here, too: all others are 400."""


def _input_error(error: InputError) -> Answer:
    """A refusal of the core that no handler has translated into YARN's own words."""
    status = STATUSES.get(error.code, 400)
    if status not in _KEPT:
        status = 400
    kind = {
        403: "org.apache.hadoop.yarn.webapp.ForbiddenException",
        503: "org.apache.hadoop.ipc.RetriableException",
    }.get(status, "org.apache.hadoop.yarn.webapp.BadRequestException")
    return refusal_of(Refused(status, kind, f"java.lang.Exception: {error}"))


def write(answer: Answer, form: str) -> bytes:
    """The document in the form that the caller accepts."""
    if form == XML:
        return xml(answer.name, answer.document)
    if answer.encoded is not None:
        return answer.encoded
    if answer.dialect == "mapped":
        return mapped(answer.document)
    return natural(answer.name if answer.dialect == "natural" else None, answer.document)


async def _finish(
    request: Request,
    content: bytes,
    status: int,
    kind: str,
    headers: Mapping[str, str],
    cookie: str,
) -> Response:
    all_headers = {**HEADERS, **headers_for(request, gateway_of(request).settings.cross_origin)}
    all_headers |= headers
    if cookie:
        all_headers["Set-Cookie"] = cookie
    if status == 204:
        return Response(b"", status, {**all_headers, "Content-Type": "text/plain;charset=utf-8"})
    accepted = request.headers.get("accept-encoding", "")
    if "gzip" in accepted and len(content) >= MIN_COMPRESSED:
        if len(content) < MIN_APART:
            content = gzip.compress(content, 5)
        else:  # decisions do not wait for it
            content = await run_in_threadpool(gzip.compress, content, 5)
        all_headers["Content-Encoding"] = "gzip"
    answered = Response(content, status, all_headers)
    if kind:
        answered.headers["Content-Type"] = kind
    return answered


class YarnRoute(Route):
    """One path with its handlers by method; it answers with and without a slash at its end."""

    def __init__(self, path: str, **handlers: Handler) -> None:
        self._handlers = {method.upper(): handler for method, handler in handlers.items()}

        async def endpoint(request: Request) -> Response:
            return await respond(request, self._handlers)

        super().__init__(path, endpoint)
        self.methods = None  # this class refuses wrong methods itself

    def with_slash(self) -> "YarnRoute":
        """The same with a slash at the end of its path."""
        return YarnRoute(self.path + "/", **{k.lower(): v for k, v in self._handlers.items()})

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves all methods."""
        await self.app(scope, receive, send)


class ServletRoute(Route):
    """One path beside the REST interface, for GET. Its OPTIONS is answered, too: Hadoop's own HTTP
    client logs in with that, as of `yarn logs` and `hadoop daemonlog`."""

    def __init__(self, path: str, page: Callable[[Request], Awaitable[Response]]) -> None:
        async def endpoint(request: Request) -> Response:
            if request.method == "OPTIONS":
                return Response(headers={**HEADERS, "Allow": "OPTIONS,HEAD,GET"})
            return await page(request)

        super().__init__(path, endpoint, methods=("GET", "OPTIONS"))
