"""The client of a driver: a program that runs in its application's first container.

It was started with FAIRSHARE_URL, FAIRSHARE_TOKEN and FAIRSHARE_APPLICATION_ID and may act for that
application alone.
"""

import os
import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Self

from fairshare.api import routes
from fairshare.api.applications import Containers
from fairshare.api.routes import Route
from fairshare.api.values import NothingBody
from fairshare.api.work import (
    ContainerRequest,
    FinishBody,
    Launch,
    ReleaseBody,
    RequestsBody,
    TaskGroup,
    TasksBody,
)
from fairshare.client.answers import Application, Container, understood
from fairshare.client.connection import Connection
from fairshare.client.discovery import (
    APPLICATION_VARIABLE,
    TOKEN_VARIABLE,
    URL_VARIABLE,
    checked_urls,
    published_url,
)
from fairshare.client.errors import Refused, ServerUnreachable
from fairshare.client.exchange import path_of

if TYPE_CHECKING:
    import httpx


class Driver:
    """The master of one application.

    >>> with Driver() as driver:                                        # doctest: +SKIP
    ...     driver.register()
    ...     driver.add_tasks(TaskGroup(name="map", count=4, command="./map",
    ...                                resources={"memory-mb": 512, "vcores": 1}))
    ...     ...                                          # until all have succeeded
    ...     driver.finish()
    """

    def __init__(
        self,
        environment: Mapping[str, str] = os.environ,
        *,
        transport: "httpx.BaseTransport | None" = None,
    ) -> None:
        names = (URL_VARIABLE, TOKEN_VARIABLE, APPLICATION_VARIABLE)
        missing = [name for name in names if not environment.get(name)]
        if missing:
            raise ServerUnreachable(
                f"{', '.join(missing)} not set: a driver runs in a container of its own, start it"
                " with `fairshare submit --driver -- COMMAND`"
            )
        self.id = environment[APPLICATION_VARIABLE]
        urls = checked_urls(environment[URL_VARIABLE], URL_VARIABLE)

        def elsewhere() -> Iterable[str]:
            published = published_url(environment)
            return urls if published is None else (*urls, published)

        self.connection = Connection(urls[0], environment[TOKEN_VARIABLE], transport, elsewhere)

    def register(self) -> None:
        """Say that the master runs: from now on its requests count."""
        self._post(routes.REGISTER_MASTER, NothingBody())

    def request(self, *requests: ContainerRequest) -> None:
        """Ask for more containers, or for fewer with a negative count."""
        self._post(routes.REQUEST_CONTAINERS, RequestsBody(requests=requests))

    def add_tasks(self, *groups: TaskGroup) -> None:
        """Hand groups of tasks to the manager, which runs them and tries again."""
        self._post(routes.ADD_TASKS, TasksBody(tasks=groups))

    def launch(
        self,
        container: str,
        *arguments: str,
        environment: Mapping[str, str] | None = None,
        time_limit_ms: int | None = None,
    ) -> None:
        """Run a command in a container that was granted; waits while the server cannot
        record it: its disk is full, or its database away."""
        launch = Launch(
            arguments=arguments, environment=dict(environment or {}), time_limit_ms=time_limit_ms
        )
        while True:
            try:
                self.connection.post(path_of(routes.LAUNCH_CONTAINER, container), launch)
            except Refused as error:
                if error.code not in ("disk-full", "no-database"):
                    raise
                time.sleep(1)
            else:
                return

    def release(self, containers: Iterable[str]) -> None:
        """Give containers back; what runs in them is ended."""
        self._post(routes.RELEASE_CONTAINERS, ReleaseBody(containers=tuple(containers)))

    def finish(self, *, succeeded: bool = True, diagnostics: str = "") -> None:
        """Say that the application is done; all its containers end, this one too."""
        self._post(
            routes.FINISH_APPLICATION, FinishBody(succeeded=succeeded, diagnostics=diagnostics)
        )

    def containers(self) -> tuple[Container, ...]:
        """All its containers, granted, running and over, the driver's own among them."""
        answer = self.connection.get(path_of(routes.LIST_CONTAINERS, self.id))
        return understood(answer, Containers).containers

    def application(self) -> Application:
        """The state of the application, with the progress of the groups that were handed over."""
        answer = self.connection.get(path_of(routes.SHOW_APPLICATION, self.id))
        return understood(answer, Application)

    def close(self) -> None:
        """Let the connection go; says nothing to the server."""
        self.connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _post(self, route: Route[Any], body: object) -> None:
        self.connection.post(path_of(route, self.id), body)
