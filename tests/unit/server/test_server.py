"""A whole server on one state directory: start, drivers, restart, end."""

import asyncio

import msgspec
import pytest
from tests.manual_engine import ManualEngine
from tests.waiting import until_state

from fairshare.core.model.events import ApplicationState
from fairshare.core.model.inputs import (
    ContainerExited,
    KillApplication,
    LaunchContainer,
    MasterRegistered,
    RequestContainers,
    SubmitApplication,
)
from fairshare.core.model.tasks import TaskState
from fairshare.core.model.work import Command, ContainerRequest, TaskGroup
from fairshare.core.schedulers.fifo import FifoSettings
from fairshare.engines.protocol import NodeOffer
from fairshare.errors import ConfigurationError, EngineError, InputError, JournalError
from fairshare.server import server as server_module
from fairshare.server.server import LiveServer
from fairshare.server.settings import LiveSettings

pytestmark = pytest.mark.anyio

ONE_TASK = SubmitApplication(
    "ann", name="work", tasks=(TaskGroup("t", 1, (512, 1), Command(("true",))),)
)
DRIVER = SubmitApplication("ann", master=(256, 1), driver=Command(("drive",)))


async def launched(server: LiveServer, engine, count: int = 1) -> list[int]:
    """The containers that were ordered, once there are so many."""
    await until_state(server, lambda: len(engine.orders) >= count)
    return list(engine.orders)


async def restarted(settings, engine) -> LiveServer:
    server = LiveServer(settings, lambda settings, path: engine)
    await server.start("http://127.0.0.1:2")
    return server


async def left_running(settings: LiveSettings, engine) -> tuple[LiveSettings, int]:
    """The settings of a server that left a task running when it ended, and its container."""
    settings = msgspec.structs.replace(settings, stop_containers=False)
    server = await restarted(settings, engine)
    await server.service.ask(ONE_TASK)
    (container,) = await launched(server, engine)
    await server.close()
    return settings, container


async def test_a_task_is_run_and_its_application_finishes(server, engine):
    await server.service.ask(ONE_TASK)
    (container,) = await launched(server, engine)
    order = engine.orders[container]
    assert order.command.arguments == ("true",)
    assert order.environment["FAIRSHARE_URL"] == "http://127.0.0.1:1"
    assert "FAIRSHARE_TOKEN" not in order.environment
    engine.end(container)
    application = server.service.state.applications[1]
    await until_state(server, lambda: application.over)
    assert application.state is ApplicationState.FINISHED
    (view,) = server.service.views.containers(application)
    assert (view.state, view.exit_code, view.group, view.task) == ("COMPLETE", 0, "t", 0)
    assert (view.peak_memory_mb, view.cpu_ms) == (7, 42)


async def test_observers_see_each_record_once_it_is_committed(settings, engine):
    server = LiveServer(settings, lambda settings, path: engine)
    seen: list[int] = []

    def observe(records):
        assert records[-1].sequence == server.service.version
        seen.extend(record.sequence for record in records)

    server.observers.commits(observe)
    await server.start("http://127.0.0.1:1")
    await server.service.ask(ONE_TASK)
    assert seen == list(range(1, server.service.version + 1))
    await server.close()


async def test_a_driver_gets_the_token_of_its_attempt_and_its_containers_get_none(server, engine):
    await server.service.ask(DRIVER)
    (master,) = await launched(server, engine)
    token = engine.orders[master].environment["FAIRSHARE_TOKEN"]
    assert server.tokens.accepts(token, 1, 1)
    await server.service.ask(MasterRegistered(1))
    await server.service.ask(RequestContainers(1, (ContainerRequest(1, (128, 1)),)))
    application = server.service.state.applications[1]
    await until_state(server, lambda: len(application.containers) == 2)
    (granted,) = set(application.containers) - {master}
    await server.service.ask(LaunchContainer(1, granted, Command(("work",))))
    await launched(server, engine, 2)
    assert "FAIRSHARE_TOKEN" not in engine.orders[granted].environment


async def test_the_driver_of_the_next_attempt_gets_another_token(server, engine):
    await server.service.ask(DRIVER)
    (first,) = await launched(server, engine)
    engine.end(first, 1)
    _, second = await launched(server, engine, 2)
    tokens = [engine.orders[c].environment["FAIRSHARE_TOKEN"] for c in (first, second)]
    assert tokens[0] != tokens[1]
    assert server.tokens.accepts(tokens[1], 1, 2)


