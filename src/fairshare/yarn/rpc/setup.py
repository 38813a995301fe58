"""Puts a server together whose containers run on this machine or on NodeManagers, with Hadoop's
ports where they are wanted.

Imports what needs the extra `fairshare[hadoop]` only then.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING

from fairshare.errors import ConfigurationError
from fairshare.server.server import LiveServer
from fairshare.server.settings import LiveSettings
from fairshare.server.web import standby

if TYPE_CHECKING:
    from fairshare.yarn.rpc.ports import Ports, PortSetup


def prepared(settings: LiveSettings) -> "Callable[[], tuple[LiveServer, tuple[Ports, ...]]]":
    """What makes the server of these settings, with its ports (`settings.engines.EngineKind`)."""
    ports = wanted_ports(settings)

    def make() -> "tuple[LiveServer, tuple[Ports, ...]]":
        if ports is None:
            return LiveServer(settings), ()
        server = LiveServer(settings, ports.make_engine)
        return server, (ports.attached_to(server),)

    return make


def wanted_ports(settings: LiveSettings) -> "PortSetup | None":
    """The ports for Hadoop's clients and nodes, if they are wanted. Raises ConfigurationError."""
    wanted = settings.hadoop.enabled
    if settings.engine == "nodemanagers":
        if wanted == "no":
            raise ConfigurationError(["NodeManagers need Hadoop's ports: leave --no-hadoop out"])
        for name in ("no_new_privileges", "private_tmp"):
            if getattr(settings, name):
                raise ConfigurationError(
                    [
                        f"{name} in [engine]: NodeManagers start containers in their own way; leave"
                        " it out"
                    ]
                )
        wanted = "yes"
    needs_proof = settings.authentication.required  # which Hadoop's callers cannot give
    if wanted == "no" or (wanted == "auto" and (settings.port == 0 or needs_proof)):
        return None
    if find_spec("google") is None or find_spec("google.protobuf") is None:
        if wanted == "auto":
            return None
        raise ConfigurationError(
            ["Hadoop's clients and nodes need an extra: pip install 'fairshare[hadoop]'"]
        )
    from fairshare.yarn.rpc.ports import PortSetup

    return PortSetup(settings, optional=wanted == "auto")


@asynccontextmanager
async def serve_as_standby(
    settings: LiveSettings, active: Callable[[], str]
) -> AsyncIterator[None]:
    """Answer as a standby meanwhile (`settings.engines.EngineKind`)."""
    ports = wanted_ports(settings)
    if ports is None:
        async with standby.serve_as_standby(settings, active):
            yield
        return
    from fairshare.yarn.rpc.standby import serve_hadoop_as_standby

    async with serve_hadoop_as_standby(settings, ports.hadoop, active):
        yield
