"""`Client`: what a user of a cluster can do and see from Python.

Its methods are described in `calls` and `operations`. All raise ServerUnreachable, Refused or
AnswerNotUnderstood.
"""

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Self

from fairshare.client.answers import Application
from fairshare.client.connection import Connection
from fairshare.client.discovery import Server
from fairshare.client.methods import Sent
from fairshare.client.operations import Operations

if TYPE_CHECKING:
    import httpx


class Client(Operations, Sent):
    """A fairshare server. Without `url` it is found by FAIRSHARE_URL or in the state directory.

    >>> with Client() as client:                                         # doctest: +SKIP
    ...     group = TaskGroup(name="hello", count=3, arguments=("echo", "hello"),
    ...                       resources={"memory-mb": 256, "vcores": 1})
    ...     application = client.submit(Submission(queue="research", tasks=(group,)))
    ...     client.wait(application)
    """

    connection: Connection

    def __init__(
        self,
        url: str | None = None,
        *,
        token: str | None = None,
        transport: "httpx.BaseTransport | None" = None,
    ) -> None:
        server = Server(url, token)
        super().__init__(server)
        self.connection = Connection(server.url, server.token, transport, server.elsewhere)

    def call_when_over(
        self, application: str | int, function: Callable[[Application], object]
    ) -> threading.Thread:
        """Call `function` with the application when it is over, in a thread, which is returned and
        does not keep the program from ending. An error is printed as of any thread."""

        def follow() -> None:
            function(self.wait(application))

        thread = threading.Thread(target=follow, name=f"fairshare-{application}", daemon=True)
        thread.start()
        return thread

    def close(self) -> None:
        """Let the connection go; applications go on."""
        self.connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
