"""Under the accounts of their users, containers share a directory of the account, and outputs and
logs are read and written with its rights."""

import asyncio
import os
import pwd
import sys
from pathlib import Path

import pytest
from tests.shuffle_requests import REQUESTS, write_outputs
from tests.unit.yarn.rpc.own.machine import context, machine
from tests.unit.yarn.rpc.own.test_log_aggregation import aggregate, file_of, status
from tests.unit.yarn.rpc.own.test_shuffle import job
from tests.waiting import until

import fairshare
from fairshare.core.model.inputs import KillApplication
from fairshare.engines.rights import Rights, acting_as, closed_program

ACCOUNT = "daemon"

SYSTEM_PYTHON = Path("/usr/bin/python3")
SOURCE = Path(fairshare.__file__).parents[1]

needs_root = pytest.mark.skipif(
    os.geteuid() != 0 or ACCOUNT not in {entry.pw_name for entry in pwd.getpwall()},
    reason="only root can switch to another account",
)


@pytest.fixture(autouse=True)
def open_program(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where accounts cannot run the interpreter of the tests, containers have the system's."""
    if not closed_program():
        return
    try:
        with acting_as(Rights(1, 1)):
            for file in (SYSTEM_PYTHON, SOURCE / "fairshare/wording.py"):
                file.open("rb").close()
    except OSError:
        pytest.skip("accounts can run no interpreter here")
    program = place / "python"
    program.write_text(f'#!/bin/sh\nPYTHONPATH={SOURCE} exec {SYSTEM_PYTHON} "$@"\n')
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))


@needs_root
def test_outputs_of_an_account_are_sent_and_deleted(place: Path) -> None:
    entry = pwd.getpwnam(ACCOUNT)

    async def body() -> None:
        async with machine(place, account=ACCOUNT) as one, job(one) as asked:
            assert asked.folder.stat().st_uid == entry.pw_uid
            assert asked.folder.stat().st_mode & 0o777 == 0o700
            with acting_as(Rights(entry.pw_uid, entry.pw_gid)):
                write_outputs(asked.folder / "output")
            assert (await asked.ask(REQUESTS["several maps"])).status == 200
            await one.server.service.ask(KillApplication(1))
            await until(lambda: not asked.folder.exists())

    asyncio.run(body())


@needs_root
def test_a_container_can_use_the_directory_of_its_application(place: Path) -> None:
    async def body() -> None:
        async with machine(place, account=ACCOUNT) as one:
            await one.submit(context("touch \\$LOCAL_DIRS/x && exec sleep 60"))
            await until(lambda: one.server.service.state.running)
            name, _ = one.server.container_names(next(iter(one.containers)))
            made = one.engine.shared_directory(name) / "x"
            await until(made.exists)
            assert made.owner() == ACCOUNT

    asyncio.run(body())


@needs_root
def test_logs_are_aggregated_by_the_account(place: Path) -> None:
    root = place / "remote"

    async def body() -> None:
        async with machine(place, account=ACCOUNT) as one:
            aggregate(one, root)
            await one.submit(context("echo hello; echo more > \\$LOG_DIRS/syslog"))
            await until(lambda: status(one) == "SUCCEEDED")
            file = file_of(one, root, ACCOUNT)
            content = file.read_bytes()
            assert b"hello\n" in content
            assert b"more\n" in content
            above = [file, *file.parents[: len(file.relative_to(root).parts) - 1]]
            assert {path.owner() for path in above} == {ACCOUNT}
            assert root.owner() == "root"

    asyncio.run(body())
