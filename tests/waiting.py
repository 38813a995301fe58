"""Waiting in a coroutine until something holds."""

import asyncio
from collections.abc import Callable

from fairshare.server.server import LiveServer

MOST_S = 60


async def until(condition: Callable[[], object]) -> None:
    """Look again and again."""
    async with asyncio.timeout(MOST_S):
        while not condition():
            await asyncio.sleep(0.002)


async def until_state(server: LiveServer, condition: Callable[[], object]) -> None:
    """Look at the state of a server after each change."""
    version = -1
    async with asyncio.timeout(MOST_S):
        while not condition():
            version = await server.service.changed(version, 5.0)
