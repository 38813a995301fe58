"""CORS for YARN's answers: the origins that may read them, and the headers for browsers.

Off by default, as in Hadoop (Hadoop: CrossOriginFilter).
"""

import re
from collections.abc import Mapping

from starlette.requests import Request

from fairshare.settings.web import CrossOriginSettings


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
