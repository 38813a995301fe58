"""Owns the health checks: whether the server is alive, and whether it is ready for work.

They reveal nothing of the cluster, and therefore need no authentication.
"""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from fairshare.web.answers import answer
from fairshare.web.requests import server_of


async def show_health(request: Request) -> Response:
    """GET /healthz: 200 as long as the server decides; 503: restart it, running containers go
    on."""
    service = server_of(request).service
    failed = service.failure is not None
    checks = {"writer": "failed" if failed else "ended" if service.ended.is_set() else "ok"}
    return _checks_answer(checks, "ok" if checks["writer"] == "ok" else "failed")


async def show_readiness(request: Request) -> Response:
    """GET /readyz: 200 when it accepts work, 503 while it starts, stops, or cannot keep up."""
    server = server_of(request)
    service = server.service
    checks = {
        "started": "ok" if server.started else "starting",
        "writer": "ok" if service.failure is None and not service.ended.is_set() else "failed",
        "stopping": "stopping" if service.stopping else "ok",
        "inbox": "full" if service.full else "ok",
        "safe_mode": "on" if service.state.safe_mode else "ok",
        "engine": server.engine.trouble() or "ok",
        "disk": "nearly full" if server.disk.problem else "ok",
        "background": _failing(server.background.failing),
    }
    ready = all(word == "ok" for word in checks.values())
    return _checks_answer(checks, "ready" if ready else "not ready")


def _failing(reasons: dict[str, str]) -> str:
    """The background work that failed lately; the reasons are only logged, as these paths need no
    authentication."""
    return f"failing: {', '.join(sorted(reasons))}" if reasons else "ok"


def _checks_answer(checks: dict[str, str], status: str) -> Response:
    code = 200 if status in ("ok", "ready") else 503
    return answer({"status": status, "checks": checks}, code)


ROUTES = [Route("/healthz", show_health), Route("/readyz", show_readiness)]