async def test_a_restart_adopts_what_runs_and_goes_on_with_the_numbers(settings, engine):
    settings = msgspec.structs.replace(settings, stop_containers=False)
    server = await restarted(settings, engine)
    await server.service.ask(ONE_TASK)
    (container,) = await launched(server, engine)
    epoch_ms = server.service.state.epoch_ms
    await server.close()
    assert engine.closed is False

    server = await restarted(settings, engine)
    state = server.service.state
    assert state.epoch_ms == epoch_ms
    assert container in state.applications[1].containers
    await server.service.ask(ONE_TASK)
    assert list(state.applications) == [1, 2]
    engine.end(container)
    await until_state(server, lambda: state.applications[1].over)
    assert state.applications[1].state is ApplicationState.FINISHED
    assert next(iter(engine.orders)) == container
    await server.close()


async def test_a_container_that_ended_while_the_server_was_down_is_settled_as_it_ended(
    settings, engine
):
    settings, container = await left_running(settings, engine)
    engine.live.clear()
    engine.at_start = [ContainerExited(container, 0, "", 3, 4)]

    server = await restarted(settings, engine)
    application = server.service.state.applications[1]
    assert application.state is ApplicationState.FINISHED
    assert next(server.service.views.containers(application)).cpu_ms == 4
    await server.close()


async def test_an_exit_that_no_server_recorded_is_asked_of_the_engine(settings, engine):
    settings, container = await left_running(settings, engine)
    engine.live.clear()
    engine.exits[container] = ContainerExited(container, 0, "", 5, 6)

    server = await restarted(settings, engine)
    application = server.service.state.applications[1]
    assert application.state is ApplicationState.FINISHED
    assert next(server.service.views.containers(application)).peak_memory_mb == 5
    await server.close()


async def test_a_container_that_is_lost_without_a_trace_runs_again(settings, engine):
    settings, _ = await left_running(settings, engine)
    engine.live.clear()

    server = await restarted(settings, engine)
    _, again = await launched(server, engine, 2)
    engine.end(again)
    application = server.service.state.applications[1]
    await until_state(server, lambda: application.over)
    task = next(server.service.views.tasks(application))
    assert (task.state, task.attempts) == (TaskState.SUCCEEDED, 2)
    assert server.service.views.groups(application)[0].failed == 0
    await server.close()


async def test_a_node_that_is_not_offered_any_more_is_lost_with_what_ran_there(settings, engine):
    settings, container = await left_running(settings, engine)
    engine.offers = (msgspec.structs.replace(engine.offers[0], node="n2"),)

    server = await restarted(settings, engine)
    assert container in engine.stopped
    _, again = await launched(server, engine, 2)
    assert engine.orders[again].node == "n2"
    assert [node.name for node in server.service.views.nodes] == ["n2"]
    await server.close()


async def test_nodes_that_register_by_themselves_are_kept_until_they_return(settings, engine):
    settings, container = await left_running(settings, engine)
    engine.nodes_register, engine.live = True, set()
    second = await restarted(settings, engine)
    state = second.service.state
    assert list(state.nodes["n1"].containers) == [container]
    assert engine.stopped == []
    await second.service.ask(ONE_TASK)
    await asyncio.sleep(0)
    assert list(engine.orders) == [container]
    second.service.set_silent("n1", False)
    await launched(second, engine, 2)
    await second.close()


async def test_an_unknown_container_is_stopped_at_the_start(settings, engine):
    engine.live.add(1 << 40 | 1 << 32 | 99)
    server = await restarted(settings, engine)
    assert engine.stopped == [1 << 40 | 1 << 32 | 99]
    await server.close()


async def test_ending_stops_containers_and_their_tasks_wait_for_the_next_server(settings, engine):
    server = await restarted(settings, engine)
    await server.service.ask(ONE_TASK)
    await launched(server, engine)
    await server.close()
    assert engine.closed is True
    assert server.directory.url() is None
    engine.live.clear()

    server = await restarted(settings, engine)
    application = server.service.state.applications[1]
    await launched(server, engine, 2)
    first = next(server.service.views.containers(application))
    assert (first.exit_code, first.diagnostics) == (
        -100,
        "The server was stopped, and the container with it.",
    )
    assert application.tasks.groups[0].failed == {}
    await server.close()


async def test_a_server_that_never_started_records_nothing_and_stops_nothing(settings, engine):
    kept, container = await left_running(settings, engine)

    await LiveServer(settings, lambda settings, path: engine).close()
    assert engine.closed is False
    server = await restarted(kept, engine)
    assert container in server.service.state.applications[1].containers
    await server.close()


