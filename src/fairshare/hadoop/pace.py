"""How often nodes are asked to send heartbeats: less often while the server is busy."""

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
