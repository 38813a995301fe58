"""Logs of applications of Hadoop's clients are copied to where `yarn logs` looks for them, with the
bytes that Hadoop's own writer gives them.
"""

import asyncio
import json
import os
from pathlib import Path

import pytest
from tests.aggregated_logs import CASES, CONTAINER, RECORDED, digest
from tests.unit.yarn.rpc.own.machine import Machine, context, machine
from tests.waiting import until

from fairshare.core.model.inputs import SubmitApplication
from fairshare.core.model.work import Command
from fairshare.settings.nodes import RemoteLogs
from fairshare.yarn.rpc.own.log_aggregation import LogFile, LogPart, OwnLogAggregation

pytestmark = pytest.mark.slow

NAME = "local_8088"


def aggregate(one: Machine, root: Path) -> None:
    remote = RemoteLogs(root, "logs-tfile")
    OwnLogAggregation(one.server, one.engine, remote, "{}:8088".format).start()


def file_of(one: Machine, root: Path, user: str = "ann") -> Path:
    name = one.server.container_names(1)[0].rpartition("_")[0]
    return root / user / "bucket-logs-tfile" / "0001" / f"{name}_0001" / NAME


def status(one: Machine) -> str:
    return one.server.log_aggregation.status(1)


def test_the_logs_of_an_application_are_copied_when_it_is_over(tmp_path: Path) -> None:
    root = tmp_path / "remote"

    async def body() -> None:
        async with machine(tmp_path) as one:
            aggregate(one, root)
            await one.submit(context("echo hello; echo more > $LOG_DIRS/syslog; sleep 0.2"))
            await until(lambda: one.server.service.state.running)
            assert status(one) == "NOT_START"
            await until(lambda: status(one) == "SUCCEEDED")
            content = file_of(one, root).read_bytes()
            for part in (b"ann", b"_000001", b"stdout", b"hello\n", b"syslog", b"more\n"):
                assert part in content
            assert [path.name for path in file_of(one, root).parent.iterdir()] == [NAME]
            assert root.stat().st_mode & 0o7777 == 0o1777
            assert file_of(one, root).stat().st_mode & 0o777 == 0o640
            file_of(one, root).write_bytes(b"kept")
        async with machine(tmp_path) as again:  # looks again, and leaves what is there
            aggregate(again, root)
            await until(lambda: status(again) == "SUCCEEDED")
            assert file_of(again, root).read_bytes() == b"kept"

    asyncio.run(body())


def test_what_ended_without_a_server_is_copied_by_the_next_one(tmp_path: Path) -> None:
    root = tmp_path / "remote"

    async def body() -> None:
        async with machine(tmp_path) as one:
            await one.submit(context("echo hello"))
            await until(lambda: one.server.service.state.applications[1].over)
        async with machine(tmp_path) as again:
            aggregate(again, root)
            await until(lambda: status(again) == "SUCCEEDED")
            assert b"hello\n" in file_of(again, root).read_bytes()

    asyncio.run(body())


def test_a_link_in_the_place_of_a_users_directory_is_not_followed(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    root, other = tmp_path / "remote", tmp_path / "other"
    root.mkdir()
    other.mkdir()
    (root / "ann").symlink_to(other)

    async def body() -> None:
        async with machine(tmp_path) as one:
            aggregate(one, root)
            await one.submit(context("echo hello"))
            await until(lambda: status(one) == "FAILED")
            assert list(other.iterdir()) == []

    asyncio.run(body())
    assert "are not aggregated" in capfd.readouterr().err


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes directories of other accounts")
@pytest.mark.parametrize("below", ["", "logs"])
def test_a_directory_that_another_account_has_made_first_where_all_can_is_not_used(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], below: str
) -> None:
    common = tmp_path / "tmp"
    taken = common / "hadoop"
    taken.mkdir(parents=True)
    common.chmod(0o1777)
    os.chown(taken, 4001, 4001)
    root = taken / below

    async def body() -> None:
        async with machine(tmp_path) as one:
            aggregate(one, root)
            await one.submit(context("echo hello"))
            await until(lambda: status(one) == "FAILED")
            assert list(taken.iterdir()) == []

    asyncio.run(body())
    assert "is of another account, which could change all in it" in capfd.readouterr().err


def test_commands_of_our_own_clients_are_not_copied(tmp_path: Path) -> None:
    root = tmp_path / "remote"

    async def body() -> None:
        async with machine(tmp_path) as one:
            aggregate(one, root)
            await one.server.service.ask(
                SubmitApplication("ann", "root.default", master=(128, 1), driver=Command(("true",)))
            )
            await until(lambda: one.server.service.state.applications[1].over)
            await asyncio.sleep(0)
            assert not root.exists()

    asyncio.run(body())


@pytest.mark.parametrize("name", CASES)
def test_a_file_is_the_one_that_hadoop_writes(name: str) -> None:
    recorded = json.loads(RECORDED.read_bytes())
    case, content = CASES[name], bytearray()
    acls = {"VIEW_APP": case.view_acl} if case.view_acl else {}
    file = LogFile(content.extend, recorded["user"], acls)
    for number, logs in enumerate(case.containers, 1):
        parts = [LogPart(log, len(text), [text]) for log, text in logs.items()]
        file.add(CONTAINER.format(number), parts)
    file.close()
    assert digest(bytes(content)) == recorded["files"][name]
