"""The mapping of errors to HTTP answers.

Callers see a code and a message, never a traceback.
"""

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from fairshare.errors import FairshareError, InputError
from fairshare.server.web.answers import refusal
from fairshare.server.web.pages.files import unknown_page

STATUSES = {
    "bad-request": 400,
    "bad-update": 400,
    "bad-edit": 400,
    "cannot-notify": 400,
    "bad-schedule": 400,
    "no-token": 401,
    "wrong-token": 403,
    "access-denied": 403,
    "wrong-code": 403,
    "wrong-password": 403,
    "no-passwords": 403,
    "no-own-tokens": 403,
    "not-on-the-socket": 403,
    "unknown-application": 404,
    "unknown-container": 404,
    "unknown-task": 404,
    "unknown-cron-job": 404,
    "unknown-booking": 404,
    "unknown-job": 404,
    "unknown-package": 404,
    "unknown-log": 404,
    "log-gone": 404,
    "no-result": 404,
    "node-unreachable": 502,
    "unknown-moment": 404,
    "unknown-node": 404,
    "no-such-queue": 404,
    "no-such-user": 404,
    "before-the-ledger": 404,
    "after-the-ledger": 404,
    "unknown-version": 404,
    "number-out-of-range": 400,
    "not-recordable": 400,
    "internal-error": 500,
    "too-large": 413,
    "result-too-large": 413,
    "package-too-large": 413,
    "too-many-tasks": 413,
    "too-many-asks": 413,
    "too-many-places": 413,
    "too-many-containers": 413,
    "too-many-applications": 429,
    "too-many-cron-jobs": 429,
    "too-many-queues": 429,
    "too-much-handed-in": 429,
    "busy": 503,
    "too-long": 503,
    "no-accounts": 503,
    "accounts-unavailable": 503,
    "groups-unavailable": 503,
    "disk-full": 503,
    "no-database": 503,
    "stopping": 503,
    "safe-mode": 503,
    "too-many-streams": 429,
    "replaced": 429,
    "too-many-questions": 429,
    "no-answer-yet": 503,
    "no-ledger": 404,
    "ledger-unreadable": 503,
    "no-answer": 503,
    "too-many-sessions": 429,
    "upgrade-required": 426,
}
"""HTTP status by code; any other code is a refusal of the scheduler or manager: 409."""

_ADVICE = {
    404: "there is nothing at {path}; GET /api/v1/cluster is a beginning",
    405: "{path} does not take {method}",
}


async def on_input_error(request: Request, error: Exception) -> Response:
    """A call that cannot be served."""
    assert isinstance(error, InputError)
    status = STATUSES.get(error.code, 409)
    headers = {"WWW-Authenticate": "Bearer"} if status == 401 else None
    return refusal(status, error.code, str(error), headers)


async def on_http_exception(request: Request, error: Exception) -> Response:
    """Errors of the routing: no such path, no such method."""
    assert isinstance(error, HTTPException)
    if error.status_code == 404 and _is_browser_at_a_page(request):
        return unknown_page()
    form = _ADVICE.get(error.status_code)
    if form is None:
        message = error.detail
    else:
        message = form.format(path=request.url.path, method=request.method)
    codes = {404: "unknown-path", 405: "unknown-method"}
    code = codes.get(error.status_code, "bad-request")
    headers = error.headers
    if error.status_code == 405:
        # Several routes may share a path, each with its own methods.
        path = request.url.path.removeprefix(request.scope.get("root_path", ""))
        matching = [route for route in request.app.state.own_routes if route.path_regex.match(path)]
        methods = sorted({method for route in matching for method in route.methods or ()})
        headers = {"Allow": ", ".join(methods) or (headers or {}).get("Allow", "")}
    return refusal(error.status_code, code, message, headers)


def _is_browser_at_a_page(request: Request) -> bool:
    """Whether a browser opened an address that belongs to no interface."""
    path = request.url.path
    return (
        request.method in ("GET", "HEAD")
        and "text/html" in request.headers.get("accept", "")
        and not path.startswith(("/api/", "/ws/", "/static/"))
    )


async def on_disconnect(request: Request, error: Exception) -> Response:
    """A client that disconnected before its body was complete. No client reads this answer; it
    keeps such disconnects from filling the log with tracebacks."""
    return refusal(400, "bad-request", "the connection was closed before the body had come")


async def on_failure(request: Request, error: Exception) -> Response:
    """A known error is reported to the caller; the web server logs any other with its traceback."""
    if isinstance(error, FairshareError):
        return refusal(500, "server-failure", str(error))
    return refusal(500, "server-failure", "the server has a defect: its log says more")


HANDLERS = {
    InputError: on_input_error,
    HTTPException: on_http_exception,
    ClientDisconnect: on_disconnect,
    FairshareError: on_failure,
    Exception: on_failure,
}
