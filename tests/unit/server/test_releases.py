"""State directories of earlier releases are read by this one.

`tests/data/release-*` has journals as servers of these releases left them in the middle of their
work: a snapshot, and records behind it. `facts.json` is what those servers showed last. Snapshots
of `release-0.1.0` and of `release-with-pickles` (the last one before they were data) are pickles;
those of `release-before-attempts` have an application and its attempt as one object.
Where a class, a field or a tag is renamed, these tests say what has to be in `runtime/stored.py`,
`projections/stored.py` or `model/tags.py`.
"""

import json
import shutil
from pathlib import Path

import pytest

from fairshare.families.registry import family_of
from fairshare.journal.protocol import Snapshot
from fairshare.journal.sqlite import SqliteJournal
from fairshare.manager.resource_manager import ResourceManager
from fairshare.model.inputs import SubmitApplication
from fairshare.model.invariants import check
from fairshare.model.state import ClusterState
from fairshare.projections.container_history import ContainerHistory
from fairshare.projections.projections import Projections
from fairshare.runtime import snapshot
from fairshare.runtime.recovery import recover
from fairshare.runtime.snapshot import thaw
from fairshare.server.retention import restore
from fairshare.server.server import LiveServer
from fairshare.server.settings import Overrides, read_settings
from fairshare.server.state_directory import StateDirectory

DATA = Path(__file__).parents[2] / "data"
RELEASES = [
    pytest.param(place, id=f"{place.parent.name}-{place.name}")
    for place in sorted(DATA.glob("release-*/*"))
]


@pytest.fixture(params=RELEASES)
def release(request, tmp_path) -> Path:
    place = tmp_path / "release"
    shutil.copytree(request.param, place)
    return place


def reported(state: ClusterState, history: ContainerHistory | None = None) -> dict[str, object]:
    """What `facts.json` has."""
    return {
        "applications": {
            str(one.id): [
                one.user,
                one.queue,
                one.submission.name,
                str(one.state),
                len(one.containers),
                list(one.used),
            ]
            for one in state.applications.values()
        },
        "used": list(state.used),
        "nodes": {node.name: list(node.available) for node in state.nodes.values()},
        **(
            {}
            if history is None
            else {
                "history": {
                    str(number): len(history.application(number).containers)
                    for number in state.applications
                }
            }
        ),
    }


def facts(release: Path, *without: str) -> dict[str, object]:
    found = json.loads((release / "facts.json").read_text())
    return {key: value for key, value in found.items() if key not in without}


def test_the_snapshot_is_read_and_what_followed_is_applied(release):
    journal = SqliteJournal(release)
    position, parts = restore(journal)
    assert position.sequence == facts(release)["snapshots"][-1]
    manager = parts["manager"]
    projections = Projections(manager.state.types, parts)
    assert projections.history is parts["history"]
    for record in journal.records(position.sequence):
        recover([record], manager.state, position)
        projections.observe(record, manager.scheduler)
    assert reported(manager.state, projections.history) == facts(release, "sequence", "snapshots")
    check(manager.state)
    journal.close()


def test_the_records_alone_say_the_same(release):
    journal = SqliteJournal(release)
    types = StateDirectory(release).identity().types()
    manager = ResourceManager(family_of(release_scheduler(release)).create(types))
    position = recover(journal.records(), manager.state)
    assert position.sequence == facts(release)["sequence"]
    assert reported(manager.state) == facts(release, "sequence", "snapshots", "history")
    journal.close()


def test_applications_that_had_containers_have_begun(release):
    journal = SqliteJournal(release)
    _, parts = restore(journal)
    applications = parts["manager"].state.applications.values()
    had_some = [one for one in applications if one.containers_allocated]
    assert had_some
    assert all(one.began_ms >= one.submitted_ms > 0 for one in had_some)
    assert all(not one.began_ms for one in applications if one not in had_some)
    journal.close()


def test_applications_and_their_attempts_are_apart(release):
    journal = SqliteJournal(release)
    _, parts = restore(journal)
    state = parts["manager"].state
    for number, application in state.applications.items():
        attempt = application.attempt
        assert (application.id, attempt.id, attempt.application) == (number, number, application)
        assert attempt.active == (not application.over)
        assert state.attempts.get(number) is (attempt if attempt.active else None)
        if attempt.active:
            assert attempt.number >= 1
            assert state.ancestry(application.queue)[0].attempts[number] is attempt
    journal.close()


def release_scheduler(release: Path) -> str:
    return json.loads((release / "cluster.json").read_text())["scheduler"]


@pytest.mark.anyio
async def test_a_server_goes_on_from_there(release, engine):
    overrides = Overrides(port=0, state_directory=release, stop_containers=True)
    settings = read_settings(release / "conf", overrides)
    server = LiveServer(settings, lambda settings, path: engine)
    try:
        before = facts(release)
        assert server.service.version == before["sequence"]
        await server.start("http://127.0.0.1:1")
        state = server.service.state
        queue = state.applications[max(state.applications)].queue
        await server.service.ask(SubmitApplication("ann", queue))
        check(server.service.state)
        server._retention.save()
    finally:
        await server.close()
    journal = SqliteJournal(release, read_only=True)
    kept = journal.snapshot(journal.snapshots()[-1])
    assert isinstance(kept, Snapshot)
    assert kept.layout == snapshot.FORM
    assert reported(thaw(kept)["manager"].state)
    journal.close()
