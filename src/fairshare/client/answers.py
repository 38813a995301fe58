"""How answers are decoded, and the names by which users of the client import their classes.

The classes are those that the server fills (`api`). Fields that a server sends besides these are
ignored, so that a client understands a newer server; those that have a default need not be sent.
"""

from collections.abc import Callable
from typing import Any, Generic, TypeVar

import msgspec

from fairshare.api import applications
from fairshare.api.applications import Application as Application
from fairshare.api.applications import Container as Container
from fairshare.api.applications import Eta as Eta
from fairshare.api.applications import GroupProgress as GroupProgress
from fairshare.api.applications import JobFigures as JobFigures
from fairshare.api.applications import JobSlots as JobSlots
from fairshare.api.applications import Progress as Progress
from fairshare.api.applications import Proved as Proved
from fairshare.api.applications import Reason as Reason
from fairshare.api.applications import Task as Task
from fairshare.api.bookings import BookedSpan as BookedSpan
from fairshare.api.bookings import Booking as Booking
from fairshare.api.bookings import Bookings as Bookings
from fairshare.api.cluster import Cluster as Cluster
from fairshare.api.cluster import OwnToken as OwnToken
from fairshare.api.cluster import SafeMode as SafeMode
from fairshare.api.cluster import SignInCode as SignInCode
from fairshare.api.cluster import SignInWays as SignInWays
from fairshare.api.cluster import Stopping as Stopping
from fairshare.api.configuration import Configuration as Configuration
from fairshare.api.configuration import ConfigurationFailure as ConfigurationFailure
from fairshare.api.configuration import Problem as Problem
from fairshare.api.configuration import Refreshed as Refreshed
from fairshare.api.nodes import Label as Label
from fairshare.api.nodes import Labels as Labels
from fairshare.api.nodes import Node as Node
from fairshare.api.queues import Owed as Owed
from fairshare.api.queues import PoolFigures as PoolFigures
from fairshare.api.queues import PoolSlots as PoolSlots
from fairshare.api.queues import Queue as Queue
from fairshare.api.values import Amounts as Amounts
from fairshare.client.errors import AnswerNotUnderstood
from fairshare.documents.ready import ready

Answer = TypeVar("Answer")
Result = TypeVar("Result")


class Applications(applications.Applications, frozen=True):
    """A list of applications, with the class that one application has."""

    applications: tuple[Application, ...]


class Properties(msgspec.Struct, frozen=True):
    """The scheduler's properties where documents may change them, or a change of them. `ignored`
    are parts of a change that mean nothing; `problems` the warnings of what is in force now."""

    version: int = 0
    properties: tuple[tuple[str, str], ...] = ()
    message: str = ""
    ignored: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()


def understood(answer: object, form: type[Answer]) -> Answer:
    """A decoded answer as what it should be; raises AnswerNotUnderstood and says where it is not.

    >>> understood({"name": "n1", "new": True}, Node).name
    'n1'
    """
    try:
        return msgspec.convert(answer, ready(form), str_keys=True)
    except msgspec.ValidationError as error:
        raise AnswerNotUnderstood(
            f"the server's answer is not what this client expects ({error}): use the client that"
            " came with the server, `fairshare --version` and `fairshare status` show both versions"
        ) from error


def listed(answer: object, name: str, form: type[Answer]) -> tuple[Answer, ...]:
    """The list `name` of a decoded answer, each entry understood.

    >>> [node.name for node in listed({"nodes": [{"name": "n1"}]}, "nodes", Node)]
    ['n1']
    """
    fields = understood(answer, dict[str, Any])
    return tuple(understood(entry, form) for entry in understood(fields.get(name), list[Any]))


class Decoded(Generic[Answer, Result]):
    """Decodes the JSON of an answer into a class, and takes the result of a call from it."""

    def __init__(self, form: type[Answer], take: Callable[[Answer], Result]) -> None:
        self.form = form
        self._take = take

    def __call__(self, answer: object) -> Result:
        """The result; raises AnswerNotUnderstood."""
        return self._take(understood(answer, self.form))


def whole(form: type[Answer]) -> Decoded[Answer, Answer]:
    """Decodes the JSON of an answer into a class, which is the result."""
    return Decoded(form, lambda answer: answer)
