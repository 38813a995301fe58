"""Owns YARN's diagnostics of waiting and ended applications, in Hadoop's words (rest.md 2.7).

Scripts parse these texts for names and numbers, so they are written as Hadoop writes them.
"""

import re
from collections.abc import Hashable
from datetime import UTC, datetime

from fairshare.families.yarn.resources import percent
from fairshare.model.applications import Application
from fairshare.model.events import ApplicationState
from fairshare.model.identifiers import application_name
from fairshare.model.resources import largest
from fairshare.projections.attempt_history import ApplicationAttempts, Attempt
from fairshare.schedulers.capacity import limits
from fairshare.schedulers.capacity.applications import CapacityApplication, Stage
from fairshare.schedulers.capacity.state import CapacityState
from fairshare.schedulers.fair.applications import FairApplication
from fairshare.schedulers.fair.state import FairState
from fairshare.schedulers.fair.views import waits_for
from fairshare.schedulers.resource_text import resource_text
from fairshare.web.yarn.gateway import Gateway
from fairshare.web.yarn.names import attempt_name

WAITS = "Application is added to the scheduler and is not yet activated."
LAUNCHED = "AM container is launched, waiting for AM container to Register with RM"
_MANY_RUN = "has reached the maximum limit of runnable applications"
_DEFAULT = "<DEFAULT_PARTITION>"

_REFUSALS = (
    (
        re.compile(r"Application submitted by user \S+ to non-leaf queue: (\S+)"),
        "Application {name} submitted by user : {user} to non-leaf queue : {0}",
    ),
    (
        re.compile(r"Application submitted to unknown queue: (\S+?)\.? "),
        "Application {name} submitted by user {user} to unknown queue: {0}",
    ),
    (
        re.compile(r"Queue (\S+) is STOPPED\. Cannot accept submission of applications"),
        "org.apache.hadoop.security.AccessControlException: Queue {0} is STOPPED. Cannot accept"
        " submission of application: {name}",
    ),
    (
        re.compile(r"User \S+ cannot submit applications to queue (\S+)"),
        "User {user} does not have permission to submit {name} to queue {0}",
    ),
)
"""The core's messages for a submission without an id yet, and Hadoop's messages for it."""


def application_diagnostics(
    gateway: Gateway, application: Application, biography: ApplicationAttempts, now_ms: int
) -> str:
    """Why an application waits, or how it ended."""
    last = biography.attempt
    if application.over:
        if application.state is ApplicationState.FAILED and not biography.unregistered:
            return _failed(gateway, application, last)
        if application.state is ApplicationState.REJECTED:
            return _refused(gateway, application)
        return application.diagnostics
    if application.unregistered is not None:
        return application.unregistered.diagnostics
    return "" if last is None else attempt_diagnostics(gateway, application, last, now_ms)


def waiting_for(
    gateway: Gateway, application: Application, biography: ApplicationAttempts
) -> Hashable | None:
    """The values on which its diagnostics depend beside the time in seconds, as long as its last
    attempt waits for a master's container: equal values give equal texts. None: only records change
    it.
    """
    last = biography.attempt
    if application.over or application.unregistered is not None or last is None:
        return None
    if last.end or last.final_status or application.registered or last.master is not None:
        return None
    if isinstance(application, CapacityApplication):
        leaf = application.leaf
        return (
            "" if leaf is None else leaf.name,
            application.stage,
            application.label,
            application.user,
            application.master_resource,
        )
    state = gateway.scheduler.state
    if isinstance(state, FairState) and isinstance(application, FairApplication):
        return (
            "" if application.runnable else application.diagnostics or waits_for(state, application)
        )
    return ""


def attempt_diagnostics(
    gateway: Gateway, application: Application, attempt: Attempt, now_ms: int
) -> str:
    """The reason why one attempt waits, or how it ended."""
    if attempt.end == "FAILED":
        return _exit(gateway, application, attempt)
    if attempt.final_status:
        return attempt.diagnostics
    if attempt.end or application.registered:
        return ""
    if attempt.master is not None:
        return LAUNCHED
    why = _waits_for(gateway, application)
    return f"[{_moment(now_ms)}] {why}" if why else ""


def _refused(gateway: Gateway, application: Application) -> str:
    """Why a submission was refused: Hadoop's words name the application."""
    name = application_name(gateway.scheduler.state.epoch_ms, application.id)
    words = application.diagnostics
    for form, wanted in _REFUSALS:
        match = form.match(words)
        if match is not None:
            return wanted.format(*match.groups(), name=name, user=application.user)
    return words


