"""A standby as administrators, load balancers and monitors of a ResourceManager know one: its
administration port says STANDBY, and its web port leads to the active server (Hadoop: AdminService,
RMWebAppFilter).
"""

import contextlib
import time
from collections.abc import AsyncIterator
from typing import Any

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from fairshare.errors import FairshareError
from fairshare.server.settings import LiveSettings
from fairshare.server.web.standby import Active, serve_as_standby
from fairshare.yarn.rest.answering import HEADERS, JSON, Answer, ServletRoute, accepted_form, write
from fairshare.yarn.rest.cluster import info_of
from fairshare.yarn.rpc.configuration import HadoopSettings
from fairshare.yarn.rpc.ports import listen
from fairshare.yarn.rpc.wire.calls import NOT_ACTIVE, SERVICE_FAILED, CallContext, Handler, RpcError
from fairshare.yarn.rpc.wire.descriptors import ADMINISTRATION, HIGH_AVAILABILITY, METHODS
from fairshare.yarn.rpc.wire.messages import GetServiceStatusResponseProto, HAServiceStateProto
from fairshare.yarn.rpc.wire.server import RpcServer


@contextlib.asynccontextmanager
async def serve_hadoop_as_standby(
    settings: LiveSettings, hadoop: HadoopSettings, active: Active
) -> AsyncIterator[None]:
    """Answer at the administration port and at the web port while the block runs. A port that is
    in use, as by the active server on the same machine, is left to it."""
    async with contextlib.AsyncExitStack() as opened:
        with contextlib.suppress(FairshareError):
            listener = listen(*hadoop.addresses["admin"])
            opened.callback(listener.close)
            server = RpcServer("admin", _handlers(active))
            await server.start(listener)
            opened.push_async_callback(server.stop)
        started_ms = time.time_ns() // 1_000_000
        await opened.enter_async_context(serve_as_standby(settings, active, _routes(started_ms)))
        yield


def _handlers(active: Active) -> dict[tuple[str, str], Handler]:
    async def status(context: CallContext, request: object) -> Any:
        standby = HAServiceStateProto.Value("STANDBY")
        return GetServiceStatusResponseProto(state=standby, readyToBecomeActive=True)

    def nothing(name: str) -> Handler:
        response = METHODS[HIGH_AVAILABILITY, name].response

        async def agree(context: CallContext, request: object) -> Any:
            return response()

        return agree

    async def refuse(context: CallContext, request: object) -> Any:
        server = active() or "the active server"
        raise RpcError(SERVICE_FAILED, f"this standby takes over by itself when {server} ends")

    async def not_active(context: CallContext, request: object) -> Any:
        raise RpcError(NOT_ACTIVE, "this ResourceManager is not active")

    handlers: dict[tuple[str, str], Handler] = {
        (protocol, name): not_active for protocol, name in METHODS if protocol == ADMINISTRATION
    }
    for name in ("monitorHealth", "transitionToStandby"):
        handlers[HIGH_AVAILABILITY, name] = nothing(name)
    for name in ("transitionToActive", "transitionToObserver"):
        handlers[HIGH_AVAILABILITY, name] = refuse
    handlers[HIGH_AVAILABILITY, "getServiceStatus"] = status
    return handlers


def _routes(started_ms: int) -> list[ServletRoute]:
    async def show_info(request: Request) -> Response:
        form = accepted_form(request) or JSON
        document = info_of(started_ms, started_ms, "STANDBY", keeps_state=True)
        content = write(Answer(document, "clusterInfo"), form)
        return Response(content, headers={**HEADERS, "Content-Type": f"{form};charset=utf-8"})

    async def show_life(request: Request) -> Response:
        return PlainTextResponse("I am not Active!", 405, HEADERS)

    return [
        ServletRoute("/ws/v1/cluster/info", show_info),
        ServletRoute("/ws/v1/cluster/info/", show_info),
        ServletRoute("/isActive", show_life),
    ]
