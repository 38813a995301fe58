"""A running server's configuration is changed by document: in force at once, kept, or refused."""

import json
import logging
from pathlib import Path

import pytest
from tests.unit.server.capacity_place import QUEUES, P, Place

from fairshare.core.model.inputs import SubmitApplication
from fairshare.errors import FairshareError, InputError
from fairshare.server import mutation, stored_configuration
from fairshare.server.server import LiveServer
from fairshare.settings.configuration_update import Update, read_json

pytestmark = pytest.mark.anyio

FIVE = (
    '{"add-queue":{"queue-name":"root.c","params":{"entry":{"key":"capacity","value":"5"}}},'
    '"update-queue":{"queue-name":"root.b","params":{"entry":{"key":"capacity","value":"35"}}}}'
)


class StoringPlace(Place):
    """With a store of changed properties."""

    def site(self, store: str = "leveldb", **properties: object) -> None:
        kept = {"yarn.scheduler.configuration.store.class": store}
        super().site(**kept, **properties)


@pytest.fixture
def place(tmp_path: Path, engine) -> StoringPlace:
    return StoringPlace(tmp_path, engine)


@pytest.fixture
async def server(place: Place, anyio_backend: str):
    made = await place.start()
    yield made
    await made.close()


def queues(server: LiveServer) -> set[str]:
    return {view.name for view in server.service.views.queues}


async def test_a_change_is_in_force_at_once_and_makes_a_new_version(server):
    assert mutation.version(server) == 1
    outcome = await mutation.update(server, read_json(FIVE), "ann")
    assert (outcome.version, outcome.message) == (2, "Configuration change successfully applied.")
    assert queues(server) == {"root", "root.a", "root.b", "root.c"}
    shown = dict(mutation.current(server))
    assert (shown[f"{P}root.queues"], shown[f"{P}root.b.capacity"]) == ("a,b,c", "35")


async def test_a_change_keeps_what_the_servers_own_file_says_of_tasks_and_of_the_past(place):
    toml = place.conf / "fairshare.toml"
    toml.write_text('[time_limits]\nmaximum_s = 5\n[fairness]\nhalf_life_s = "1h"\n')
    server = await place.start()
    before = server.service.state.settings
    await mutation.update(server, read_json(FIVE), "ann")
    after = server.service.state.settings
    assert after.time_limits["root"].maximum_ms == 5_000
    assert (after.time_limits, after.fairness) == (before.time_limits, before.fairness)
    await server.close()


async def test_a_change_outlives_the_server_and_the_file_counts_no_more(place):
    server = await place.start()
    await mutation.update(server, read_json(FIVE), "ann")
    await server.close()
    place.capacity(**{f"{P}root.queues": "z", f"{P}root.z.capacity": 100})
    server = await place.start()
    assert queues(server) == {"root", "root.a", "root.b", "root.c"}
    assert mutation.version(server) == 2
    await server.configuration.refresh()
    assert "root.z" not in queues(server)
    await server.close()


async def test_a_change_in_memory_is_forgotten_with_the_server(place):
    place.site("memory")
    server = await place.start()
    update = Update(globals=((f"{P}maximum-applications", "7"),))
    await mutation.update(server, update, "ann")
    assert dict(mutation.current(server))[f"{P}maximum-applications"] == "7"
    await server.close()
    server = await place.start()
    assert mutation.version(server) == 1
    assert f"{P}maximum-applications" not in dict(mutation.current(server))
    await server.close()


async def test_a_refused_change_changes_nothing_and_is_logged(server, caplog):
    before = (mutation.current(server), server.service.version)
    bad = FIVE.replace("35", "70")
    logging.getLogger("fairshare.configuration").addHandler(caplog.handler)
    with pytest.raises(InputError) as caught:
        await mutation.update(server, read_json(bad), "ann")
    assert caught.value.code == "configuration-refused"
    assert str(caught.value).startswith(
        "Failed to re-init queues : Illegal capacity sum of 1.35 for children of queue root"
    )
    assert (mutation.current(server), server.service.version) == before
    assert mutation.version(server) == 1
    assert "by ann was refused, and nothing has changed: Failed to re-init" in caplog.text
    assert server.configuration.error is None


async def test_every_bad_value_of_a_change_is_reported(server):
    entries = [{"key": "capacity", "value": "much"}, {"key": "priority", "value": "high"}]
    change = {"update-queue": {"queue-name": "root.a", "params": {"entry": entries}}}
    with pytest.raises(InputError, match=r"'much'(.|\n)*'high'"):
        await mutation.update(server, read_json(json.dumps(change)), "ann")


async def test_a_queue_that_runs_cannot_be_removed_and_a_stopped_one_can(server):
    await server.service.ask(SubmitApplication("ann", "root.b"))
    gone = (
        '{"remove-queue":"root.b","update-queue":{"queue-name":"root.a","params":'
        '{"entry":{"key":"capacity","value":"100"}}}}'
    )
    with pytest.raises(InputError, match=r"not yet in stopped state\. Current State : RUNNING"):
        await mutation.update(server, read_json(gone), "ann")
    with pytest.raises(InputError, match="not yet in stopped state"):
        await mutation.validate(server, read_json(gone))
    assert "root.b" in queues(server)
    await mutation.update(server, read_json(FIVE), "ann")
    stop = (
        '{"update-queue":{"queue-name":"root.c","params":{"entry":'
        '{"key":"state","value":"STOPPED"}}}}'
    )
    await mutation.update(server, read_json(stop), "ann")
    back = (
        '{"remove-queue":"root.c","update-queue":{"queue-name":"root.b","params":'
        '{"entry":{"key":"capacity","value":"40"}}}}'
    )
    await mutation.update(server, read_json(back), "ann")
    assert queues(server) == {"root", "root.a", "root.b"}


