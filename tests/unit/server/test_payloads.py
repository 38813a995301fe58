"""The files of Python calls: there before the record, gone with the application."""

import hashlib

import msgspec
import pytest
from click.testing import CliRunner
from tests.waiting import until_state

from fairshare.cli.verbs import fairshare as command_line
from fairshare.core.model.inputs import KillApplication, SubmitApplication
from fairshare.core.model.work import Command, Payload, TaskGroup
from fairshare.errors import InputError
from fairshare.server.payloads import Payloads
from fairshare.server.server import LiveServer

from .test_server import launched, restarted

pytestmark = pytest.mark.anyio

CALL = b"a pickled call" * 1_000
DIGEST = hashlib.sha256(CALL).hexdigest()


def with_call(content=CALL, queue="default"):
    groups = (TaskGroup("t", 1, (512, 1), Command(callable=content)),)
    return SubmitApplication("ann", queue, tasks=groups)


async def submit(server, given):
    async with server.payloads.of_submission(given) as wanted:
        return await server.service.ask(wanted)


def files(server_or_path):
    path = getattr(server_or_path, "directory", server_or_path)
    folder = getattr(path, "path", path) / "payloads"
    return {one.name for one in folder.rglob("*") if one.is_file()} if folder.exists() else set()


async def test_a_call_is_in_a_file_and_neither_in_the_journal_nor_in_a_snapshot(server, engine):
    await submit(server, with_call())
    (container,) = await launched(server, engine)
    payload = engine.orders[container].command.payload
    assert payload == Payload(DIGEST, len(CALL))
    assert (server.directory.path / payload.file).read_bytes() == CALL
    server.retention.save()
    for path in server.directory.path.glob("journal.sqlite3*"):
        assert CALL not in path.read_bytes()
    command = server.service.state.applications[1].submission.tasks[0].command
    assert command.callable == b""


async def test_a_file_goes_when_the_last_application_that_needs_it_is_over(server, engine):
    await submit(server, with_call())
    await submit(server, with_call())
    first, _ = await launched(server, engine, 2)
    assert files(server) == {DIGEST}
    engine.end(first)
    await until_state(server, lambda: server.service.state.applications[1].over)
    assert files(server) == {DIGEST}
    await server.service.ask(KillApplication(2, "ann"))
    await until_state(server, lambda: server.service.state.applications[2].over)
    assert files(server) == set()
    assert engine.forgotten == [DIGEST]


async def test_variables_that_are_not_recorded_survive_a_restart_and_go_with_the_application(
    settings, engine
):
    private = b'{"SECRET":"pass-23-word"}'
    command = Command(("true",), callable=b"", private=private)
    tasks = (TaskGroup("t", 1, (512, 1), command),)
    server = LiveServer(settings, lambda settings, path: engine)
    await server.start("http://127.0.0.1:1")
    await submit(server, SubmitApplication("ann", "default", tasks=tasks))
    (container,) = await launched(server, engine)
    variables = engine.orders[container].command.variables
    server.retention.save()
    await server.close()
    for path in server.directory.path.glob("journal.sqlite3*"):
        assert private not in path.read_bytes()
    server = await restarted(settings, engine)
    try:
        assert (server.directory.path / variables.file).read_bytes() == private
        await server.service.ask(KillApplication(1, "ann"))
        await until_state(server, lambda: server.service.state.applications[1].over)
        assert files(server) == set()
    finally:
        await server.close()


async def test_what_is_refused_leaves_no_file(server):
    await submit(server, with_call(queue="root"))
    assert files(server) == set()


async def test_a_start_deletes_unreferenced_payloads_and_keeps_the_needed_ones(settings, engine):
    server = LiveServer(settings, lambda settings, path: engine)
    await server.start("http://127.0.0.1:1")
    await submit(server, with_call())
    await launched(server, engine)
    await server.close()
    # Killed between the file and the record, or while it wrote.
    folder = server.directory.path / "payloads"
    (folder / "ffff").write_bytes(b"written, and never recorded")
    (folder / f"{DIGEST}.abc").write_bytes(b"half")
    server = await restarted(settings, engine)
    try:
        assert files(server) == {DIGEST}
        await server.service.ask(KillApplication(1, "ann"))
        await until_state(server, lambda: server.service.state.applications[1].over)
        assert files(server) == set()
    finally:
        await server.close()


async def test_a_call_that_cannot_be_written_is_refused_and_nothing_is_recorded(server):
    (server.directory.path / "payloads").touch()  # in the place of the folder
    with pytest.raises(InputError, match="nothing was recorded") as caught:
        await submit(server, with_call())
    assert caught.value.code == "disk-full"
    assert not server.service.state.applications


async def test_a_disk_that_is_nearly_full_takes_no_call(tmp_path):
    payloads = Payloads(tmp_path, (), lambda: "nearly full")
    with pytest.raises(InputError, match="nearly full"):
        async with payloads.of_command(Command(callable=b"call")):
            pass
    async with payloads.of_command(Command(("true",))) as command:
        assert command == Command(("true",))


async def test_a_backup_has_the_calls_that_are_still_needed(server, engine, settings, tmp_path):
    await submit(server, with_call())
    await launched(server, engine)
    target = tmp_path / "copy"
    arguments = ["backup", str(target), "--state", str(server.directory.path)]
    done = CliRunner().invoke(command_line, arguments)
    assert done.exit_code == 0, done.output
    assert files(target) == {DIGEST}
    other = LiveServer(
        msgspec.structs.replace(settings, state_directory=target), lambda settings, path: engine
    )
    assert files(other) == {DIGEST}
    await other.close()
