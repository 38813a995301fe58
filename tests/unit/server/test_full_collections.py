"""What a server has forgotten is gone at once: it need not wait until Python looks for garbage."""

import gc
import weakref

import msgspec
import pytest
from tests.garbage import left_for_the_collector
from tests.waiting import until_state

from fairshare.core.model.inputs import (
    FinishApplication,
    KillApplication,
    MasterRegistered,
    RequestContainers,
    SubmitApplication,
)
from fairshare.core.model.work import Command, ContainerRequest, TaskGroup
from fairshare.server.full_collections import collect, has_doubled
from fairshare.settings.shell import RetentionSettings

from .test_server import DRIVER

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

FOUR_TASKS = SubmitApplication("ann", tasks=(TaskGroup("t", 4, (512, 1), Command(("true",))),))


@pytest.fixture
def settings(settings):
    return msgspec.structs.replace(settings, retention=RetentionSettings(finished_applications=0))


async def live(server, engine):
    """Let one application finish after a failure, kill one, let a driver end; forget all three."""
    applications = server.service.state.applications
    known = len(engine.orders)
    await server.service.ask(FOUR_TASKS)
    await until_state(server, lambda: len(engine.orders) == known + 4)
    for exit_code, container in enumerate(list(engine.orders)[known:]):
        engine.end(container, exit_code % 2)
    await until_state(server, lambda: len(engine.orders) == known + 6)
    for container in list(engine.live):
        engine.end(container)
    await until_state(server, lambda: next(reversed(applications.values())).over)

    await server.service.ask(FOUR_TASKS)
    await until_state(server, lambda: len(engine.orders) == known + 10)
    await server.service.ask(KillApplication(next(reversed(applications))))
    await until_state(server, lambda: not engine.live)

    await server.service.ask(DRIVER)
    await until_state(server, lambda: len(engine.orders) == known + 11)
    number = next(reversed(applications))
    await server.service.ask(MasterRegistered(number))
    await server.service.ask(RequestContainers(number, (ContainerRequest(2, (256, 1)),)))
    await until_state(server, lambda: len(applications[number].containers) == 3)
    await server.service.ask(FinishApplication(number))
    await until_state(server, lambda: applications[number].over)
    await server.retention.forget()
    assert not applications


async def test_applications_that_are_forgotten_leave_nothing_to_the_collector(server, engine):
    await live(server, engine)
    gc.collect()
    await live(server, engine)
    server.retention.save()
    assert left_for_the_collector() == []


MB = 1024  # kB


def test_all_objects_are_looked_at_when_the_memory_has_doubled():
    assert not has_doubled(1_900 * MB, 1_000 * MB)
    assert has_doubled(2_100 * MB, 1_000 * MB)


def test_a_small_server_may_grow_by_more():
    assert not has_doubled(550 * MB, 50 * MB)
    assert has_doubled(570 * MB, 50 * MB)


class Circle:
    """Refers to itself."""

    def __init__(self):
        self.itself = self


def test_what_was_there_the_last_time_is_left_out_until_everything_is_looked_at():
    try:
        old, new = Circle(), Circle()
        left = [weakref.ref(old), weakref.ref(new)]
        del new
        collect(everything=False)
        assert [one() is None for one in left] == [False, True]
        del old
        collect(everything=False)
        assert left[0]() is not None
        collect(everything=True)
        assert left[0]() is None
    finally:
        gc.unfreeze()
