"""The single writer: order, answers after the commit, sleep, failure."""

import asyncio
import itertools
import threading

import pytest

from fairshare.core.model.events import Event, RequestRefused
from fairshare.core.model.inputs import KillApplication, NodeBeat, NodeLost, TidyQueues
from fairshare.errors import InputError, JournalError
from fairshare.runtime.journal.sqlite import DiskFullError
from fairshare.runtime.projections.container_history import ContainerHistory
from fairshare.runtime.runtime import Runtime
from fairshare.server import inbox
from fairshare.server import service as service_module
from fairshare.server.service import Service

pytestmark = pytest.mark.anyio


class Clock:
    """The test's own clock."""

    def __init__(self) -> None:
        self.time_ms = 1_000

    def now_ms(self) -> int:
        return self.time_ms


class PlainRuntime:
    """What a service needs of a runtime; answers each input with one event that names it."""

    def __init__(self) -> None:
        self.batches: list[list[object]] = []
        self.committed = 0
        self.deadline_ms: int | None = None
        self.turns = 0
        self.failure: Exception | None = None
        self.on_turn = lambda: None
        self.slices = 0  # turns that it takes to settle what comes next
        self.enough = lambda: True

    @property
    def unsettled(self):
        return self.slices > 0

    @property
    def position(self):
        return type("Position", (), {"sequence": self.committed})

    def next_deadline_ms(self):
        return self.deadline_ms

    def turn(self, now_ms, inputs, enough):
        self.turns += 1
        self.enough = enough
        self.slices = max(0, self.slices - 1)
        self.on_turn()
        if self.failure is not None:
            raise self.failure
        if inputs:
            self.batches.append(list(inputs))
            self.committed += 1
        steps: list[tuple[object, tuple[Event, ...]]] = []
        for given in inputs:
            if isinstance(given, KillApplication):
                steps.append((given, (RequestRefused(given.application, "no", "because"),)))
            else:
                steps.append((given, ()))
        return [*steps, (NodeBeat("what the runtime fed itself"), ())]


@pytest.fixture
def runtime():
    return PlainRuntime()


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
async def service(runtime, clock, anyio_backend):
    made = Service(runtime, clock, ContainerHistory())
    made.start()
    yield made
    await made.stop()


async def test_what_waits_together_is_one_batch_in_the_order_of_the_calls(service, runtime):
    await asyncio.gather(*(service.ask(NodeBeat(str(n))) for n in range(5)))
    assert runtime.batches == [[NodeBeat(str(n)) for n in range(5)]]


async def test_a_caller_is_answered_after_the_commit_of_its_batch(service, runtime):
    answered = asyncio.create_task(service.ask(NodeBeat("a")))
    runtime.on_turn = lambda: seen.append(answered.done())
    seen: list[bool] = []
    await answered
    assert seen == [False]
    assert runtime.committed == 1


async def test_a_refusal_is_raised_with_its_code_for_its_caller(service):
    results = await asyncio.gather(
        service.ask(KillApplication(3)), service.ask(NodeBeat("b")), return_exceptions=True
    )
    assert isinstance(results[0], InputError)
    assert (results[0].code, str(results[0])) == ("no", "because")
    assert results[1] == ()


async def test_on_a_full_disk_all_wait_until_there_is_room(service, runtime, monkeypatch):
    monkeypatch.setattr(service_module, "_ROOM_S", 0.001)
    service.room_problem = lambda: "the disk is full"
    service.before_turn = lambda: None
    tries = []

    def finish():
        tries.append(None)
        if len(tries) < 3:
            raise DiskFullError("the disk is full")
        with pytest.raises(InputError, match="the disk is full"):
            service._check_accepts((KillApplication(1),))
        return [(NodeBeat("a"), ())]

    runtime.finish = finish
    runtime.failure = DiskFullError("the disk is full")
    assert await service.ask(NodeBeat("a")) == ()
    runtime.failure = None
    assert len(tries) == 3
    assert service.failure is None
    assert await service.ask(NodeBeat("b")) == ()


async def test_a_service_that_stops_does_not_wait_for_room(service, runtime, monkeypatch):
    monkeypatch.setattr(service_module, "_ROOM_S", 0.001)
    service.room_problem = lambda: "the disk is full"
    runtime.finish = lambda: runtime.turn(0, (), None)
    runtime.failure = DiskFullError("the disk is full")
    asked = asyncio.create_task(service.ask(NodeBeat("a")))
    await asyncio.sleep(0.01)
    await service.stop()
    with pytest.raises(InputError, match="nothing was recorded"):
        await asked
    assert isinstance(service.failure, DiskFullError)


