"""Format 1 of journals and snapshots is read by this version and every later one.

`tests/data/format-1` has a state directory of each scheduler: `python -m tests.format_sample` made
them, before the format was frozen. What is in them stays readable. Where a class, a field or an
event is renamed or added, these tests say what has to be read as before.
"""

import json
import shutil
from pathlib import Path

import msgspec
import pytest
from tests.format_sample import FORMAT_1, SETTINGS, facts_of
from tests.observing import follower

from fairshare.core.manager.resource_manager import ResourceManager
from fairshare.core.model.inputs import SubmitApplication
from fairshare.core.model.invariants import check
from fairshare.runtime import snapshot
from fairshare.runtime.journal import sqlite
from fairshare.runtime.journal.sqlite import SqliteJournal
from fairshare.runtime.projections.projections import Projections
from fairshare.runtime.recovery import recover
from fairshare.server.recovered import restore
from fairshare.server.server import LiveServer
from fairshare.server.settings import LiveSettings
from fairshare.server.state_directory import StateDirectory
from fairshare.settings.registry import FAMILIES, family_of

RECORDED_ONLY = ("sequence", "snapshot")


@pytest.fixture(params=sorted(FAMILIES))
def directory(request, tmp_path) -> Path:
    return shutil.copytree(FORMAT_1 / request.param, tmp_path / "state")


def facts(directory: Path, *without: str) -> dict[str, object]:
    found = json.loads((directory / "facts.json").read_text())
    return {key: value for key, value in found.items() if key not in without}


def test_the_versions_are_those_that_are_written_down():
    assert (sqlite.FORMAT, snapshot.FORM) == (1, 1)


def test_the_snapshot_is_read_and_what_followed_is_applied(directory):
    journal = SqliteJournal(directory)
    position, parts = restore(journal)
    assert position.sequence == facts(directory)["snapshot"]
    manager = parts["manager"]
    projections = Projections(manager.state.types, parts)
    assert projections.history is parts["history"]
    follow = follower(projections, manager.scheduler)
    for record in journal.records(position.sequence):
        position = recover([record], manager.state, position)
        follow(record)
    assert position.sequence == facts(directory)["sequence"] > facts(directory)["snapshot"]
    assert facts_of(manager.state, projections.history) == facts(directory, *RECORDED_ONLY)
    check(manager.state)
    journal.close()


def test_the_records_alone_lead_to_the_same_state(directory):
    journal = SqliteJournal(directory)
    identity = StateDirectory(directory).identity()
    manager = ResourceManager(family_of(identity.scheduler).create(identity.types()))
    position = recover(journal.records(), manager.state)
    assert position.sequence == facts(directory)["sequence"]
    assert facts_of(manager.state) == facts(directory, "history", *RECORDED_ONLY)
    journal.close()


@pytest.mark.anyio
async def test_a_server_goes_on_from_there(directory, engine):
    scheduler = StateDirectory(directory).identity().scheduler
    scheduler_settings = SETTINGS[scheduler]
    settings = LiveSettings(
        scheduler=scheduler,
        types=scheduler_settings.types,
        scheduler_settings=msgspec.json.encode(scheduler_settings),
        state_directory=directory,
        stop_containers=True,
    )
    server = LiveServer(settings, lambda settings, path: engine)
    try:
        assert server.service.version == facts(directory)["sequence"]
        await server.start("http://127.0.0.1:1")
        await server.service.ask(
            SubmitApplication("ann", server.service.state.applications[1].queue)
        )
        check(server.service.state)
    finally:
        await server.close()
