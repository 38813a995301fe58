"""The questions to the process beside a server: shares of callers, bounds, and its end."""

import asyncio
import contextlib
from pathlib import Path

import pytest
from tests.waiting import until

from fairshare.errors import InputError
from fairshare.runtime.recovery import Position
from fairshare.server.follower import Follower, Prove

pytestmark = pytest.mark.anyio
ROOT = Path(__file__).parents[3]


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture
async def follower(tmp_path, monkeypatch):
    monkeypatch.setattr("fairshare.server.follower.PROGRAM", "tests.unit.server.slow_program")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    made = Follower(tmp_path, Position, lambda: 0)
    yield made
    await made.close()


async def ask(follower, caller, number):
    return await follower.ask(caller, Prove(number), int)


async def test_the_flood_of_one_caller_does_not_hold_up_another(follower, tmp_path):
    first = asyncio.create_task(ask(follower, "ann", 1))
    await until((tmp_path / "asked-1").exists)
    second = asyncio.create_task(ask(follower, "ann", 2))
    await asyncio.sleep(0)
    for number in range(3, 20):
        with pytest.raises(InputError, match="another question of yours") as refused:
            await ask(follower, "ann", number)
        assert refused.value.code == "too-many-questions"
    (tmp_path / "100").touch()
    assert await ask(follower, "bob", 100) == 100
    assert not (tmp_path / "asked-2").exists()  # one of each caller at a time
    (tmp_path / "1").touch()
    (tmp_path / "2").touch()
    assert [await first, await second] == [1, 2]


async def test_two_questions_are_answered_at_once_and_a_third_one_waits(follower, tmp_path):
    asked = [asyncio.create_task(ask(follower, f"user{one}", one)) for one in (1, 2, 3)]
    await until(lambda: (tmp_path / "asked-1").exists() and (tmp_path / "asked-2").exists())
    (tmp_path / "3").touch()
    assert not asked[2].done()
    (tmp_path / "1").touch()
    assert await asked[2] == 3
    (tmp_path / "2").touch()
    assert [await one for one in asked] == [1, 2, 3]


async def test_a_question_is_searched_to_its_end_though_its_caller_waits_no_longer(
    follower, tmp_path
):
    busy = [asyncio.create_task(ask(follower, caller, n)) for n, caller in enumerate("ab", 1)]
    await until(lambda: (tmp_path / "asked-1").exists() and (tmp_path / "asked-2").exists())
    waits = asyncio.create_task(ask(follower, "carol", 3))
    await asyncio.sleep(0)
    waits.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await waits
    for number in (1, 2, 3):
        (tmp_path / str(number)).touch()
    assert await ask(follower, "carol", 3) == 3
    assert [await one for one in busy] == [1, 2]


async def test_a_process_that_ends_is_started_by_the_next_question(follower, tmp_path):
    with pytest.raises(InputError, match="has ended: ask again") as refused:
        await ask(follower, "ann", 666)
    assert refused.value.code == "no-answer"
    (tmp_path / "1").touch()
    await until(lambda: follower.pid is None)
    assert await ask(follower, "ann", 1) == 1


async def test_no_more_wait_than_there_is_room_for(follower, tmp_path, monkeypatch):
    monkeypatch.setattr("fairshare.server.follower.MOST_WAITING", 3)
    asked = [asyncio.create_task(ask(follower, f"user{one}", one)) for one in range(5)]
    await until(lambda: (tmp_path / "asked-0").exists() and (tmp_path / "asked-1").exists())
    with pytest.raises(InputError, match="questions of others wait"):
        await ask(follower, "ann", 5)
    for number in range(5):
        (tmp_path / str(number)).touch()
    assert [await one for one in asked] == [0, 1, 2, 3, 4]


async def test_a_server_that_stops_answers_no_more(follower):
    await follower.close()
    with pytest.raises(InputError) as refused:
        await ask(follower, "ann", 1)
    assert refused.value.code == "stopping"


async def test_a_question_without_an_answer_is_refused_when_the_server_stops(follower, tmp_path):
    asked = asyncio.create_task(ask(follower, "ann", 1))
    await until((tmp_path / "asked-1").exists)
    await follower.close()
    with pytest.raises(InputError) as refused:
        await asked
    assert refused.value.code == "stopping"


async def test_a_process_that_complains_all_the_time_still_answers(follower, tmp_path):
    """A pipe has room for 64 kB: one that is not read makes the writer wait."""
    (tmp_path / "complains").touch()
    (tmp_path / "1").touch()
    async with asyncio.timeout(20):
        assert await ask(follower, "ann", 1) == 1
