"""The submission of applications by YARN's clients: first a request for an id, then the
application, whose first container runs its master's command (Hadoop:
RMWebServices.createNewApplication and submitApplication); and what each must satisfy before it
is recorded.

Unsupported fields (files to fetch, reservations) are refused; tokens, services and log aggregation,
without which the command runs just as well, are ignored. Hadoop's RPC reads its own form of a
submission, checks it in the same way, and words refusals in its own.
"""

import re
from collections.abc import Iterable, Mapping, Sequence

from starlette.requests import Request

from fairshare.api.values import is_one_line
from fairshare.core.model.applications import Application
from fairshare.core.model.events import ApplicationNumberTaken
from fairshare.core.model.identifiers import application_name
from fairshare.core.model.inputs import ReserveApplication, SubmissionDetails, SubmitApplication
from fairshare.core.model.queues import LONGEST_NAME
from fairshare.core.model.resources import Resource, resource_text
from fairshare.core.model.work import Command
from fairshare.errors import FairshareError, InputError
from fairshare.server.web.actors import check_account, with_tagged_groups
from fairshare.server.web.audit import note
from fairshare.server.web.limits import submission_slot, too_large
from fairshare.yarn.rest.answering import Answer, YarnRoute
from fairshare.yarn.rest.callers import Caller
from fairshare.yarn.rest.errors import PlainRefusal, Refused, bad_request
from fairshare.yarn.rest.gateway import Gateway, gateway_of
from fairshare.yarn.rest.parameters import (
    LONG,
    as_list,
    lenient_integer,
    pairs,
    read_application_id,
    read_object,
    text_of,
    truth,
)
from fairshare.yarn.views.documents import Document, ResourceInfo, resource_info

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
    known = {*tags}
    if len(known) > MOST_TAGS:
        raise WrongTag(f"Too many applicationTags, a maximum of only {MOST_TAGS} are allowed!")
    for tag in tags:
        if len(tag) > LONGEST_TAG:
            raise WrongTag(
                f"Tag {tag} is too long, maximum allowed length of a tag is {LONGEST_TAG}"
            )
        if not tag.isascii() or not tag.isprintable():
            raise WrongTag(f"A tag can only have ASCII characters! Invalid tag - {tag}")
    return tuple(sorted({tag.lower() for tag in known if tag}))


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


ROOT_ELEMENT = "application-submission-context"
_NAME_FIELDS = (
    "queue",
    "application-name",
    "application-type",
    "app-node-label-expression",
    "am-container-node-label-expression",
)
_KEPT = "keep-containers-across-application-attempts"
_VALIDITY = "attempt-failures-validity-interval"
LOG_DIRECTORY = "<LOG_DIR>"
_ARGUMENT = "java.lang.Exception: java.lang.IllegalArgumentException"
_VARIABLE = re.compile(r"\{\{(\w+)\}\}")


_NAMES = {"application_id": "application-id", "most": "maximum-resource-capability"}


class NewApplication(Document, rename=_NAMES):
    """The reserved application id, and the largest possible container."""

    application_id: str
    most: ResourceInfo


async def reserve(request: Request, caller: Caller) -> Answer:
    """POST /apps/new-application."""
    gateway = gateway_of(request)
    _check_enabled(gateway)
    events = await gateway.ask(ReserveApplication())
    number = next(e.application for e in events if isinstance(e, ApplicationNumberTaken))
    state = gateway.scheduler.state
    most = resource_info(state.types, gateway.yarn.allocation_limits(state)[1])
    document = NewApplication(application_name(state.epoch_ms, number), most)
    return Answer(document, "NewApplication", "bare")


LATER = frozenset(
    (
        "too-many-applications",
        "too-many-queues",
        "too-much-handed-in",
        "disk-full",
        "no-database",
        "accounts-unavailable",
        "groups-unavailable",
        "busy",
        "stopping",
    )
)
"""Refusals that the submission did not cause and that may pass: they keep their own status, and
clients of Hadoop's RPC try again."""


async def submit(request: Request, caller: Caller) -> Answer:
    """POST /apps: 202, also for an existing application."""
    gateway = gateway_of(request)
    _check_enabled(gateway)
    body = await read_object(request, ROOT_ELEMENT)
    text = text_of(body.get("application-id"))
    try:
        epoch_ms, number = read_application_id(text)
    except Refused:
        raise bad_request(f"Could not parse application id {text}") from None
    state = gateway.scheduler.state
    if epoch_ms != state.epoch_ms:
        raise bad_request(f"{text} is not an application of this cluster, {state.epoch_ms}")
    location = f"http://{request.headers.get('host', gateway.address)}/ws/v1/cluster/apps/{text}"
    accepted = Answer(status=202, headers={"Location": location})
    if number in state.applications:
        return accepted
    submission = read_submission(gateway, body, caller, number)
    note(request, application=text, queue=submission.queue)
    server = request.app.state.server
    large = too_large(submission.driver, server.settings.limits) if submission.driver else ""
    if large:
        raise bad_request(large)
    await check_account(server, submission.user)
    try:
        async with submission_slot(server, submission):
            await gateway.ask(await with_tagged_groups(server, submission))
    except InputError as error:
        if error.code in LATER:
            raise
        raise bad_request(str(error), "java.lang.Exception") from None
    found = gateway.scheduler.state.applications.get(number)
    denial = "" if found is None else denial_of(gateway, found, text)
    if denial:
        raise bad_request(f"org.apache.hadoop.security.AccessControlException: {denial}")
    return accepted


