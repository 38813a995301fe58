"""A round robin scheduler with its family: the proof that a package can bring a scheduler.

The applications of the only queue, root.default, take turns; in each turn an application gets as
many containers as the property PER_TURN says. One of more than LONG_TURN is a mistake for lint.
"""

from fairshare.core.model.applications import Attempt
from fairshare.core.model.asks import AskKey
from fairshare.core.model.events import ContainerAllocated
from fairshare.core.model.identifiers import ApplicationId
from fairshare.core.model.resources import Resource, ResourceTypes
from fairshare.core.schedulers.base import DEFAULT, BaseScheduler, BaseSettings, BaseState
from fairshare.core.schedulers.protocol import Step
from fairshare.core.schedulers.reasons import MOST_AHEAD, Limits
from fairshare.documents.problems import Problems
from fairshare.settings.configuration import Configuration
from fairshare.settings.family import CLASS, ReadSettings, SchedulerFamily, Source, StoredClass
from fairshare.settings.manager import collect_base
from fairshare.settings.site import Site

PER_TURN = "yarn.scheduler.round-robin.containers-per-turn"
LONG_TURN = 100


class RoundRobinSettings(BaseSettings, frozen=True):
    """What all schedulers have, and the length of a turn."""

    containers_per_turn: int = 1


class RoundRobinState(BaseState[Attempt]):
    """The applications of the queue are in the order of their turns."""

    settings_type = RoundRobinSettings

    def _container_allocated(self, now_ms: int, event: ContainerAllocated) -> None:
        super()._container_allocated(now_ms, event)
        attempt = self.attempts[event.application]
        if (attempt.next_container - 1) % self.settings.containers_per_turn == 0:
            turns = self.queues[DEFAULT].attempts
            turns[attempt.id] = turns.pop(attempt.id)


class RoundRobinLimits(Limits):
    """Who takes turns before an application."""

    def ahead(self, key: AskKey) -> tuple[int, tuple[ApplicationId, ...]]:
        """Those that wait for containers, too."""
        turns = list(self._state.queues[DEFAULT].attempts.values())
        before = turns[: turns.index(self._attempt)]
        waiting = [other.id for other in before if other.asks.wanting]
        return len(waiting), tuple(waiting[:MOST_AHEAD])


class RoundRobinScheduler(BaseScheduler):
    """One container after the other, each for the application whose turn it is."""

    name = "round-robin"
    title = "round robin scheduler"
    state_type = RoundRobinState
    limits_type = RoundRobinLimits

    def beat(self, step: Step, node: str) -> None:
        """Serve the first in turn that fits, until none does."""
        found = self.state.nodes.get(node)
        if found is None:
            return
        turns = self.state.queues[DEFAULT].attempts
        while any(self.serve(step, attempt, found) for attempt in list(turns.values())):
            pass


class RoundRobinFamily(SchedulerFamily[RoundRobinSettings]):
    """All that fairshare needs to know of it."""

    name = "round-robin"
    title = "Round Robin Scheduler"
    classes = ((CLASS, "org.example.RoundRobinScheduler"),)
    settings_type = RoundRobinSettings
    stored_classes = (
        StoredClass("round-robin-scheduler", RoundRobinScheduler, ("_state",)),
        StoredClass("round-robin-settings", RoundRobinSettings),
        StoredClass("round-robin-state", RoundRobinState, ("started_ms",), state=True),
    )

    def create(self, types: ResourceTypes) -> RoundRobinScheduler:
        """A scheduler without nodes."""
        return RoundRobinScheduler(types)

    def read(self, source: Source, problems: Problems) -> ReadSettings:
        """The settings that all schedulers have, and one property."""
        return ReadSettings(_collect(source.site, problems))

    def lint_directory(
        self, configuration: Configuration, cluster: Resource | None, problems: Problems
    ) -> None:
        """Whether turns are so long that they are none."""
        turn = self.settings_of(configuration).containers_per_turn
        if turn > LONG_TURN:
            place = configuration.site.place(PER_TURN)
            problems.trap(place, "long-turn", f"a turn of {turn} containers is hardly a turn")


def _collect(site: Site, problems: Problems) -> RoundRobinSettings:
    turn = site.integer(PER_TURN, 1, problems, minimum=1)
    return collect_base(site, RoundRobinSettings, problems, containers_per_turn=turn)
