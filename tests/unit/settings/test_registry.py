"""The registry of scheduler families: names, aliases, and families of installed packages."""

from importlib.metadata import EntryPoint

import pytest

from fairshare.core.schedulers.pools.settings import TYPES
from fairshare.errors import InputError
from fairshare.settings import registry
from fairshare.settings.fifo.family import FifoFamily
from fairshare.settings.registry import FAMILIES, all_families, family_of, register


class SecondFamily(FifoFamily):
    name = "second"
    title = "Second Scheduler"


class NamelessFamily(FifoFamily):
    name = "third"


@pytest.fixture
def entry_points(monkeypatch):
    """A list of entry points that stand for installed packages."""
    installed = []
    monkeypatch.setattr(registry, "FAMILIES", dict(FAMILIES))
    monkeypatch.setattr(registry, "entry_points", lambda group: installed)
    registry._load_installed.cache_clear()
    yield installed
    registry._load_installed.cache_clear()


@pytest.mark.parametrize("name", sorted(FAMILIES))
def test_a_family_and_its_scheduler_have_the_same_name(name):
    family = family_of(name)
    assert family.name == name
    assert family.create(TYPES).name == name
    assert family.title


def test_an_unknown_name_is_refused_with_those_that_exist():
    with pytest.raises(InputError, match=r"no scheduler 'fare' .*capacity, fair, fifo, pools"):
        family_of("fare")


def test_users_call_the_pool_scheduler_mapreduce():
    assert [family.public_name for family in FAMILIES.values()] == [
        "fair",
        "capacity",
        "mapreduce",
        "fifo",
    ]


@pytest.mark.usefixtures("entry_points")
def test_a_name_can_be_registered_once():
    register(SecondFamily())
    assert family_of("second").title == "Second Scheduler"
    with pytest.raises(ValueError, match="another scheduler called 'second'"):
        register(SecondFamily())


def test_a_package_brings_a_family_by_an_entry_point(entry_points):
    entry_points.append(EntryPoint("second", f"{__name__}:SecondFamily", registry.GROUP))
    assert family_of("second").title == "Second Scheduler"
    assert list(all_families())[-1] == "second"


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("second", f"{__name__}:Missing", "Missing"),
        ("second", f"{__name__}:entry_points", "not a SchedulerFamily"),
        ("second", f"{__name__}:NamelessFamily", "is called 'third'"),
    ],
)
def test_an_entry_point_that_cannot_be_used_is_an_error_with_its_reason(
    entry_points, name, value, reason
):
    entry_points.append(EntryPoint(name, value, registry.GROUP))
    with pytest.raises(InputError, match=reason):
        family_of("second")
