"""The interfaces of other systems that a server has beside `/api/v1`: YARN's and Ray's.

Their rooms lie above this one and are found by name.
"""

from collections.abc import Sequence
from typing import Final, Protocol

from starlette.applications import Starlette
from starlette.routing import BaseRoute

from fairshare.server.server import LiveServer
from fairshare.server.web.openapi.operation import ApiRoute
from fairshare.settings.parts import named


class Interface(Protocol):
    """The paths of another system."""

    @property
    def own_routes(self) -> Sequence[ApiRoute]:
        """What fairshare's programs need of it below `/api/v1`."""

    def routes(self) -> Sequence[BaseRoute]:
        """Its paths."""

    def connect(self, app: Starlette, server: LiveServer) -> None:
        """Put what its paths need into the state of the application."""

    def trusts(self, app: Starlette, origin: str, path: str) -> bool:
        """Whether a page of another origin may call a path."""


INTERFACES: Final[tuple[Interface, ...]] = (
    named("fairshare.yarn.rest.interface:INTERFACE"),
    named("fairshare.ray.web.interface:INTERFACE"),
)
