"""YARN's REST interface as a server mounts it."""

from collections.abc import Sequence
from typing import Final

from starlette.applications import Starlette
from starlette.routing import BaseRoute

from fairshare.server.server import LiveServer
from fairshare.server.web.openapi.operation import ApiRoute
from fairshare.yarn.rest.cross_origin import is_trusted
from fairshare.yarn.rest.document_cache import DocumentCaches
from fairshare.yarn.rest.gateway import Gateway
from fairshare.yarn.rest.master_pages import MasterCalls
from fairshare.yarn.rest.nodes import kept_nodes
from fairshare.yarn.rest.routes import BASE, yarn_routes


class YarnRest:
    """The paths of a ResourceManager, and of its web applications."""

    own_routes: Sequence[ApiRoute] = ()

    def routes(self) -> Sequence[BaseRoute]:
        """As `Interface.routes`."""
        return yarn_routes()

    def connect(self, app: Starlette, server: LiveServer) -> None:
        """As `Interface.connect`."""
        gateway = Gateway(server, server.directory.secret())
        app.state.gateway = gateway
        app.state.document_caches = DocumentCaches(gateway)
        app.state.master_calls = MasterCalls()
        app.state.kept_nodes = kept_nodes(gateway)

    def trusts(self, app: Starlette, origin: str, path: str) -> bool:
        """As Hadoop's filter of cross-origin requests is configured."""
        settings = app.state.gateway.settings
        return path.startswith(BASE) and is_trusted(settings.cross_origin, origin)


INTERFACE: Final = YarnRest()