async def test_a_journal_that_cannot_grow_though_there_is_room_ends_the_service(service, runtime):
    runtime.failure = DiskFullError("the disk is full")
    with pytest.raises(InputError, match="nothing was recorded"):
        await service.ask(NodeBeat("a"))
    assert isinstance(service.failure, DiskFullError)


async def test_reports_come_in_from_another_thread(service, runtime):
    await asyncio.to_thread(service.report, NodeLost("n1"))
    version = await service.changed(0, 5.0)
    assert version == 1
    assert runtime.batches == [[NodeLost("n1")]]


async def test_a_caller_that_went_away_does_no_harm(service, runtime):
    task = asyncio.create_task(service.ask(NodeBeat("a")))
    await asyncio.sleep(0)
    task.cancel()
    await service.ask(NodeBeat("b"))
    assert runtime.batches == [[NodeBeat("a"), NodeBeat("b")]]


async def test_calls_of_one_batch_are_bounded_and_the_rest_follows(service, runtime, monkeypatch):
    monkeypatch.setattr(inbox, "MAX_CALLS", 2)
    await asyncio.gather(*(service.ask(NodeBeat(str(n))) for n in range(5)))
    assert [len(batch) for batch in runtime.batches] == [2, 2, 1]


async def test_a_call_is_answered_before_the_last_report_of_a_burst(service, runtime, monkeypatch):
    monkeypatch.setattr(inbox, "MAX_BATCH", 2)
    service.observe(NodeBeat(str(number)) for number in range(5))
    await service.ask(TidyQueues())
    assert runtime.batches == [[NodeBeat("0"), NodeBeat("1"), TidyQueues()]]


async def test_reports_of_a_thread_wake_the_loop_once_and_keep_their_order(service, runtime):
    def report_all() -> None:
        for number in range(50):
            service.report(NodeBeat(str(number)))

    wakes = []
    call_soon = service._loop.call_soon_threadsafe
    service._loop.call_soon_threadsafe = lambda *what: (wakes.append(what), call_soon(*what))
    thread = threading.Thread(target=report_all)
    thread.start()
    thread.join()  # the loop waits, and takes nothing meanwhile
    del service._loop.call_soon_threadsafe
    await service.changed(0, 5.0)
    assert runtime.batches == [[NodeBeat(str(number)) for number in range(50)]]
    assert len(wakes) == 1


async def test_inputs_asked_together_are_one_batch_whatever_its_bounds(
    service, runtime, monkeypatch
):
    monkeypatch.setattr(inbox, "MAX_CALLS", 2)
    wishes = [NodeBeat(str(number)) for number in range(3)]
    before, answers, behind = await asyncio.gather(
        service.ask(NodeBeat("a")), service.ask_all(wishes), service.ask(NodeBeat("b"))
    )
    assert (before, answers, behind) == ((), [(), (), ()], ())
    assert runtime.batches == [[NodeBeat("a"), *wishes], [NodeBeat("b")]]


async def test_one_refusal_among_inputs_asked_together_leaves_the_others(service, runtime):
    first, second, third = await service.ask_all([NodeBeat("a"), KillApplication(3), NodeBeat("b")])
    assert (first, third) == ((), ())
    assert isinstance(second, InputError)
    assert second.code == "no"
    assert len(runtime.batches) == 1


async def test_nothing_asked_together_is_nothing_fed(service, runtime):
    assert await service.ask_all([]) == []
    assert runtime.batches == []


async def test_what_the_loop_itself_observes_wakes_the_writer(service, runtime):
    service.observe([NodeLost("n1"), NodeLost("n2")])
    await service.changed(0, 5.0)
    assert runtime.batches == [[NodeLost("n1"), NodeLost("n2")]]


async def test_what_is_not_settled_goes_on_at_once_and_lets_callers_in(service, runtime):
    runtime.slices = 1_000
    service.report(NodeBeat("a burst"))
    await service.changed(0, 5.0)
    await service.ask(NodeBeat("in between"))
    assert 0 < runtime.slices < 1_000
    async with asyncio.timeout(60):
        while runtime.unsettled:
            await asyncio.sleep(0)
    await service.ask(NodeBeat("later"))
    assert runtime.batches == [[NodeBeat(name)] for name in ("a burst", "in between", "later")]


