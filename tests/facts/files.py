"""Facts about Hadoop's files and what they say (Hadoop: FairSchedulerConfiguration,
AllocationFileLoaderService)."""

import math
from collections.abc import Callable
from typing import Any

from fairshare.core.model.resources import UNBOUNDED, ResourceTypes
from fairshare.core.schedulers.calculators import normalise as normalised
from fairshare.core.schedulers.fair.settings import (
    NEVER_MS,
    AllocationSettings,
    Amount,
    QueueSettings,
)
from fairshare.documents.problems import Problems
from fairshare.errors import ConfigurationError
from fairshare.settings.fair.allocation_file import read_allocation_file
from fairshare.settings.fair.element_values import read_resources
from fairshare.settings.fair.reading import read_fair
from fairshare.settings.resource_types import read_increments
from fairshare.settings.site import Site

from .fact import Fact, Mismatch, expect, types_of, vector


def refused(action: Callable[[], object], error: type[Exception], what: str) -> None:
    """Raise Mismatch unless the action raises the error."""
    try:
        action()
    except error:
        return
    raise Mismatch(f"{what} must be refused, and is taken")


def parse_resource(fact: Fact) -> None:
    """A text with resources, as the allocation file has it."""
    names = tuple(fact["cluster"])
    missing = 0 if fact.get("missing") == "zero" else UNBOUNDED
    text = fact["text"]
    if fact.get("error"):
        refused(lambda: read_resources(text, types_of(names), missing), ValueError, repr(text))
        return
    found = read_resources(text, types_of(names), missing)
    expect(
        found.resolve(vector(fact["cluster"], names)), vector(fact["resources"], names), repr(text)
    )


def normalise(fact: Fact) -> None:
    """An ask, rounded; or increments that stop the scheduler."""
    for name, values in fact.get("refused_increments", {}).items():
        for value in values:
            site = Site.of({name: value})
            refused(lambda site=site: read_fair(site, None), ConfigurationError, f"{name}={value}")
    if "ask" not in fact:
        return
    names = tuple(fact["ask"])
    increment = vector(fact["increment"], names)
    properties = fact.get("increment_properties")
    if properties is not None:
        problems = Problems()
        expect(read_increments(Site.of(properties), types_of(names), problems), increment)
        expect(problems.all, (), "problems")
    granted = normalised(
        vector(fact["ask"], names),
        vector(fact["minimum"], names),
        increment,
        vector(fact["maximum"], names),
    )
    expect(granted, vector(fact["result"], names))


def start(fact: Fact) -> None:
    """Whether the scheduler starts with some properties."""
    site = Site.of(fact["properties"])
    if not fact["starts"]:
        refused(lambda: read_fair(site, None), ConfigurationError, str(fact["properties"]))
        return
    try:
        read_fair(site, None)
    except ConfigurationError as error:
        raise Mismatch(f"the properties must be taken, and are refused: {error}") from error


def allocation_file(fact: Fact) -> None:
    """What an allocation file says of queues and users."""
    names = ("memory-mb", "vcores", *fact.get("resource_types", []))
    types = types_of(tuple(dict.fromkeys(names)))
    if fact.get("error"):
        refused(
            lambda: read_allocation_file(fact["xml"], "fair-scheduler.xml", types),
            ConfigurationError,
            "the file",
        )
        return
    settings, _ = read_allocation_file(fact["xml"], "fair-scheduler.xml", types)
    queues = settings.queues.values()
    named = {
        "leaf_queues": {queue.name for queue in queues if not queue.parent},
        "parent_queues": {queue.name for queue in queues if queue.parent},
        "reservable": {queue.name for queue in queues if queue.reservable},
    }
    for key, expected in fact["values"].items():
        if key in named:
            expect(named[key], set(expected), key)
            continue
        for name, value in expected.items():
            queue = settings.queues.get(name, QueueSettings(name))
            _compare(f"{key} of {name}", _said(key, name, queue, settings), value, types)


def _said(key: str, name: str, queue: QueueSettings, settings: AllocationSettings) -> Any:
    """What the settings say of a queue or user, the defaults of the file included."""

    def own_or(own: Any, default: Any, *, root_only: bool = False) -> Any:
        return default if own is None and (name == "root" or not root_only) else own

    match key:
        case "max_resources":
            return queue.max_share or settings.queue_max_share_default or "no maximum"
        case "min_resources":
            return queue.min_share or "no minimum"
        case "max_child":
            return queue.max_child_share or "no maximum"
        case "max_container":
            return queue.max_container or "no maximum"
        case "max_apps":
            return own_or(queue.max_running_applications, settings.queue_max_applications_default)
        case "user_max_apps":
            return settings.user_max_applications.get(name, settings.user_max_applications_default)
        case "max_am_share":
            return own_or(queue.max_master_share, settings.queue_max_master_share_default)
        case "min_share_timeout":
            return own_or(queue.min_share_timeout_ms, settings.min_share_timeout_ms, root_only=True)
        case "fair_share_timeout":
            return own_or(
                queue.fair_share_timeout_ms, settings.fair_share_timeout_ms, root_only=True
            )
        case "fair_share_threshold":
            return own_or(queue.fair_share_threshold, settings.fair_share_threshold, root_only=True)
        case "policy":
            return queue.policy or settings.default_policy
        case _:
            raise Mismatch(f"the fact has the unknown key {key}")


def _compare(what: str, found: Any, expected: Any, types: ResourceTypes) -> None:
    if expected is None and isinstance(found, str):
        return  # nothing is said, as expected
    if expected == "infinite":
        expect(found, NEVER_MS, what)
    elif isinstance(expected, dict):
        if isinstance(found, Amount):
            found = found.absolute
        if isinstance(found, str):
            found = types.none if found == "no minimum" else types.unbounded
        names = tuple(expected)
        picked = tuple(found[types.names.index(name)] for name in names)
        expect(picked, vector(expected, names), what)
    elif isinstance(expected, float):
        if not math.isclose(found, expected, rel_tol=1e-6):
            expect(found, expected, what)
    else:
        expect(found, expected, what)
