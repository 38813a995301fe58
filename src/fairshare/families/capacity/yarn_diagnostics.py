"""Owns the Capacity Scheduler's diagnostics of waiting and refused applications, in Hadoop's words
(Hadoop: CSAMContainerLaunchDiagnosticsConstants). Scripts parse these texts for names and numbers,
so they are written as Hadoop writes them.
"""

from collections.abc import Hashable
from typing import Final

from fairshare.families.yarn.documents import percent
from fairshare.model.applications import Application
from fairshare.model.resources import Resource, largest
from fairshare.schedulers.capacity import limits
from fairshare.schedulers.capacity.attempts import CapacityAttempt, Stage
from fairshare.schedulers.capacity.state import CapacityState
from fairshare.schedulers.capacity.wording import queue_of_refusal
from fairshare.schedulers.resource_text import resource_text

WAITS: Final = "Application is added to the scheduler and is not yet activated."
_DEFAULT: Final = "<DEFAULT_PARTITION>"
_REFUSALS: Final = {
    "not-a-leaf-queue": "Application {name} submitted by user : {user} to non-leaf queue : {queue}",
    "unknown-queue": "Application {name} submitted by user {user} to unknown queue: {queue}",
    "queue-stopped": (
        "org.apache.hadoop.security.AccessControlException: Queue {queue} is STOPPED. Cannot accept"
        " submission of application: {name}"
    ),
}
"""Hadoop's messages, by the code of the refusal."""


def waiting_key(application: Application) -> Hashable:
    """The values of an application on which `why_waits` depends."""
    attempt = application.attempt
    if not isinstance(attempt, CapacityAttempt):
        return application.user
    return (attempt.leaf.name, attempt.stage, attempt.label, attempt.user, attempt.master_resource)


def why_waits(state: CapacityState, application: Application) -> str:
    """Why an attempt waits for its master's container.

    Hadoop gives no diagnostics for applications that max-parallel-apps holds back.
    """
    attempt = state.attempts.get(application.id)
    if attempt is None:
        return ""
    if attempt.stage == Stage.ACTIVE:
        return _activated(state, attempt)
    if attempt.stage == Stage.WAITING:
        return _not_activated(state, attempt)
    return ""


def _activated(state: CapacityState, attempt: CapacityAttempt) -> str:
    leaf, label = attempt.leaf, attempt.label
    share = leaf.shares[label]

    def text(resource: Resource) -> str:
        return resource_text(resource, state.types)

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


def _not_activated(state: CapacityState, attempt: CapacityAttempt) -> str:
    leaf, label = attempt.leaf, attempt.label

    def text(resource: Resource) -> str:
        return resource_text(resource, state.types)

    queue_limit = limits.master_limit(state, leaf, label)
    user_limit = limits.user_master_limit(state, leaf, label, attempt.user)
    return (
        f"{WAITS} {_exceeded(state, attempt, queue_limit)}  Details : AM Partition ="
        f" {label or _DEFAULT}; AM Resource Request ="
        f" {text(attempt.master_resource)}; Queue Resource Limit for AM ="
        f" {text(queue_limit)}; User AM Resource Limit of the queue ="
        f" {text(largest(user_limit, state.none))}; Queue AM Resource Usage ="
        f" {text(leaf.shares[label].master_used)}; "
    )


def _exceeded(state: CapacityState, attempt: CapacityAttempt, limit: Resource) -> str:
    """The limit for masters that holds an application back; `limit` is the queue's."""
    leaf = attempt.leaf
    if not any(state.total):
        return "Skipping AM assignment as cluster resource is empty."
    used = leaf.shares[attempt.label].master_used
    wanted = tuple(
        amount + more for amount, more in zip(used, attempt.master_resource, strict=True)
    )
    if not state.calculator.fits(wanted, limit):
        return "Queue's AM resource limit exceeded."
    return "User's AM resource limit exceeded."


def refusal(application: Application, name: str, code: str) -> str:
    """Why a submission was refused; Hadoop names the application in some messages."""
    queue = queue_of_refusal(code, application.diagnostics)
    if not queue:
        return application.diagnostics
    return _REFUSALS[code].format(name=name, user=application.user, queue=queue)
