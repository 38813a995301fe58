"""How far NodeManagers are with the aggregation of each application's logs, as they report it.

Memory of this server alone: nodes that register report it again for the applications that they
still have. Source: Hadoop 3.4.1, RMAppImpl and RMAppLogAggregation.
"""

from typing import Final

from fairshare.core.model.identifiers import ApplicationId
from fairshare.runtime.projections.application_versions import UnrecordedChanges

DISABLED: Final = "DISABLED"
NOT_START: Final = "NOT_START"
RUNNING: Final = "RUNNING"
WITH_FAILURE: Final = "RUNNING_WITH_FAILURE"
SUCCEEDED: Final = "SUCCEEDED"
FAILED: Final = "FAILED"
TIME_OUT: Final = "TIME_OUT"

_FINAL: Final = (FAILED, TIME_OUT, SUCCEEDED)
"""The statuses of a node that has done what it could, the worst first."""

DEFAULT_TIMEOUT_MS: Final = 600_000


class LogAggregation:
    """The status of each application's logs. `enabled`: nodes aggregate logs at all; after the end
    of an application they have `timeout_ms` for it."""

    def __init__(self, changes: UnrecordedChanges) -> None:
        self.enabled = False
        self.timeout_ms = DEFAULT_TIMEOUT_MS
        self._changes = changes
        self._by_node: dict[ApplicationId, dict[str, str]] = {}
        self._final: dict[ApplicationId, str] = {}
        self._ended_ms: dict[ApplicationId, int] = {}  # the first to end first

    def status(self, application: ApplicationId) -> str:
        """The status of an application's logs, under Hadoop's name."""
        if not self.enabled:
            return DISABLED
        found = self._final.get(application)
        if found is not None:
            return found
        statuses = set(self._by_node.get(application, {}).values())
        if statuses <= {NOT_START}:
            return NOT_START
        return WITH_FAILURE if WITH_FAILURE in statuses else RUNNING

    def runs(self, application: ApplicationId, node: str) -> None:
        """A node has logs of an application."""
        if self.enabled and application not in self._final:
            nodes = self._by_node.setdefault(application, {})
            if node not in nodes:
                nodes[node] = NOT_START
                self._changes.note(application)

    def reported(self, application: ApplicationId, node: str, status: str) -> None:
        """A node reports how far it is with an application that the server knows."""
        if not self.enabled or application in self._final:
            return
        nodes = self._by_node.setdefault(application, {})
        if nodes.get(node) not in (SUCCEEDED, FAILED) and nodes.get(node) != status:
            nodes[node] = status
            self._changes.note(application)
            self._finish(application)

    def ended(self, application: ApplicationId, now_ms: int) -> None:
        """An application is over: its nodes aggregate what is left."""
        if self.enabled and application in self._by_node:
            self._ended_ms[application] = now_ms
            self._finish(application)

    def expire(self, now_ms: int) -> None:
        """Wait no longer for nodes that have not reported the end of the aggregation in time."""
        while self._ended_ms:
            application, ended_ms = next(iter(self._ended_ms.items()))
            if ended_ms + self.timeout_ms > now_ms:
                return
            nodes = self._by_node[application]
            for node, status in nodes.items():
                if status not in _FINAL:
                    nodes[node] = TIME_OUT
            self._finish(application)

    def forget(self, application: ApplicationId) -> None:
        """The server no longer knows an application."""
        for known in (self._by_node, self._final, self._ended_ms):
            known.pop(application, None)

    def _finish(self, application: ApplicationId) -> None:
        """Keep the result of an application alone once it is over and all nodes are ready."""
        statuses = self._by_node[application].values()
        if application not in self._ended_ms or not all(one in _FINAL for one in statuses):
            return
        self._final[application] = next(one for one in _FINAL if one in statuses)
        del self._by_node[application], self._ended_ms[application]
        self._changes.note(application)