async def test_a_turn_that_a_caller_waits_for_grants_less_than_another(
    service, runtime, monkeypatch
):
    def beats():
        """How many beats of a ten-thousandth of a second a turn has time for."""
        instants = itertools.count()
        monkeypatch.setattr(service_module.time, "perf_counter", lambda: next(instants) / 10_000)
        return sum(1 for _ in iter(runtime.enough, True))

    service.report(NodeBeat("a report"))
    await service.changed(0, 5.0)
    alone = beats()
    await service.ask(NodeBeat("a call"))
    assert 0 < beats() < alone / 2


async def test_the_service_stops_though_not_all_is_settled(service, runtime):
    runtime.slices = 10**9
    await service.ask(NodeBeat("a burst"))
    async with asyncio.timeout(60):
        await service.stop()


def test_it_is_enough_when_the_time_is_up_since_it_was_first_asked():
    assert service_module.enough_after(0.0)()
    patient = service_module.enough_after(60.0)
    assert not patient()
    assert not patient()


async def test_too_many_waiting_calls_are_refused(service, monkeypatch):
    monkeypatch.setattr(service_module, "MAX_WAITING", 1)
    results = await asyncio.gather(
        *(service.ask(NodeBeat(str(n))) for n in range(3)), return_exceptions=True
    )
    assert [getattr(result, "code", "fed") for result in results] == ["fed", "busy", "busy"]


async def test_without_a_deadline_nothing_happens_while_idle(service, runtime):
    await service.ask(NodeBeat("a"))
    turns = runtime.turns
    for _ in range(50):
        await asyncio.sleep(0.001)
    assert runtime.turns == turns


async def test_the_deadline_wakes_the_writer(service, runtime, clock):
    woken = asyncio.Event()

    def turn() -> None:
        runtime.deadline_ms = None
        woken.set()

    await service.ask(NodeBeat("a"))
    runtime.on_turn = turn
    runtime.deadline_ms = clock.now_ms() + 20
    service.report(NodeBeat("look again"))
    await asyncio.wait_for(woken.wait(), 60)


async def test_a_deadline_of_which_nothing_comes_is_tried_ever_more_rarely(service, runtime):
    runtime.deadline_ms = 0
    service.report(NodeBeat("look again"))
    await service.changed(0, 5.0)
    async with asyncio.timeout(0.25):
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(service.ended.wait(), 0.2)
    assert 3 <= runtime.turns <= 12  # 2 + 4 + 8 + ... ms apart


async def test_a_failure_ends_the_writer_and_all_waiting_calls(service, runtime):
    runtime.failure = JournalError("the disk is full")
    results = await asyncio.gather(
        service.ask(NodeBeat("a")), service.ask(NodeBeat("b")), return_exceptions=True
    )
    assert [result.code for result in results] == ["stopping", "stopping"]
    await asyncio.wait_for(service.ended.wait(), 60)
    assert service.failure is runtime.failure
    with pytest.raises(InputError):
        await service.ask(NodeBeat("c"))


async def test_stopping_handles_pending_inputs_and_ends_waits_for_a_change(service, runtime):
    waiting = asyncio.create_task(service.changed(0, 60.0))
    await asyncio.sleep(0)
    asked = asyncio.create_task(service.ask(NodeBeat("a")))
    await asyncio.sleep(0)
    await service.stop()
    assert await asked == ()
    assert await asyncio.wait_for(waiting, 60) == 1
    with pytest.raises(InputError, match="stopping"):
        await service.ask(NodeBeat("b"))


async def test_waiting_for_a_change_ends_at_once_when_there_is_one_and_in_time_when_not(service):
    assert await service.changed(-1, 60.0) == 0
    assert await service.changed(0, 0.0) == 0
    assert await service.changed(0, 0.01) == 0


async def test_a_report_after_the_end_of_the_loop_is_let_go():
    def in_a_loop_of_its_own() -> Service:
        async def make() -> Service:
            return Service(Runtime.__new__(Runtime), Clock(), ContainerHistory())

        return asyncio.run(make())

    service = await asyncio.to_thread(in_a_loop_of_its_own)
    service.report(NodeBeat("late"))
