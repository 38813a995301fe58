"""Owns the Capacity Scheduler's diagnostics of waiting and refused applications, in Hadoop's words
(Hadoop: CSAMContainerLaunchDiagnosticsConstants). Scripts parse these texts for names and numbers,
so they are written as Hadoop writes them.
"""

from collections.abc import Hashable
from typing import Final

from fairshare.families.yarn.resources import percent
from fairshare.model.applications import Application
from fairshare.model.resources import Resource, largest
from fairshare.schedulers.capacity import limits
from fairshare.schedulers.capacity.applications import CapacityApplication, Stage
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
    assert isinstance(application, CapacityApplication)
    leaf = application.leaf
    return (
        "" if leaf is None else leaf.name,
        application.stage,
        application.label,
        application.user,
        application.master_resource,
    )


def why_waits(state: CapacityState, application: Application) -> str:
    """Why an attempt waits for its master's container.

    Hadoop gives no diagnostics for applications that max-parallel-apps holds back.
    """
    assert isinstance(application, CapacityApplication)
    if application.leaf is None:
        return ""
    if application.stage == Stage.ACTIVE:
        return _activated(state, application)
    if application.stage == Stage.WAITING:
        return _not_activated(state, application)
    return ""


def _activated(state: CapacityState, application: CapacityApplication) -> str:
    leaf, label = application.leaf, application.label
    assert leaf is not None
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


def _not_activated(state: CapacityState, application: CapacityApplication) -> str:
    leaf, label = application.leaf, application.label
    assert leaf is not None

    def text(resource: Resource) -> str:
        return resource_text(resource, state.types)

    queue_limit = limits.master_limit(state, leaf, label)
    user_limit = limits.user_master_limit(state, leaf, label, application.user)
    return (
        f"{WAITS} {_exceeded(state, application, queue_limit)}  Details : AM Partition ="
        f" {label or _DEFAULT}; AM Resource Request ="
        f" {text(application.master_resource)}; Queue Resource Limit for AM ="
        f" {text(queue_limit)}; User AM Resource Limit of the queue ="
        f" {text(largest(user_limit, state.none))}; Queue AM Resource Usage ="
        f" {text(leaf.shares[label].master_used)}; "
    )


def _exceeded(state: CapacityState, application: CapacityApplication, limit: Resource) -> str:
    """The limit for masters that holds an application back; `limit` is the queue's."""
    leaf = application.leaf
    assert leaf is not None
    if not any(state.total):
        return "Skipping AM assignment as cluster resource is empty."
    used = leaf.shares[application.label].master_used
    wanted = tuple(
        amount + more for amount, more in zip(used, application.master_resource, strict=True)
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
