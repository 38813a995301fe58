"""yarn.acl.enable and yarn.admin.acl apply under every scheduler, also where no queue has a
list."""

import msgspec
import pytest

from fairshare.core.manager.resource_manager import ResourceManager
from fairshare.core.model.events import ApplicationSubmitted, RequestRefused
from fairshare.core.model.inputs import (
    DrainNode,
    KillApplication,
    LoadConfiguration,
    NodeJoined,
    SubmitApplication,
)
from fairshare.core.schedulers.access_lists import allows
from fairshare.core.schedulers.fifo import FifoSettings
from fairshare.documents.problems import Problems
from fairshare.settings.manager import collect_base
from fairshare.settings.pools.reading import read_pools
from fairshare.settings.registry import family_of
from fairshare.settings.site import Site

READ = {
    "fifo": lambda site: collect_base(site, FifoSettings, Problems()),
    "pools": lambda site: read_pools(site, None)[0],
}
LISTS = {"yarn.acl.enable": True, "yarn.admin.acl": "root ops"}


@pytest.mark.parametrize(
    ("acl", "user", "groups", "named"),
    [
        ("*", "eve", (), True),
        (" ", "eve", ("staff",), False),
        ("", "", (), False),
        ("ann, bob", "ann", (), True),
        ("ann,bob", "eve", ("ann",), False),
        ("ann ops,dev", "eve", ("staff", "dev"), True),
        ("ann ops", "eve", ("staff",), False),
        (" ops", "ops", (), False),
        ("* staff", "eve", (), True),
        ("ann *", "eve", (), True),
        ("*,ann", "eve", (), False),
        ("ann *,staff", "eve", (), False),
        ("ann\nbob\n", "bob", (), True),
        ("ann,, bob", "bob", (), False),
        ("ann dev,\n  ops", "eve", ("ops",), True),
        ("\tops", "eve", ("ops",), False),
    ],
)
def test_a_list_names_users_and_behind_a_blank_groups(
    acl: str, user: str, groups: tuple[str, ...], named: bool
) -> None:
    assert allows(acl, user, groups) is named


def manager_of(scheduler: str, values: dict[str, object]) -> ResourceManager:
    """A manager with one node, and one application of ann's."""
    settings = READ[scheduler](Site.of(values))
    manager = ResourceManager(family_of(scheduler).create(settings.types))
    manager.handle(0, LoadConfiguration(msgspec.json.encode(settings), 1))
    manager.handle(0, NodeJoined("n1", (8,) * len(settings.types.names)))
    events = manager.handle(0, SubmitApplication("ann", "default"))
    assert any(isinstance(event, ApplicationSubmitted) for event in events)
    return manager


def refused(manager: ResourceManager, given: KillApplication | DrainNode) -> bool:
    events = manager.handle(1, given)
    assert events
    return isinstance(events[0], RequestRefused)


@pytest.mark.parametrize("scheduler", READ)
@pytest.mark.parametrize(
    ("user", "groups", "may"),
    [("eve", ("staff",), False), ("root", (), True), ("eve", ("ops",), True), ("ann", (), True)],
)
def test_others_end_an_application_only_if_the_administrators_list_names_them(
    scheduler: str, user: str, groups: tuple[str, ...], may: bool
) -> None:
    manager = manager_of(scheduler, LISTS)
    assert refused(manager, KillApplication(1, user=user, groups=groups)) is not may


@pytest.mark.parametrize("scheduler", READ)
def test_only_administrators_drain_nodes(scheduler: str) -> None:
    manager = manager_of(scheduler, LISTS)
    assert refused(manager, DrainNode("n1", user="ann"))
    assert not refused(manager, DrainNode("n1", user="root"))


@pytest.mark.parametrize("scheduler", READ)
@pytest.mark.parametrize("values", [{}, {"yarn.admin.acl": "root"}])
def test_without_the_switch_every_user_may(scheduler: str, values: dict[str, object]) -> None:
    manager = manager_of(scheduler, values)
    assert not refused(manager, KillApplication(1, user="eve"))
