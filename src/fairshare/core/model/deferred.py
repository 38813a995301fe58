"""Owns the applications that start later, or start nothing more: those that are held, wait for an
instant, or for the ends of other applications.

A part of the state; decides nothing.
"""

from fairshare.core.model.events import ApplicationDeferred
from fairshare.core.model.gangs import Gangs
from fairshare.core.model.identifiers import ApplicationId
from fairshare.core.model.inputs import NO_CONDITIONS, StartConditions
from fairshare.core.model.operations import Handlers
from fairshare.core.model.resources import ResourceTypes


class Deferred(Gangs):
    """`deferred` has the conditions that are left, by application; `dependents` the deferred
    applications by the application whose end they wait for."""

    def __init__(self, types: ResourceTypes) -> None:
        super().__init__(types)
        self.deferred: dict[ApplicationId, StartConditions] = {}
        self.dependents: dict[ApplicationId, dict[ApplicationId, None]] = {}

    def event_handlers(self) -> Handlers:
        """Adds the handler of events about deferred applications."""
        return {**super().event_handlers(), ApplicationDeferred: self._application_deferred}

    def _application_deferred(self, now_ms: int, event: ApplicationDeferred) -> None:
        self._defer_no_more(event.application)
        if event.start == NO_CONDITIONS:
            return
        self.deferred[event.application] = event.start
        for condition in event.start.after:
            self.dependents.setdefault(condition.application, {})[event.application] = None

    def _defer_no_more(self, application: ApplicationId) -> None:
        """Forget the conditions of an application."""
        left = self.deferred.pop(application, NO_CONDITIONS)
        for condition in left.after:
            waiting = self.dependents.get(condition.application, {})
            waiting.pop(application, None)
            if not waiting:
                self.dependents.pop(condition.application, None)