def _failed(gateway: Gateway, application: Application, last: Attempt | None) -> str:
    if last is None or last.master is None or (not last.diagnostics and not last.exit_code):
        return application.diagnostics
    name = application_name(gateway.scheduler.state.epoch_ms, application.id)
    most = gateway.scheduler.master_attempts
    own = application.submission.details.max_attempts or most
    return (
        f"Application {name} failed {last.number} times (global limit ={most}; local limit is"
        f" ={own}) due to {_exit(gateway, application, last)}. Failing the application."
        if own != most
        else f"Application {name} failed {last.number} times due to"
        f" {_exit(gateway, application, last)}. Failing the application."
    )


def _exit(gateway: Gateway, application: Application, attempt: Attempt) -> str:
    epoch_ms = gateway.scheduler.state.epoch_ms
    name = application_name(epoch_ms, application.id)
    return (
        f"AM Container for {attempt_name(epoch_ms, application.id, attempt.number)} exited with "
        f" exitCode: {attempt.exit_code}\nFailing this attempt.Diagnostics: {attempt.diagnostics}"
        "For more detailed output, check the application tracking page:"
        f" http://{gateway.address}/cluster/app/{name} Then click on links to logs of each"
        " attempt.\n"
    )


def _moment(now_ms: int) -> str:
    """`Fri Jul 05 11:20:30 +0000 2019`, as Java writes a date."""
    return f"{datetime.fromtimestamp(now_ms // 1_000, UTC):%a %b %d %H:%M:%S +0000 %Y}"


def _waits_for(gateway: Gateway, application: Application) -> str:
    state = gateway.scheduler.state
    if isinstance(state, CapacityState) and isinstance(application, CapacityApplication):
        return _waits_for_capacity(state, application)
    if not isinstance(state, FairState) or not isinstance(application, FairApplication):
        return ""
    if application.runnable:
        return ""
    words = application.diagnostics or waits_for(state, application)
    for kind in ("queue", "user"):
        head = f"The {kind} "
        if words.startswith(head) and words.endswith(" " + _MANY_RUN):
            who = words.removeprefix(head).removesuffix(" " + _MANY_RUN)
            return f'{WAITS} The {kind} "{who}" {_MANY_RUN}.'
    return f"{WAITS} {words}" if words else WAITS


def _waits_for_capacity(state: CapacityState, application: CapacityApplication) -> str:
    leaf = application.leaf
    if leaf is None:
        return ""
    label = application.label
    types = state.types

    def text(resource: tuple[int, ...]) -> str:
        return resource_text(resource, types)

    if application.stage == Stage.ACTIVE:
        share = leaf.shares[label]
        return (
            "Application is Activated, waiting for resources to be assigned for AM. "
            f" Details : AM Partition = {label or _DEFAULT} ; Partition Resource ="
            f" {text(state.total_of(label))} ; Queue's Absolute capacity ="
            f" {percent(share.absolute_capacity)} % ; Queue's Absolute used capacity ="
            f" {percent(share.absolute_used)} % ; Queue's Absolute max capacity ="
            f" {percent(share.absolute_maximum)} % ; Queue's capacity (absolute resource) ="
            f" {text(share.effective_minimum)} ; Queue's used capacity (absolute resource) ="
            f" {text(share.used)} ; Queue's max capacity (absolute resource) ="
            f" {text(share.effective_maximum)} ; "
        )
    if application.stage == Stage.WAITING:
        words = _masters_limit(state, application)
        queue_limit = limits.master_limit(state, leaf, label)
        user_limit = limits.user_master_limit(state, leaf, label, application.user)
        return (
            f"{words}  Details : AM Partition = {label or _DEFAULT}; AM Resource Request ="
            f" {text(application.master_resource)}; Queue Resource Limit for AM ="
            f" {text(queue_limit)}; User AM Resource Limit of the queue ="
            f" {text(largest(user_limit, state.none))}; Queue AM Resource Usage ="
            f" {text(leaf.shares[label].master_used)}; "
        )
    return ""  # Hadoop gives no diagnostics for applications that max-parallel-apps holds back


def _masters_limit(state: CapacityState, application: CapacityApplication) -> str:
    """The limit for masters that holds an application back."""
    leaf = application.leaf
    assert leaf is not None
    if not any(state.total):
        return f"{WAITS} Skipping AM assignment as cluster resource is empty."
    label = application.label
    wanted = tuple(
        used + more
        for used, more in zip(
            leaf.shares[label].master_used, application.master_resource, strict=True
        )
    )
    if not state.calculator.fits(wanted, limits.master_limit(state, leaf, label)):
        return f"{WAITS} Queue's AM resource limit exceeded."
    return f"{WAITS} User's AM resource limit exceeded."
