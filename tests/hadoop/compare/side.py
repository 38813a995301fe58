"""The calls to one of the two ResourceManagers, as any user, and what each was answered."""

import asyncio
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
from tests.hadoop.compare.answers import Names, beans, document, plain, refusal

from fairshare.yarn.rpc.wire import tokens
from fairshare.yarn.rpc.wire.client import RemoteError, RpcClient
from fairshare.yarn.rpc.wire.descriptors import (
    ADMINISTRATION,
    APPLICATION_CLIENT,
    APPLICATION_MASTER,
    METHODS,
)

PATIENCE_S = 40.0


class Side:
    """A running ResourceManager. `answers` has what each recorded call got, by the call's name."""

    def __init__(self, ports: dict[str, int], node_ports: dict[int, str], run: Path) -> None:
        self.answers: dict[str, Any] = {}
        self.ports = ports
        known = {number: f"{name}-port" for name, number in ports.items()}
        known |= {number: re.sub(r"\d", "N", name) for number, name in node_ports.items()}
        self.names = Names(0, known, str(run))
        self._clients: dict[str, RpcClient] = {}
        self._nodes = {name: number for number, name in node_ports.items()}

    def node(self, number: int) -> dict[str, Any]:
        """A NodeIdProto."""
        return {"host": "localhost", "port": self._nodes[f"node{number}"]}

    async def ask(self, user: str, method: str, /, **fields: Any) -> Any:
        """The answer of a client's or an administrator's call; raises RemoteError."""
        protocol, port = APPLICATION_CLIENT, "client"
        if (protocol, method) not in METHODS:
            protocol, port = ADMINISTRATION, "admin"
        return await self._call(user, protocol, port, method, fields)

    async def ask_as_master(self, token: Any, method: str, /, **fields: Any) -> Any:
        """The answer of a master's call."""
        held = tokens.token_of(token)
        return await self._call("", APPLICATION_MASTER, "scheduler", method, fields, held)

    async def _call(
        self, user: str, protocol: str, port: str, method: str, fields: Any, token: Any = None
    ) -> Any:
        client = self._clients.setdefault(user, RpcClient(user))
        address = ("127.0.0.1", self.ports[port])
        request = METHODS[protocol, method].request(**fields)
        return await client.call(address, protocol, method, request, token=token)

    async def record(self, name: str, user: str, method: str, /, **fields: Any) -> Any:
        """Call, and keep the answer or the refusal; the answer, None if it was refused."""
        return await self.keep(name, self.ask(user, method, **fields))

    async def keep(self, name: str, call: Any) -> Any:
        """Keep what a call is answered."""
        assert name not in self.answers, name
        try:
            answer = await call
        except RemoteError as error:
            self.answers[name] = refusal(error.class_name, error.message, self.names)
            return None
        self.answers[name] = plain(answer, self.names)
        return answer

    def application(self, number: int) -> str:
        """An application's identifier."""
        return f"application_{self.names.epoch_ms}_{number:04}"

    async def fetch(self, name: str, user: str, path: str) -> None:
        """Keep what the web services answer a user: the status, and the document."""
        answer = await self._get(user, path)
        self.answers[name] = {
            "status": answer.status_code,
            "content": document(_content(answer), self.names),
        }

    async def fetch_beans(self, name: str, path: str) -> None:
        """Keep the beans: their names, and the names and types of their fields."""
        self.answers[name] = beans((await self._get("", path)).json(), self.names)

    async def _get(self, user: str, path: str) -> httpx.Response:
        url = httpx.URL(f"http://127.0.0.1:{self.ports['web']}{path}")
        if user:
            url = url.copy_merge_params({"user.name": user})
        async with httpx.AsyncClient(trust_env=False, timeout=PATIENCE_S) as client:
            return await client.get(url, headers={"Accept": "application/json"})

    async def until(
        self, condition: Callable[[Any], Any], user: str, method: str, /, **fields: Any
    ) -> Any:
        """Ask until the answer is as wanted, or no longer; the last answer, or its RemoteError."""
        end = time.monotonic() + PATIENCE_S
        while True:
            late = time.monotonic() > end
            try:
                answer = await self.ask(user, method, **fields)
            except RemoteError:
                if late:
                    raise
            else:
                if condition(answer) or late:
                    return answer
            await asyncio.sleep(0.2)

    async def close(self) -> None:
        """Close all connections."""
        for client in self._clients.values():
            await client.close()


def _content(answer: httpx.Response) -> Any:
    try:
        return answer.json()
    except ValueError:
        return answer.text
