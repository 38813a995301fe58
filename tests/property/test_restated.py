"""A history from a state of one scheduler goes on under another one, with all its work."""

import msgspec
import pytest
from tests.effort import examples

from fairshare.core.manager.resource_manager import ResourceManager
from fairshare.core.model.events import ApplicationSubmitted, ContainerCompleted
from fairshare.core.model.identifiers import application_of
from fairshare.core.model.resources import ResourceTypes
from fairshare.lab.simulate.readers.history import read_history
from fairshare.lab.simulate.rerun import Rerun, restated
from fairshare.lab.simulate.simulator import EPOCH_MS
from fairshare.settings.registry import family_of

from .test_history import SETTINGS, state_after
from .test_paced_history import BEAT_MS, lived


@pytest.mark.parametrize(("kind", "other"), [("fair", "capacity"), ("capacity", "fair")])
@pytest.mark.parametrize("seed", range(examples(6)))
def test_another_scheduler_ends_each_application_that_lived_or_came(kind, other, seed):
    records = lived(kind, seed)
    half_ms = records[len(records) // 2].now_ms
    origin = state_after([one for one in records if one.now_ms <= half_ms], kind)
    rest = records[origin.position.sequence :]
    world = read_history(rest, kind, ResourceTypes(), EPOCH_MS, origin)
    settings = msgspec.json.encode(SETTINGS[other])
    again, left_out = restated(world, settings)
    found = []
    manager = ResourceManager(family_of(other).create(ResourceTypes()))
    Rerun(again, manager, settings, beat_interval_ms=BEAT_MS, observers=(found.append,)).run()
    lived_then = {one.id: one for one in origin.manager().state.applications.values()}
    expected = {number for number, one in lived_then.items() if not one.over}
    assert left_out == set()
    assert expected
    assert submitted(found) == expected | submitted(rest)
    assert all(one.over for one in manager.state.applications.values())
    # Of each application that was not killed, each task that was not done then succeeds once.
    for number in expected:
        application = manager.state.applications[number]
        if application.state == "FINISHED":
            left = sum(
                len(group.running) + len(group.waiting) + len(group.paused)
                for group in lived_then[number].tasks.groups
            )
            assert succeeded(found, number) == left


def submitted(records):
    return {
        event.application
        for record in records
        for event in record.events
        if type(event) is ApplicationSubmitted
    }


def succeeded(records, application):
    return sum(
        type(event) is ContainerCompleted
        and event.exit_code == 0
        and application_of(event.container) == application
        for record in records
        for event in record.events
    )
