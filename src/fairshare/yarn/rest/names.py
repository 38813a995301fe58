"""The format of the identifiers in the paths of YARN's REST interface.

Hadoop reads numbers with any count of digits, and has its own error messages
(Hadoop: GenericExceptionHandler, ApplicationId.fromString).
"""

import re
from collections.abc import Iterator

from fairshare.core.model.applications import Application
from fairshare.core.model.identifiers import ApplicationId, ContainerId, container_id
from fairshare.yarn.rest.errors import bad_request, not_found
from fairshare.yarn.rest.gateway import Gateway

_ARGUMENT = "java.lang.IllegalArgumentException"
_NUMBERS = re.compile(r"(-?[0-9]{1,19})_(-?[0-9]{1,19})")
_ATTEMPT = re.compile(r"appattempt_([0-9]{1,19})_([0-9]{1,19})_([0-9]{1,19})")
_CONTAINER = re.compile(
    r"container_(?:e[0-9]{1,9}_)?([0-9]{1,19})_([0-9]{1,19})_([0-9]{1,19})_([0-9]{1,19})"
)


def attempt_name(epoch_ms: int, application: ApplicationId, attempt: int) -> str:
    """`appattempt_1700000000000_0007_000001`."""
    return f"appattempt_{epoch_ms}_{application:04d}_{attempt:06d}"


def read_application_id(text: str) -> tuple[int, ApplicationId]:
    """The cluster's number and the application's; raises Refused (400)."""
    prefix, _, rest = text.partition("_")
    if prefix != "application" or not rest:
        raise bad_request(
            f"Invalid ApplicationId prefix: {text}. The valid ApplicationId should start with"
            " prefix application",
            _ARGUMENT,
        )
    match = _NUMBERS.fullmatch(rest)
    if match is None:
        raise bad_request(f"Invalid ApplicationId: {text}", _ARGUMENT)
    return int(match[1]), int(match[2])


def find_application(gateway: Gateway, text: str) -> Application:
    """The application of a path; raises Refused (400, 404)."""
    epoch_ms, number = read_application_id(text)
    state = gateway.scheduler.state
    found = state.applications.get(number) if epoch_ms == state.epoch_ms else None
    if found is None or is_unknown(gateway, number):
        raise not_found(f"app with id: {text} not found")
    return found


def is_unknown(gateway: Gateway, number: ApplicationId) -> bool:
    """With access control on, a caller who may not submit is refused at once, without a record."""
    return gateway.controls_access and gateway.attempt_history.of(number).refusal == "access-denied"


def known_applications(gateway: Gateway) -> Iterator[Application]:
    """All applications that YARN would know, in the order of their submission."""
    if not gateway.controls_access:
        yield from gateway.scheduler.state.applications.values()
        return
    for number, application in gateway.scheduler.state.applications.items():
        if not is_unknown(gateway, number):
            yield application


def read_attempt_id(text: str) -> tuple[int, ApplicationId, int]:
    """Cluster, application and attempt; raises Refused (400)."""
    match = _ATTEMPT.fullmatch(text)
    if match is None:
        raise bad_request(f"Invalid AppAttemptId: {text}", _ARGUMENT)
    return int(match[1]), int(match[2]), int(match[3])


def read_container_id(text: str) -> tuple[int, ContainerId]:
    """Cluster and container; raises Refused (400)."""
    if not text.startswith("container_"):
        raise bad_request(f"Invalid ContainerId prefix: {text}", _ARGUMENT)
    match = _CONTAINER.fullmatch(text)
    if match is None:
        raise bad_request(f"Invalid ContainerId: {text}", _ARGUMENT)
    return int(match[1]), container_id(int(match[2]), int(match[3]), int(match[4]))
