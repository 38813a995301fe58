"""Owns what a submission must satisfy before it is recorded, whichever interface it came by.

The REST interface and Hadoop's RPC read their own forms of it, and word refusals in their own way.
"""

from collections.abc import Iterable, Mapping, Sequence

from fairshare.api.values import is_one_line
from fairshare.errors import FairshareError
from fairshare.model.applications import Application
from fairshare.model.queues import LONGEST_NAME
from fairshare.web.yarn.gateway import Gateway

MOST_TAGS = 10
LONGEST_TAG = 100
LONGEST_TYPE = 20
LONGEST_ACCESS_LIST = 16 * 1024
DEFAULT_QUEUE = "default"
NO_RESERVATIONS = "Reservation is not enabled. Please enable & try again"


class NotAcceptable(FairshareError):
    """A submission is refused; the message is for its caller."""


class WrongTag(NotAcceptable):
    """A tag breaks Hadoop's rules, or there are too many."""


def check_names(names: Mapping[str, str]) -> None:
    """Raise NotAcceptable for names that are too long, or would break lines and files."""
    for field, text in names.items():
        if len(text) > LONGEST_NAME:
            raise NotAcceptable(f"{field} has {len(text)} characters: {LONGEST_NAME} are the most")
        if not is_one_line(text):
            raise NotAcceptable(f"{field}: {text!r} has a control character or line break")


def check_access_lists(lists: Iterable[str | None]) -> None:
    """Raise NotAcceptable for lists of users and groups that are too long for the journal."""
    for text in lists:
        if text is not None and len(text) > LONGEST_ACCESS_LIST:
            raise NotAcceptable(
                f"an access list has {len(text)} characters: {LONGEST_ACCESS_LIST} are the most;"
                " name a group"
            )


def checked_tags(tags: Sequence[str]) -> tuple[str, ...]:
    """The tags in lower case, each once; raises WrongTag.

    >>> checked_tags(["b", "A", "b", ""])
    ('a', 'b')
    """
    found = {*tags}
    if len(found) > MOST_TAGS:
        raise WrongTag(f"Too many applicationTags, a maximum of only {MOST_TAGS} are allowed!")
    for tag in tags:
        if len(tag) > LONGEST_TAG:
            raise WrongTag(
                f"Tag {tag} is too long, maximum allowed length of a tag is {LONGEST_TAG}"
            )
        if not tag.isascii() or not tag.isprintable():
            raise WrongTag(f"A tag can only have ASCII characters! Invalid tag - {tag}")
    return tuple(sorted({tag.lower() for tag in found if tag}))


def denial_of(gateway: Gateway, application: Application, name: str) -> str:
    """Why a new application was denied, if its user may not submit to its queue; else empty.

    With access control on, Hadoop refuses such a caller at once.
    """
    if not (gateway.controls_access and application.over):
        return ""
    if gateway.attempt_history.of(application.id).refusal != "access-denied":
        return ""
    queue = application.submission.queue
    return (
        f"User {application.user} does not have permission to submit {name} to queue {queue}"
        f" denied by ACL for queue {queue}"
    )
