"""What a server has forgotten is gone at once: it need not wait until Python looks for garbage."""

import gc

import msgspec
import pytest
from tests.garbage import left_for_the_collector

from fairshare.core.model.inputs import (
    FinishApplication,
    KillApplication,
    MasterRegistered,
    RequestContainers,
    SubmitApplication,
)
from fairshare.core.model.work import Command, ContainerRequest, TaskGroup
from fairshare.server.full_collections import is_time
from fairshare.settings.shell import RetentionSettings

from .test_server import DRIVER, until

pytestmark = pytest.mark.anyio

FOUR_TASKS = SubmitApplication("ann", tasks=(TaskGroup("t", 4, (512, 1), Command(("true",))),))


@pytest.fixture
def settings(settings):
    return msgspec.structs.replace(settings, retention=RetentionSettings(finished_applications=0))


async def live(server, engine):
    """Let one application finish after a failure, kill one, let a driver end; forget all three."""
    applications = server.service.state.applications
    known = len(engine.orders)
    await server.service.ask(FOUR_TASKS)
    await until(server, lambda: len(engine.orders) == known + 4)
    for exit_code, container in enumerate(list(engine.orders)[known:]):
        engine.end(container, exit_code % 2)
    await until(server, lambda: len(engine.orders) == known + 6)
    for container in list(engine.live):
        engine.end(container)
    await until(server, lambda: next(reversed(applications.values())).over)

    await server.service.ask(FOUR_TASKS)
    await until(server, lambda: len(engine.orders) == known + 10)
    await server.service.ask(KillApplication(next(reversed(applications))))
    await until(server, lambda: not engine.live)

    await server.service.ask(DRIVER)
    await until(server, lambda: len(engine.orders) == known + 11)
    number = next(reversed(applications))
    await server.service.ask(MasterRegistered(number))
    await server.service.ask(RequestContainers(number, (ContainerRequest(2, (256, 1)),)))
    await until(server, lambda: len(applications[number].containers) == 3)
    await server.service.ask(FinishApplication(number))
    await until(server, lambda: applications[number].over)
    await server._retention.forget()
    assert not applications


async def test_applications_that_are_forgotten_leave_nothing_to_the_collector(server, engine):
    await live(server, engine)
    gc.collect()
    await live(server, engine)
    server._retention.save()
    assert left_for_the_collector() == []


MB = 1024  # kB


def test_a_busy_server_collects_when_its_memory_has_doubled():
    assert not is_time(1.0, 1_900 * MB, 1_000 * MB)
    assert is_time(1.0, 2_100 * MB, 1_000 * MB)


def test_a_small_server_may_grow_by_more_while_it_is_busy():
    assert not is_time(1.0, 550 * MB, 50 * MB)
    assert is_time(1.0, 570 * MB, 50 * MB)


def test_an_idle_server_collects_at_once():
    assert is_time(0.01, 50 * MB, 50 * MB)
