"""Owns the crash that `fairshare demo --crash` shows: the server is killed while containers run,
and another one takes over its state directory and its containers.
"""

from collections.abc import Callable, Iterable, Mapping

from fairshare.client.answers import Container
from fairshare.client.client import Client
from fairshare.demonstration.errors import DemonstrationFailed
from fairshare.demonstration.verification import RUNNING

ENOUGH = 2
"""The least number of running containers, so that there is something to take over."""


def crash(
    client: Client, restart: Callable[[], None], applications: Mapping[str, Iterable[str]]
) -> str | None:
    """Kill the server if all teams have applications and enough containers run.

    `restart` kills it, and returns when another server answers in its place. Returns what has
    happened, None if it is too early. Raises DemonstrationFailed if a container was lost.
    """

    def containers() -> list[Container]:
        names = [name for found in applications.values() for name in found]
        return [container for name in names for container in client.containers(name)]

    if not all(applications.values()):
        return None
    before = {one.id for one in containers() if one.state == RUNNING}
    if len(before) < ENOUGH:
        return None
    restart()
    found = {one.id: one for one in containers() if one.id in before}
    ended = sum(one.over for one in found.values())
    lost = sorted(name for name in before if name not in found or (found[name].exit_code or 0) < 0)
    if lost:
        raise DemonstrationFailed(f"the crash has cost containers: {', '.join(lost)}")
    return (
        f"the server was killed; another one has taken over: of {len(before)} containers"
        f" {len(before) - ended} run on, {ended} have ended meanwhile with their exit codes"
    )
