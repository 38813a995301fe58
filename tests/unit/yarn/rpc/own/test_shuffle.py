"""Reduces fetch the outputs of maps from this machine as from Hadoop's shuffle service, whose
answers were recorded by `python -m tests.hadoop.shuffle`."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.shuffle_requests import (
    ANSWERS,
    MAPS,
    REQUESTS,
    SECRET,
    Answer,
    Request,
    ask,
    write_outputs,
)
from tests.unit.yarn.rpc.own.machine import Machine, context, machine
from tests.waiting import until

from fairshare.core.model.inputs import KillApplication, MasterRegistered
from fairshare.settings.limits import LimitSettings
from fairshare.yarn.rpc.wire.tokens import Token, write_token

pytestmark = pytest.mark.slow

RECORDED = msgspec.json.decode(ANSWERS.read_bytes())
SERVICE_DATA = bytes.fromhex(RECORDED["service_data"])

DIFFERENT = {
    "a map whose index has a negative length": (
        "the length of Hadoop's answer is less than what it has already sent"
    )
}


class Job:
    """A job with the secret of the recordings, whose maps have ended."""

    def __init__(self, one: Machine, port: int) -> None:
        self.machine = one
        self.port = port
        self.name, _ = one.server.container_names(next(iter(one.containers)))
        self.folder = one.engine.shared_directory(self.name)

    async def ask(self, request: Request) -> Answer:
        job = self.name.replace("application", "job")
        return await asyncio.to_thread(ask, self.port, request, job)


def with_secret(data: bytes) -> Any:
    """A launch context of a map or a reduce."""
    started = context("exec sleep 60")
    started.service_data.add(key="mapreduce_shuffle", value=data)
    return started


@asynccontextmanager
async def job(
    one: Machine, data: bytes = bytes.fromhex(RECORDED["service_data"])
) -> AsyncIterator[Job]:
    await one.submit(context("exec sleep 60"))
    await until(lambda: one.server.service.state.running)
    await one.server.service.ask(MasterRegistered(1))
    granted = await one.granted()
    answer = await one.start(granted, with_secret(data))
    assert not answer.failed_requests
    (metadata,) = answer.services_meta_data
    assert metadata.key == "mapreduce_shuffle"
    yield Job(one, int.from_bytes(metadata.value))


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Answer]:
    """What our service answers to all requests."""

    async def body() -> dict[str, Answer]:
        async with machine(tmp_path_factory.mktemp("shuffle")) as one, job(one) as asked:
            await asyncio.to_thread(write_outputs, asked.folder / "output")
            return {name: await asked.ask(request) for name, request in REQUESTS.items()}

    return asyncio.run(body())


@pytest.mark.parametrize("name", [name for name in REQUESTS if name not in DIFFERENT])
def test_a_request_is_answered_as_by_hadoop(name: str, answers: dict[str, Answer]) -> None:
    real = msgspec.convert(RECORDED["answers"][name], Answer)
    ours = answers[name]
    assert (ours.status, ours.closed) == (real.status, real.closed)
    if real.body.endswith("null"):  # Java's null, where we say more
        assert ours.body.startswith(real.body.removesuffix("null"))
    else:
        assert ours.body == real.body
    if real.status != 200:
        del real.headers["content-length"]
    assert {name: ours.headers.get(name) for name in real.headers} == real.headers


def test_an_index_with_a_negative_length_is_refused(answers: dict[str, Answer]) -> None:
    answer = answers["a map whose index has a negative length"]
    assert answer.status == 500
    assert "has a negative number" in answer.body


def test_a_service_that_starts_again_knows_port_and_secret(tmp_path: Path) -> None:
    async def body() -> None:
        async with machine(tmp_path, stop_containers=False) as one, job(one) as asked:
            await asyncio.to_thread(write_outputs, asked.folder / "output")
            assert (await asked.ask(REQUESTS["several maps"])).status == 200
        async with machine(tmp_path) as one:
            again = Job(one, asked.port)
            assert (await again.ask(REQUESTS["several maps"])).status == 200
            await one.server.service.ask(KillApplication(1))
            await until(lambda: not again.folder.exists())
            assert (await again.ask(REQUESTS["several maps"])).status == 401

    asyncio.run(body())


def test_what_an_application_left_that_ended_without_a_server_is_deleted(tmp_path: Path) -> None:
    async def body() -> None:
        async with machine(tmp_path):
            pass
        left = tmp_path / "state/appcache/application_5_0001/output"
        left.mkdir(parents=True)
        secret = tmp_path / "state/hadoop-jobs/application_5_0001"
        secret.write_bytes(SECRET)
        async with machine(tmp_path):
            await until(lambda: not left.exists())
            assert not secret.exists()

    asyncio.run(body())


@pytest.mark.parametrize("data", [b"", b"x", write_token(Token(b"", b"", "kind"))])
def test_a_container_without_the_token_of_a_job_is_refused(tmp_path: Path, data: bytes) -> None:
    async def body() -> None:
        async with machine(tmp_path) as one, job(one):
            answer = await one.start(await one.granted(), with_secret(data))
            (failed,) = answer.failed_requests
            assert "token of a job" in failed.exception.message

    asyncio.run(body())


@pytest.mark.parametrize("make", [Path.mkdir, lambda path: path.symlink_to("/etc/passwd")])
def test_a_directory_or_a_link_in_the_place_of_an_output_is_not_sent(
    tmp_path: Path, make: Callable[[Path], object]
) -> None:
    async def body() -> None:
        async with machine(tmp_path) as one, job(one) as asked:
            await asyncio.to_thread(write_outputs, asked.folder / "output")
            file = asked.folder / "output" / MAPS[0] / "file.out"
            file.unlink()
            make(file)
            answer = await asked.ask(REQUESTS["one map"])
            assert (answer.status, answer.closed) == (500, True)

    asyncio.run(body())


def test_a_large_part_is_sent_whole(tmp_path: Path) -> None:
    async def body() -> None:
        async with machine(tmp_path) as one, job(one) as asked:
            content = bytes(range(256)) * 10_000
            await asyncio.to_thread(write_outputs, asked.folder / "output", content)
            answer = await asked.ask(REQUESTS["one map"])
            assert answer.body.encode("latin-1").endswith(content)
            assert int(answer.headers["content-length"]) == len(answer.body)

    asyncio.run(body())


def test_only_so_many_maps_are_sent_at_once(tmp_path: Path) -> None:
    async def body() -> None:
        async with machine(tmp_path) as one, job(one) as asked:
            answer = await asked.ask(Request(f"job={{job}}&reduce=0&map={',' * 1_000}"))
            assert answer.status == 400
            assert answer.body == "1,001 maps in one request; 1000 are possible"

    asyncio.run(body())


def test_a_reduce_that_finds_all_connections_taken_is_asked_to_wait(tmp_path: Path) -> None:
    limits = LimitSettings(connections=10, connections_per_address=10)

    async def body() -> None:
        async with machine(tmp_path, limits=limits) as one, job(one) as asked:
            await asyncio.to_thread(write_outputs, asked.folder / "output")
            with contextlib.ExitStack() as opened:
                for _ in range(10):
                    silent = socket.create_connection(("127.0.0.1", asked.port))
                    opened.enter_context(silent)
                    await asyncio.sleep(0)
                answer = await asked.ask(REQUESTS["one map"])
            assert (answer.status, answer.headers["retry-after"]) == (429, "1000")

    asyncio.run(body())
