"""Fairshare: a multi-tenant scheduler that shares one machine, or a cluster, fairly.

The rooms, from the inside out (a room imports only rooms to the left of it):

    documents, api < model < placement, schedulers < manager < engines, journal, config < families
          < runtime < simulate < projections < server, insight, scenarios, conversion < web, client
          < cli
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "1.0.0"

_EXPORTED = {
    "AsyncClient": "fairshare.client.async_client",
    "Client": "fairshare.client",
    "Executor": "fairshare.client.executor",
    "at": "fairshare.lab.calls",
    "check": "fairshare.lab.calls",
    "compare": "fairshare.lab.calls",
    "lint": "fairshare.lab.calls",
    "plan": "fairshare.lab.calls",
    "simulate": "fairshare.lab.calls",
}
"""What is imported when it is asked for: `import fairshare` itself brings nothing along."""

__all__ = [
    "AsyncClient",
    "Client",
    "Executor",
    "__version__",
    "at",
    "check",
    "compare",
    "lint",
    "plan",
    "simulate",
]

if TYPE_CHECKING:
    from fairshare.client import Client
    from fairshare.client.async_client import AsyncClient
    from fairshare.client.executor import Executor
    from fairshare.lab.calls import at, check, compare, lint, plan, simulate


def __getattr__(name: str) -> Any:
    if name not in _EXPORTED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(_EXPORTED[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_EXPORTED})
