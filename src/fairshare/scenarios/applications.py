"""Owns the names of a scenario's applications, and the word for the state that each one is in."""

from fairshare.errors import InputError
from fairshare.model.applications import Application
from fairshare.model.events import ApplicationState
from fairshare.model.identifiers import ApplicationId
from fairshare.schedulers.protocol import State


class Applications:
    """Applications by the names that the file gives them, in the order of their submission.

    `withdrawn` are those that their client ended before their master ran: they count as finished.
    """

    def __init__(self, state: State) -> None:
        self._state = state
        self.names: dict[ApplicationId, str] = {}
        self.withdrawn: set[ApplicationId] = set()
        self._numbers: dict[str, ApplicationId] = {}

    def add(self, name: str, number: ApplicationId) -> None:
        """Remember a submission, refused ones too."""
        self.names[number] = name
        self._numbers[name] = number

    def __contains__(self, name: str) -> bool:
        return name in self._numbers

    def number(self, name: str) -> ApplicationId:
        """The number of an application; raises InputError for one that was never submitted."""
        if name not in self._numbers:
            raise InputError("unknown-application", f"no application {name}")
        return self._numbers[name]

    def get(self, name: str) -> Application:
        """An application; raises InputError for one that was never submitted."""
        return self._state.applications[self.number(name)]

    def state_of(self, application: Application) -> ApplicationState:
        """The state as a scenario names it.

        An application that is not over is RUNNING when no limit holds it back and it has its
        master's container, or needs none; otherwise it is PENDING.
        """
        if application.over:
            if application.id in self.withdrawn:
                return ApplicationState.FINISHED
            return application.state
        has_master = not application.managed or application.attempt.master is not None
        if application.attempt.runnable and has_master:
            return ApplicationState.RUNNING
        return ApplicationState.PENDING