def _check_enabled(gateway: Gateway) -> None:
    if not gateway.settings.submissions:
        raise PlainRefusal(403, "App submission via REST is disabled.")


def read_submission(
    gateway: Gateway, body: Mapping[str, object], caller: Caller, number: int
) -> SubmitApplication:
    """The submission that a body describes; raises Refused (400)."""
    container = body.get("am-container-spec")
    container = container if isinstance(container, dict) else {}
    unmanaged = truth(body.get("unmanaged-AM"))
    master = None if unmanaged else _master(gateway, body.get("resource"))
    acls = dict(pairs(container.get("application-acls") or {}))
    if text_of(body.get("reservation-id")):
        raise bad_request(NO_RESERVATIONS)
    priority = body.get("priority")
    names = {field: text_of(body.get(field)) for field in _NAME_FIELDS}
    try:
        check_names({**names, "user.name": caller.user})
        check_access_lists(map(text_of, acls.values()))
        tags = checked_tags(_tags(body.get("application-tags")))
    except WrongTag as error:
        raise bad_request(str(error), _ARGUMENT) from None
    except NotAcceptable as error:
        raise bad_request(str(error)) from None
    return SubmitApplication(
        user=caller.user,
        queue=text_of(body.get("queue")) or DEFAULT_QUEUE,
        name=text_of(body.get("application-name")),
        groups=caller.groups,
        priority=-1 if priority is None else lenient_integer(priority, "priority"),
        tags=tags,
        master=master,
        driver=None if unmanaged else _driver(gateway, container),
        number=number,
        details=SubmissionDetails(
            type=text_of(body.get("application-type"))[:LONGEST_TYPE],
            max_attempts=lenient_integer(body.get("max-app-attempts"), "max-app-attempts"),
            view_acl=_acl(acls, "VIEW_APP"),
            modify_acl=_acl(acls, "MODIFY_APP"),
            application_label=text_of(body.get("app-node-label-expression")),
            master_label=text_of(body.get("am-container-node-label-expression")),
            keep_containers=truth(body.get(_KEPT)),
            failures_validity_ms=max(0, lenient_integer(body.get(_VALIDITY), _VALIDITY, bits=LONG)),
        ),
    )


def _acl(acls: Mapping[str, object], kind: str) -> str | None:
    return text_of(acls[kind]) if kind in acls else None


def _tags(value: object) -> list[str]:
    return [text_of(tag) for tag in as_list(value.get("tag") if isinstance(value, dict) else value)]


def _master(gateway: Gateway, value: object) -> Resource:
    """The size of the master's container; by default the minimum allocation."""
    state = gateway.scheduler.state
    asked = value if isinstance(value, dict) else {}
    memory = lenient_integer(asked.get("memory"), "memory", bits=LONG)
    vcores = lenient_integer(asked.get("vCores"), "vCores")
    size = (memory, vcores, *state.none[2:])
    most = gateway.yarn.configured_maximum(state)
    if memory > most[0]:
        raise bad_request("Requested more memory than configured max")
    if vcores > most[1]:
        raise bad_request("Requested more cores than configured max")
    for name, amount in zip(state.types.names, size, strict=True):
        if amount < 0:
            raise bad_request(
                "Invalid resource request! Cannot allocate containers as requested resource is"
                f" less than 0! Requested resource type=[{name}], Requested"
                f" resource={resource_text(size, state.types)}"
            )
    return size


def _driver(gateway: Gateway, container: Mapping[str, object]) -> Command:
    """The master's command. All commands run in one shell, as a launch script has them.

    `<LOG_DIR>` is the container's log directory and `{{NAME}}` a variable; both are of the
    container's own environment.
    """
    commands = container.get("commands")
    lines = as_list(commands.get("command") if isinstance(commands, dict) else commands)
    if pairs(container.get("local-resources") or {}):
        raise bad_request(
            "local-resources are not fetched here: put the files where the command can read them"
        )
    environment = {
        name: _expanded(text_of(value))
        for name, value in pairs(container.get("environment") or {})
        if name and "=" not in name and "\0" not in name
    }
    script = "\n".join(_expanded(text_of(line)) for line in lines)
    if "\0" in script or any("\0" in value for value in environment.values()):
        raise bad_request("a command or variable holds a NUL character")
    return Command(("/bin/sh", "-c", script or ":"), environment=environment)


def _expanded(text: str) -> str:
    """`{{NAME}}` and `<LOG_DIR>` as the shell writes them.

    >>> _expanded("{{JAVA_HOME}}/bin/java 1><LOG_DIR>/stdout")
    '${JAVA_HOME}/bin/java 1>${LOG_DIRS}/stdout'
    """
    return _VARIABLE.sub(r"${\1}", text).replace(LOG_DIRECTORY, "${LOG_DIRS}")


ROUTES = [YarnRoute("/apps/new-application", post=reserve)]
