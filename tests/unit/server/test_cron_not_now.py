"""A run of a cron job that cannot be submitted now is tried again, and not lost."""

import asyncio
import contextlib
import time

import pytest

from fairshare.api.work import Submission
from fairshare.errors import InputError
from fairshare.server.cron import cron as module
from fairshare.server.cron.cron import Cron
from fairshare.server.cron.store import Job

pytestmark = pytest.mark.anyio


class NoApplications:
    epoch_ms = 1
    next_application = 1

    def __init__(self) -> None:
        self.applications: dict[int, object] = {}


def due_job(user: str) -> Job:
    return Job(
        user=user,
        name="nightly",
        schedule="0 0 1 1 *",
        time_zone="UTC",
        overlap="skip",
        submission=Submission(),
        created_ms=0,
        next_ms=1,
    )


@contextlib.asynccontextmanager
async def watched(cron: Cron, submit):
    """A job that is due, while its runs are submitted."""
    watching = asyncio.create_task(cron.watch())
    job = due_job("ann")
    cron.connect(submit, None)
    await cron.add(job, replace=False)
    yield job
    watching.cancel()
    await asyncio.gather(watching, return_exceptions=True)
    await cron.close()


async def outcomes(cron: Cron, job: Job, wanted: list[str]) -> list[str]:
    """The outcomes of the runs, the newest first, once they are those."""
    async with asyncio.timeout(30):
        while (found := [str(run.outcome) for run in await cron.runs(job)]) != wanted:
            await asyncio.sleep(0.01)
    return found


@pytest.mark.parametrize("code", ["disk-full", "accounts-unavailable", "busy"])
async def test_a_run_that_is_refused_for_a_cause_of_the_server_is_tried_again(
    tmp_path, monkeypatch, code
):
    monkeypatch.setattr(module, "RETRY_S", 0.02)
    answers = [InputError(code, "not now"), InputError(code, "not now"), 7]

    async def submit(job: Job) -> int:
        answer = answers.pop(0)
        if isinstance(answer, InputError):
            raise answer
        return answer

    cron = Cron(tmp_path, NoApplications(), lambda: int(1_000 * time.monotonic()))
    async with watched(cron, submit) as job:
        assert await outcomes(cron, job, ["submitted"])
        assert answers == []


async def test_a_run_is_tried_again_whose_time_has_come_before_its_refusal_is_written(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(module, "RETRY_S", 0.0)
    answers = [InputError("busy", "not now"), InputError("busy", "not now"), 7]

    async def submit(job: Job) -> int:
        answer = answers.pop(0)
        if isinstance(answer, InputError):
            raise answer
        return answer

    cron = Cron(tmp_path, NoApplications(), lambda: 10_000)
    async with watched(cron, submit) as job:
        assert await outcomes(cron, job, ["submitted"])


async def test_a_job_that_is_refused_again_and_again_does_not_hold_up_those_of_others(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(module, "RETRY_S", 0.02)
    refused = set()

    async def submit(job: Job) -> int:
        if job.user == "ann" or job.user not in refused:
            refused.add(job.user)
            raise InputError("groups-unavailable", f"the groups of {job.user} are not known now")
        return 7

    cron = Cron(tmp_path, NoApplications(), lambda: int(1_000 * time.monotonic()))
    async with watched(cron, submit):
        job = due_job("bob")
        await cron.add(job, replace=False)
        assert await outcomes(cron, job, ["submitted"])


async def test_a_run_that_is_refused_for_good_is_not(tmp_path):
    async def submit(job: Job) -> int:
        raise InputError("no-account", "there is no account")

    cron = Cron(tmp_path, NoApplications(), lambda: 10_000)
    async with watched(cron, submit) as job:
        assert await outcomes(cron, job, ["refused"])
