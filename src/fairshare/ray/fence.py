"""Owns when an agent must stop its containers because the cluster may start them again elsewhere.

An agent is fenced when its raylet has ended or is stopped, when Ray says that the node is dead, or
when for `limit_s` neither a server has asked it for news nor Ray has confirmed that the node is
alive: then it may be cut off. The server gives a node up only later than that, so that nothing runs
twice at once. Knows no Ray: it is given the clock and what Ray says.
"""

from collections.abc import Callable
from pathlib import Path

STOPPED_S = 1.0
"""How long a raylet may be stopped (by a signal or a debugger)."""


class Fence:
    """Looked at by `reason` every fraction of a second, with the present instant in seconds."""

    def __init__(
        self, raylet: int, limit_s: float, parent: Callable[[], int], now_s: float
    ) -> None:
        self._raylet = raylet
        self._limit_s = limit_s
        self._parent = parent
        self._affirmed_s = now_s
        self._stopped_since_s: float | None = None
        self._dead = False

    def asked(self, now_s: float) -> None:
        """A server asked the agent for news."""
        self._affirmed_s = max(self._affirmed_s, now_s)

    def ray_says(self, alive: bool, asked_s: float) -> None:
        """Ray answered a question of `asked_s` about this node."""
        self._dead = self._dead or not alive
        if alive:
            self._affirmed_s = max(self._affirmed_s, asked_s)

    def should_ask_ray(self, now_s: float) -> bool:
        """Whether no server has asked for so long that Ray is to be asked."""
        return now_s - self._affirmed_s > self._limit_s / 4

    def reason(self, now_s: float) -> str:
        """Why the containers must be stopped now; empty if they need not be."""
        if self._parent() != self._raylet:
            return "the raylet of its node has ended"
        if self._dead:
            return "Ray has given its node up"
        if not _is_stopped(self._raylet):
            self._stopped_since_s = None
        elif self._stopped_since_s is None:
            self._stopped_since_s = now_s
        elif now_s - self._stopped_since_s >= STOPPED_S:
            return "the raylet of its node is stopped"
        if now_s - self._affirmed_s > self._limit_s:
            return f"neither a server nor Ray was heard for {self._limit_s:g} s"
        return ""


def _is_stopped(process: int) -> bool:
    try:
        text = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return False
    return text.rpartition(")")[2].split()[0] in "Tt"
