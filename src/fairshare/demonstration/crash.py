"""Owns the crash that `fairshare demo --crash` shows: the server is killed while containers run,
and another one takes over its state directory and its containers.
"""

from collections.abc import Callable, Iterable, Mapping

from fairshare.client.answers import Container
from fairshare.client.client import Client
from fairshare.demonstration.errors import DemonstrationFailed
from fairshare.demonstration.verification import RUNNING


class Crash:
    """One crash, at the first look at which `enough` containers run. `restart` kills the server,
    and returns when another one answers in its place."""

    def __init__(
        self,
        client: Client,
        restart: Callable[[], None],
        report: Callable[[str], None],
        applications: Callable[[], Mapping[str, Iterable[str]]],
        enough: int = 2,
    ) -> None:
        self._client = client
        self._restart = restart
        self._report = report
        self._applications = applications
        self._enough = enough
        self._happened = False

    def step(self) -> None:
        """Crash the server if that is due. Raises DemonstrationFailed if a container was lost."""
        if self._happened or not all(self._applications().values()):
            return
        before = {one.id for one in self._containers() if one.state == RUNNING}
        if len(before) < self._enough:
            return
        self._happened = True
        self._restart()
        found = {one.id: one for one in self._containers() if one.id in before}
        ended = sum(one.over for one in found.values())
        lost = sorted(
            name for name in before if name not in found or (found[name].exit_code or 0) < 0
        )
        if lost:
            raise DemonstrationFailed(f"the crash has cost containers: {', '.join(lost)}")
        self._report(
            f"the server was killed; another one has taken over: of {len(before)} containers"
            f" {len(before) - ended} run on, {ended} have ended meanwhile with their exit codes"
        )

    def _containers(self) -> list[Container]:
        return [
            container
            for names in self._applications().values()
            for name in names
            for container in self._client.containers(name)
        ]