async def test_the_refusal_of_a_second_server_names_the_holder_of_the_directory(
    server, settings, engine
):
    with pytest.raises(JournalError, match=r"in use by process \d+ at http://127\.0\.0\.1:1"):
        LiveServer(settings, lambda settings, path: engine)


async def test_another_scheduler_on_the_same_state_is_refused_and_leaves_the_lock(settings, engine):
    await (await restarted(settings, engine)).close()
    fifo = msgspec.structs.replace(
        settings, scheduler="fifo", scheduler_settings=msgspec.json.encode(FifoSettings())
    )
    with pytest.raises(ConfigurationError, match="belongs to the fair scheduler"):
        LiveServer(fifo, lambda settings, path: engine)
    await (await restarted(settings, engine)).close()


async def test_a_journal_that_cannot_be_written_ends_the_server_and_leaves_containers(
    settings, engine, monkeypatch
):
    server = await restarted(settings, engine)
    await server.service.ask(ONE_TASK)
    (container,) = await launched(server, engine)

    def fail() -> None:
        raise JournalError("the disk is full")

    monkeypatch.setattr(server.journal, "commit", fail)
    with pytest.raises(InputError, match="had to stop"):
        await server.service.ask(ONE_TASK)
    await asyncio.wait_for(server.service.ended.wait(), 60)
    assert str(server.service.failure) == "the disk is full"
    await server.close()
    assert engine.closed is False
    assert server.directory.url() is not None

    server = await restarted(settings, engine)
    assert list(server.service.state.applications) == [1]
    assert container in server.service.state.applications[1].containers
    await server.close()


async def test_settings_that_the_scheduler_refuses_raise_an_error(settings, engine):
    bad = msgspec.structs.replace(settings, scheduler_settings=b'{"allocations": 3}')
    server = LiveServer(bad, lambda settings, path: engine)
    with pytest.raises(ConfigurationError):
        await server.start("http://127.0.0.1:1")
    await server.close()


@pytest.mark.slow
async def test_the_log_describes_events_in_words(server, engine):
    await server.service.ask(ONE_TASK)
    (container,) = await launched(server, engine)
    engine.end(container, 3, "it said\nno")
    await until_state(server, lambda: len(engine.orders) == 2)
    await server.service.ask(KillApplication(1))
    lines = server.directory.log.read_text().splitlines()
    assert any("submitted by ann to root.ann: work" in line for line in lines)
    assert any("ended with 3: it said\\nno" in line for line in lines)
    assert any("is KILLED: Application killed by user." in line for line in lines)


@pytest.mark.parametrize("failures", [0, 2])
async def test_files_are_deleted_when_their_application_is_forgotten(
    server, engine, monkeypatch, caplog, failures
):
    """And later, if that is not possible now."""
    monkeypatch.setattr(server_module, "PRUNE_PAUSE_S", 0.01)
    prune, tries = engine.prune, []

    def busy(name):
        tries.append(name)
        if len(tries) <= failures:
            raise EngineError("it still runs")
        prune(name)

    monkeypatch.setattr(engine, "prune", busy)
    server.projections.history.limit = 1
    for number in (1, 2):
        await server.service.ask(ONE_TASK)
        container = (await launched(server, engine, number))[-1]
        engine.end(container)
        await until_state(server, lambda n=number: server.service.state.applications[n].over)
    name = f"application_{server.service.state.epoch_ms}_0001"
    async with asyncio.timeout(60):
        while engine.pruned != [name]:
            await asyncio.sleep(0.01)
    assert len(tries) == failures + 1
    assert caplog.text.count("tried again later: it still runs") == min(1, failures)


@pytest.mark.parametrize(("account", "remedy"), [("bob", True), ("root", False)])
async def test_a_server_without_control_groups_logs_the_command_that_gives_it_one(
    settings, tmp_path, account, remedy
):
    note = "cannot use /g (cpu): Permission denied"
    attributes = {"cpu-limit": "nice", "limits-note": note, "run-as": account}
    node = NodeOffer("n1", "/r", {"memory-mb": 4096, "vcores": 4}, attributes)
    made = await restarted(settings, ManualEngine(tmp_path / "containers", node))
    await made.close()
    [line] = [one for one in made.directory.log.read_text().splitlines() if "Permission" in one]
    assert f"containers only have priorities ({note})" in line
    assert ("systemd-run --user --scope -p Delegate=yes fairshare serve" in line) == remedy
