"""How often nodes are asked to send heartbeats, less often while the server is busy; and which
nodes are silent: for several heartbeats, or for so long that they are lost.
"""

from collections.abc import Iterable

from fairshare.yarn.rpc.registered_nodes import RegisteredNode, RegisteredNodes

BUSY = 0.85
IDLE = 0.6
"""Shares of a core that the server uses: above the first nodes slow down, below the second they
speed up."""

_SLOWER = 1.25
_FASTER = 0.8


class Pace:
    """The interval of heartbeats, between the configured one and the longest.

    Hadoop scales it by the load of each node (`heartbeat-interval-scaling-enable`), which spares
    its scheduler decisions; here an idle heartbeat decides nothing, and what it spares is the
    server's time to read it.
    """

    def __init__(self, interval_ms: int, longest_ms: int) -> None:
        self._shortest_ms = interval_ms
        self._longest_ms = max(interval_ms, longest_ms)
        self._wanted_ms = float(interval_ms)
        self.interval_ms = interval_ms

    def measured(self, used_s: float, passed_s: float) -> None:
        """The server has used so much processor time while so much time has passed."""
        if passed_s <= 0:
            return
        share = used_s / passed_s
        if share > BUSY:
            self._wanted_ms = min(self._wanted_ms * _SLOWER, self._longest_ms)
        elif share < IDLE:
            self._wanted_ms = max(self._wanted_ms * _FASTER, self._shortest_ms)
        self.interval_ms = int(self._wanted_ms)


MISSED_BEATS = 3
"""A node that missed so many heartbeats gets no containers until it is heard again; Hadoop's
asynchronous scheduling skips nodes likewise (`skip.node.multiplier`)."""

PAUSE_MS = 10_000
"""A longer time between two checks was a pause of this server itself: nodes could not be heard."""


class Liveness:
    """`absent` are the nodes of the state that have not registered, by the instant from which their
    time runs: at the start all."""

    def __init__(
        self, nodes: RegisteredNodes, absent: Iterable[str], expiry_ms: int, now_ms: int
    ) -> None:
        self._nodes = nodes
        self._expiry_ms = expiry_ms
        self._absent = dict.fromkeys(absent, now_ms)
        self._known: set[str] = set()
        self._checked_ms = now_ms
        self._resumed_ms = now_ms

    def returned(self, name: str) -> bool:
        """A node registers; returns whether it did before since the start."""
        self._absent.pop(name, None)
        again = name in self._known
        self._known.add(name)
        return again

    def left(self, name: str, *, comes_back: bool = False) -> None:
        """A node is not registered any more; if it `comes_back`, its time runs from now."""
        if comes_back:
            self._absent[name] = self._checked_ms
        else:
            self._absent.pop(name, None)
            self._known.discard(name)

    def check(self, now_ms: int, interval_ms: int) -> tuple[list[RegisteredNode], list[str]]:
        """The nodes that have fallen silent since the last check, and the names of those whose
        time is over."""
        if now_ms - self._checked_ms > PAUSE_MS:
            self._resumed_ms = now_ms
        self._checked_ms = now_ms
        if now_ms - self._resumed_ms <= MISSED_BEATS * interval_ms:
            return [], []
        silent = [
            node
            for node in self._nodes.silent_since(now_ms - MISSED_BEATS * interval_ms)
            if not node.silent
        ]
        if now_ms - self._resumed_ms <= self._expiry_ms:
            return silent, []
        before_ms = now_ms - self._expiry_ms
        expired = [node.name for node in self._nodes.silent_since(before_ms)]
        expired += [name for name, since_ms in self._absent.items() if since_ms < before_ms]
        for name in expired:
            self.left(name)
        return [node for node in silent if node.name not in expired], expired