async def test_validation_shows_the_result_and_changes_nothing(server):
    version = server.service.version
    shown = dict(await mutation.validate(server, read_json(FIVE)))
    assert shown[f"{P}root.queues"] == "a,b,c"
    assert "root.c" not in queues(server)
    assert (server.service.version, mutation.version(server)) == (version, 1)
    with pytest.raises(InputError, match="Illegal capacity sum"):
        await mutation.validate(server, read_json(FIVE.replace("35", "36")))


async def test_what_cannot_be_kept_is_not_in_force(server, monkeypatch):
    def full(path: Path, content: bytes) -> None:
        raise FairshareError(f"cannot write {path}: No space left on device")

    monkeypatch.setattr(stored_configuration, "write_file", full)
    before = (mutation.current(server), server.service.version)
    with pytest.raises(FairshareError, match="No space left"):
        await mutation.update(server, read_json(FIVE), "ann")
    assert (mutation.current(server), server.service.version) == before
    assert queues(server) == {"root", "root.a", "root.b"}


async def test_the_file_holds_again_after_a_format(place, server):
    await mutation.update(server, read_json(FIVE.replace('"5"', '"0"').replace("35", "40")), "ann")
    stop = Update(globals=((f"{P}root.c.state", "STOPPED"),))
    await mutation.update(server, stop, "ann")
    place.capacity(**{**QUEUES, f"{P}root.a.user-limit-factor": 2})
    outcome = await mutation.format_store(server, "ann")
    assert (outcome.version, outcome.message) == (4, mutation.FORMATTED)
    assert queues(server) == {"root", "root.a", "root.b"}
    assert dict(mutation.current(server))[f"{P}root.a.user-limit-factor"] == "2"


async def test_with_the_file_as_the_store_nothing_can_be_changed(place):
    place.site("file")
    server = await place.start()
    with pytest.raises(InputError, match=r"only supported by MutableConfScheduler") as caught:
        await mutation.update(server, Update(), "ann")
    assert caught.value.code == "not-mutable"
    for ask in (mutation.current, mutation.version):
        with pytest.raises(InputError, match="MutableConfScheduler"):
            ask(server)
    await server.close()


ACCESS = {"yarn.acl.enable": "true", "yarn.admin.acl": "root-of-all"}


async def test_only_administrators_change_it_where_access_is_controlled(place):
    place.site(**ACCESS)
    place.capacity(**QUEUES, **{f"{P}root.acl_administer_queue": "bea"})
    server = await place.start()
    for user in ("eve", "bea"):
        with pytest.raises(InputError, match=f"User {user} is not admin") as caught:
            await mutation.update(server, read_json(FIVE), user)
        assert caught.value.code == "access-denied"
    await mutation.update(server, read_json(FIVE), "root-of-all")
    await server.close()


async def test_administrators_of_a_queue_may_change_it_under_that_policy(place):
    policy = (
        "org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.conf"
        ".QueueAdminConfigurationMutationACLPolicy"
    )
    place.site(**ACCESS, **{"yarn.scheduler.configuration.mutation.acl-policy.class": policy})
    own = {f"{P}root.acl_administer_queue": "bea", f"{P}root.b.acl_administer_queue": "cat"}
    place.capacity(**QUEUES, **own)
    server = await place.start()
    one = '{"update-queue":{"queue-name":"root.b","params":{"entry":%s}}}'
    few = read_json(one % '{"key":"maximum-applications","value":"5"}')
    await mutation.update(server, few, "cat")
    with pytest.raises(InputError, match="not admin of all modified queues"):
        await mutation.update(server, read_json(FIVE), "cat")
    await mutation.update(server, read_json(FIVE), "bea")
    everywhere = read_json('{"global-updates":{"entry":{"key":"a","value":"b"}}}')
    with pytest.raises(InputError, match="not admin of the cluster"):
        await mutation.update(server, everywhere, "bea")
    await server.close()


async def test_another_store_in_the_files_needs_a_restart(place, server):
    place.site("file")
    found = await server.configuration.refresh()
    assert found.needs_restart == ("yarn.scheduler.configuration.store.class",)
    assert (await mutation.update(server, read_json(FIVE), "ann")).version == 2
    assert server.configuration._store.kind == "persistent"


TRAP = (
    '{"update-queue":{"queue-name":"root.a","params":{"entry":'
    '{"key":"user-limit-factor","value":"-7"}}}}'
)


async def test_a_change_is_answered_with_the_traps_that_it_brings_and_no_older_ones(server):
    (expected,) = await mutation.traps_of(server, read_json(TRAP))
    assert expected.rule == "no-applications-per-user"
    assert f"{P}root.a.user-limit-factor" not in mutation.current(server)
    outcome = await mutation.update(server, read_json(TRAP), "ann")
    assert expected in outcome.problems
    later = await mutation.update(server, read_json(FIVE), "ann")
    assert expected not in later.problems
