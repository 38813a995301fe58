"""Owns the present demand, as far as it determines useful nodes: sizes and preferences.

Kept in step with the state by looking again at the applications that events name. Of nodes it knows
only how much room there is.
"""

from collections.abc import Iterable

from fairshare.model.applications import Application
from fairshare.model.identifiers import ApplicationId
from fairshare.model.resources import Resource, fits
from fairshare.runtime.node_groups import Group
from fairshare.schedulers.protocol import State


class PendingSizes:
    """The sizes that runnable applications want containers of.

    `picky` are the applications for which one node is not like another (they name hosts or racks,
    or refuse some); `waiting` are those of them that let nodes pass by in the hope of a nearer one.
    `version` changes whenever another size is wanted, or one is not wanted any more.
    """

    def __init__(self, state: State) -> None:
        self._state = state
        self._by_application: dict[ApplicationId, tuple[Resource, ...]] = {}
        self.sizes: dict[Resource, int] = {}
        self.version = 0
        self.picky: dict[ApplicationId, None] = {}
        self.waiting: dict[ApplicationId, None] = {}

    def refresh(self, number: ApplicationId) -> None:
        """Look at an application again."""
        application = self._state.applications.get(number)
        before = self._by_application.get(number, ())
        now = _sizes(application) if application is not None else ()
        if now != before:
            for size in now:
                if size not in self.sizes:
                    self.version += 1
                self.sizes[size] = self.sizes.get(size, 0) + 1
            for size in before:
                left = self.sizes[size] - 1
                if left:
                    self.sizes[size] = left
                else:
                    del self.sizes[size]
                    self.version += 1
            if now:
                self._by_application[number] = now
            else:
                del self._by_application[number]
        if now and application is not None and self._is_picky(application):
            self.picky[number] = None
        elif number in self.picky:
            del self.picky[number]
            self.waiting.pop(number, None)

    def _is_picky(self, application: Application) -> bool:
        """An application that may borrow from other partitions waits for its own one as for a
        host."""
        attempt = application.attempt
        wanting = attempt.asks.wanting
        if len(wanting) == 1 and not attempt.blacklist:  # nearly always, and written out
            key = wanting[0]
            anywhere = key.anywhere
            if not key.places and (anywhere is None or anywhere.relax):
                return not key.label and self._state.lends
        return _is_picky(application) or (self._state.lends and any(not k.label for k in wanting))

    def passed_by(self, number: ApplicationId) -> None:
        """An application skipped a node."""
        if number in self.picky:
            self.waiting[number] = None

    def fit(self, room: Resource) -> bool:
        """Whether a container of some wanted size fits into this room."""
        if self._state.counts_memory_alone:
            return any(size[0] <= room[0] for size in self.sizes)
        return any(fits(size, room) for size in self.sizes)

    def fitting(self, groups: Iterable[Group]) -> dict[Group, None]:
        """The groups of nodes into whose room a container of some wanted size fits."""
        if len(self.sizes) == 1:  # nearly always, and written out
            (size,) = self.sizes
            if self._state.counts_memory_alone:
                memory = size[0]
                return {group: None for group in groups if memory <= group[0][0]}
            if len(size) == 2:
                memory, vcores = size
                return {
                    group: None
                    for group in groups
                    if memory <= group[0][0] and vcores <= group[0][1]
                }
        return {group: None for group in groups if self.fit(group[0])}


def _sizes(application: Application) -> tuple[Resource, ...]:
    """The sizes that an application may be given containers of now.

    An entry for a host or rack may have a size of its own, and is then granted in that size.
    """
    wanting = application.attempt.asks.wanting
    if not wanting or not application.attempt.runnable:
        return ()
    if len(wanting) == 1 and not wanting[0].places:
        anywhere = wanting[0].anywhere
        assert anywhere is not None
        return (anywhere.resource,)
    sizes: dict[Resource, None] = {}
    for key in wanting:
        assert key.anywhere is not None
        sizes[key.anywhere.resource] = None
        for place in key.places.values():
            sizes[place.resource] = None
    return tuple(sizes)


def _is_picky(application: Application) -> bool:
    return bool(application.attempt.blacklist) or any(
        key.places or (key.anywhere is not None and not key.anywhere.relax)
        for key in application.attempt.asks.wanting
    )
