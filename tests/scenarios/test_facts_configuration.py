"""Facts about configuration that were seen on Hadoop's own classes.

Each file of facts/fair that is named here holds a list of facts of one kind; its head says what
they mean.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from fairshare.config.allocation_file import read_allocation_file
from fairshare.config.fair import read_fair
from fairshare.config.problems import Problems
from fairshare.config.resource_text import read_resources
from fairshare.config.resource_types import read_increments
from fairshare.config.site import Site
from fairshare.errors import ConfigurationError
from fairshare.model.resources import UNBOUNDED, Resource, ResourceTypes
from fairshare.schedulers.fair.settings import NEVER_MS, AllocationSettings, Amount, QueueSettings
from fairshare.schedulers.normalisation import normalise

FACTS = Path(__file__).parents[2].parent / "shared" / "facts" / "fair"

if not FACTS.is_dir():
    pytest.skip(f"there are no facts in {FACTS}", allow_module_level=True)


def facts(kind: str) -> list[Any]:
    """The facts of one file, each with its position and name as the test's id."""
    found = yaml.safe_load((FACTS / f"{kind}.yaml").read_text())["facts"]
    return [pytest.param(fact, id=f"{i}: {fact['name']}") for i, fact in enumerate(found)]


def vector(amounts: Mapping[str, int | str], names: tuple[str, ...]) -> Resource:
    numbers = {
        name: UNBOUNDED if amount == "unlimited" else int(amount)
        for name, amount in amounts.items()
    }
    return tuple(numbers.get(name, 0) for name in names)


def types_of(names: tuple[str, ...]) -> ResourceTypes:
    return ResourceTypes(names, ("Mi",) + ("",) * (len(names) - 1))


@pytest.mark.parametrize("fact", facts("parse_resource"))
def test_resources_are_read_as_hadoop_reads_them(fact: dict[str, Any]) -> None:
    names = tuple(fact["cluster"])
    missing = 0 if fact.get("missing") == "zero" else UNBOUNDED
    if fact.get("error"):
        with pytest.raises(ValueError):
            read_resources(fact["text"], types_of(names), missing)
        return
    found = read_resources(fact["text"], types_of(names), missing)
    cluster = vector(fact["cluster"], names)
    assert found.resolve(cluster) == vector(fact["resources"], names)


@pytest.mark.parametrize("fact", facts("normalise"))
def test_asks_are_rounded_as_hadoop_rounds_them(fact: dict[str, Any]) -> None:
    for name, values in fact.get("refused_increments", {}).items():
        for value in values:
            with pytest.raises(ConfigurationError):
                read_fair(Site.of({name: value}), None)
    if "ask" not in fact:
        return
    names = tuple(fact["ask"])
    increment = vector(fact["increment"], names)
    properties = fact.get("increment_properties")
    if properties is not None:
        problems = Problems()
        assert read_increments(Site.of(properties), types_of(names), problems) == increment
        assert problems.all == ()
    granted = normalise(
        vector(fact["ask"], names),
        vector(fact["minimum"], names),
        increment,
        vector(fact["maximum"], names),
    )
    assert granted == vector(fact["result"], names)


@pytest.mark.parametrize("fact", facts("start"))
def test_the_scheduler_starts_when_hadoops_does(fact: dict[str, Any]) -> None:
    site = Site.of(fact["properties"])
    if fact["starts"]:
        read_fair(site, None)
    else:
        with pytest.raises(ConfigurationError):
            read_fair(site, None)


@pytest.mark.parametrize("fact", facts("allocation_file"))
def test_an_allocation_file_says_what_it_says_to_hadoop(fact: dict[str, Any]) -> None:
    names = ("memory-mb", "vcores", *fact.get("resource_types", []))
    types = types_of(tuple(dict.fromkeys(names)))
    if fact.get("error"):
        with pytest.raises(ConfigurationError):
            read_allocation_file(fact["xml"], "fair-scheduler.xml", types)
        return
    settings, _ = read_allocation_file(fact["xml"], "fair-scheduler.xml", types)
    check(settings, types, fact["values"])


def check(settings: AllocationSettings, types: ResourceTypes, values: dict[str, Any]) -> None:
    """Compare settings with what a fact expects of queues and users."""
    queues = settings.queues.values()
    named = {
        "leaf_queues": {queue.name for queue in queues if not queue.parent},
        "parent_queues": {queue.name for queue in queues if queue.parent},
        "reservable": {queue.name for queue in queues if queue.reservable},
    }
    for key, expected in values.items():
        if key in named:
            assert named[key] == set(expected), key
            continue
        for name, value in expected.items():
            queue = settings.queues.get(name, QueueSettings(name))
            assert_equal(key, found(key, name, queue, settings), value, types)


def found(key: str, name: str, queue: QueueSettings, settings: AllocationSettings) -> Any:
    """What the settings say of a queue or user, the defaults of the file included."""
    root = name == "root"
    match key:
        case "max_resources":
            return queue.max_share or settings.queue_max_share_default
        case "min_resources":
            return queue.min_share
        case "max_child":
            return queue.max_child_share
        case "max_container":
            return queue.max_container
        case "max_apps":
            own = queue.max_running_applications
            return settings.queue_max_applications_default if own is None else own
        case "user_max_apps":
            return settings.user_max_applications.get(name, settings.user_max_applications_default)
        case "max_am_share":
            share = queue.max_master_share
            return settings.queue_max_master_share_default if share is None else share
        case "min_share_timeout":
            timeout = queue.min_share_timeout_ms
            return settings.min_share_timeout_ms if timeout is None and root else timeout
        case "fair_share_timeout":
            timeout = queue.fair_share_timeout_ms
            return settings.fair_share_timeout_ms if timeout is None and root else timeout
        case "fair_share_threshold":
            threshold = queue.fair_share_threshold
            return settings.fair_share_threshold if threshold is None and root else threshold
        case "policy":
            return queue.policy or settings.default_policy
        case _:
            raise AssertionError(f"the fact has the unknown key {key}")


def assert_equal(key: str, actual: Any, expected: Any, types: ResourceTypes) -> None:
    if expected == "infinite":
        assert actual == NEVER_MS, key
    elif isinstance(expected, dict):
        if isinstance(actual, Amount):
            actual = actual.absolute
        if actual is None:
            actual = types.none if key == "min_resources" else types.unbounded
        names = tuple(expected)
        assert tuple(actual[types.names.index(n)] for n in names) == vector(expected, names), key
    elif isinstance(expected, float):
        assert actual == pytest.approx(expected, rel=1e-6), key
    else:
        assert actual == expected, key
