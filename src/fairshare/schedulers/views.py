"""Owns what a scheduler shows of its queues and applications: frozen, the same for all schedulers.

A field is None where a scheduler has no such thing. Vectors are in the order of the state's types.
REST, pages, command line, scenarios and reports read these and compute nothing themselves.
"""

import msgspec

from fairshare.model.events import ApplicationState
from fairshare.model.identifiers import ApplicationId
from fairshare.model.resources import Resource


class QueueView(msgspec.Struct, frozen=True):
    """One queue as it stands. Shares are those of the last update."""

    name: str
    leaf: bool
    dynamic: bool
    parent: str  # "" for root
    children: tuple[str, ...]
    policy: str
    used: Resource
    reserved: Resource
    demand: Resource
    pending: Resource
    min_share: Resource
    max_share: Resource
    fair_share: Resource
    steady_fair_share: Resource
    weight: float
    running_applications: int  # runnable ones, of all below too
    pending_applications: int  # held back by a limit, of all below too
    max_running_applications: int | None
    containers: int
    reserved_containers: int
    preempted: int  # containers so far
    preemptable: bool
    master_used: Resource | None = None
    master_limit: Resource | None = None
    max_master_share: float | None = None
    max_container: Resource | None = None
    min_share_timeout_ms: int | None = None
    fair_share_timeout_ms: int | None = None
    fair_share_threshold: float | None = None


class ApplicationView(msgspec.Struct, frozen=True):
    """One application as it stands; of an ended one the shares are 0."""

    id: ApplicationId
    name: str
    user: str
    queue: str
    state: ApplicationState
    priority: int
    attempt: int
    runnable: bool
    submitted_ms: int
    started_ms: int
    finished_ms: int | None
    containers: int
    used: Resource
    reserved: Resource
    pending: Resource
    demand: Resource
    fair_share: Resource
    headroom: Resource
    to_preempt: int
    preempted: int
    diagnostics: str
