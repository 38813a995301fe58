"""What ApplicationMasters were refused: otherwise the reason would only be in their own logs.

Memory of this server alone: a master that goes on asking is refused again.
"""

from typing import Final, Literal

from fairshare.core.model.events import ApplicationsForgotten
from fairshare.core.model.identifiers import ApplicationId
from fairshare.core.record import Record
from fairshare.runtime.observers import Observers
from fairshare.runtime.projections.application_versions import UnrecordedChanges

Kind = Literal["containers", "launch"]
"""A request for containers, or the launch of one."""

MOST_CHARACTERS: Final = 1_000
CAUSE: Final = "request-refused"
"""The cause of such a reason, beside those of the schedulers."""

REMEDY: Final = (
    "Its ApplicationMaster has to ask in another way: change its options, and submit it again."
)


class RefusedRequests:
    """The last refusal of each kind, by application."""

    def __init__(self, changes: UnrecordedChanges) -> None:
        self._changes = changes
        self._words: dict[ApplicationId, dict[Kind, str]] = {}

    def subscribe(self, observers: Observers) -> None:
        """Follow the records: applications are forgotten."""
        observers.events(self._forgotten, ApplicationsForgotten)

    def refused(self, application: ApplicationId, kind: Kind, words: str) -> None:
        """A master was refused, for this reason."""
        kinds = self._words.setdefault(application, {})
        words = words[:MOST_CHARACTERS]
        if kinds.get(kind) != words:
            kinds[kind] = words
            self._changes.note(application)

    def accepted(self, application: ApplicationId, kind: Kind) -> None:
        """A later request of a master was accepted."""
        kinds = self._words.get(application)
        if kinds is not None and kinds.pop(kind, None) is not None:
            self._changes.note(application)

    def of(self, application: ApplicationId) -> str:
        """What its master was refused, as one sentence; empty: nothing."""
        words = self._words.get(application, {}).values()
        return " ".join(f"A request of its ApplicationMaster was refused: {one}" for one in words)

    def forget(self, application: ApplicationId) -> None:
        """No refusal of an application matters any more."""
        if self._words.pop(application, None):
            self._changes.note(application)

    def _forgotten(self, record: Record, event: ApplicationsForgotten) -> None:
        for application in event.applications:
            self._words.pop(application, None)
