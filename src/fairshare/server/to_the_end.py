"""Owns how a server works on a file in a thread without leaving that work behind.

Knows no file.
"""

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


async def to_the_end(
    function: Callable[Arguments, Result], *arguments: Arguments.args, **options: Arguments.kwargs
) -> Result:
    """Run a function in a thread. A cancellation waits until the function has ended: the server
    closes the file next, and its directory may be deleted after that."""
    work = asyncio.ensure_future(asyncio.to_thread(function, *arguments, **options))
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        await asyncio.wait([work])
        if not work.cancelled():
            work.exception()  # retrieved, or asyncio would log it
        raise
