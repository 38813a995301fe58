"""With what smaller tasks an application that waits would start now: each size is tried in a copy
of this process, in which the application is submitted with it in place of what waits, and the
scheduler decides. Nothing that runs ends in it, and nothing else comes: the room is there now.

Memory and vcores are halved, alone if that suffices, else both.
"""

import time
from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from fairshare.api.applications import Eta, Smaller
from fairshare.core.manager.resource_manager import ResourceManager
from fairshare.core.model.events import ContainerLaunched
from fairshare.core.model.identifiers import ApplicationId, application_of
from fairshare.core.model.inputs import KillApplication, SubmitApplication
from fairshare.core.model.resources import MEMORY, VCORES, ResourceTypes
from fairshare.core.record import Record
from fairshare.errors import InputError
from fairshare.lab.branch.branch import Branch, apart
from fairshare.lab.branch.estimates import submitted
from fairshare.lab.branch.lives import FOR_EVER_MS, with_expected_lives
from fairshare.lab.simulate.readers.history import read_history
from fairshare.lab.simulate.world import Origin
from fairshare.runtime.runtime import Observer
from fairshare.server.insight.why import words_of

BOTH: Final = (MEMORY, VCORES)
NOW_MS: Final = 3_000
"""What starts so soon starts now."""

MOST_HALVINGS: Final = 4
"""With less than a sixteenth it would hardly do the same work."""

MOST_S: Final = 5.0
"""Of a search. What was found by then is the answer."""


def with_smaller(origin: Origin, number: ApplicationId, eta: Eta) -> Eta:
    """An estimate with the sizes with which the application would start now, if it does not."""
    application = origin.manager().state.applications[number]
    soon = eta.start is not None and eta.start.p50_ms is not None and eta.start.p50_ms <= NOW_MS
    if soon or application.started_ms or not application.submission.tasks:
        return eta
    return replace(eta, smaller=tuple(_found(origin, number, application.submission)))


def _found(
    origin: Origin, number: ApplicationId, submission: SubmitApplication
) -> Iterator[Smaller]:
    state = origin.manager().state
    until_s = time.monotonic() + MOST_S

    def starts(types: tuple[str, ...], halvings: int) -> bool:
        if time.monotonic() > until_s:
            return False
        tried = _halved(submission, state.types, types, halvings)
        return apart(lambda: _starts(origin, number, tried), bool)

    if starts((), 0) or not starts(BOTH, MOST_HALVINGS):
        return
    alone: list[tuple[str, ...]] = [
        types for types in ((VCORES,), (MEMORY,)) if starts(types, MOST_HALVINGS)
    ]
    for types in alone or [BOTH]:
        fewest = next((n for n in range(1, MOST_HALVINGS) if starts(types, n)), MOST_HALVINGS)
        tasks = _halved(submission, state.types, types, fewest).tasks
        sizes = [(group.name, words_of(state).amount(group.resource)) for group in tasks]
        yield Smaller(
            sizes[0][1]
            if len(sizes) == 1
            else "; ".join(f"{name}: {size}" for name, size in sizes),
            {group.name: state.types.mapping(group.resource) for group in tasks},
        )


def _halved(
    submission: SubmitApplication, types: ResourceTypes, halved: tuple[str, ...], times: int
) -> SubmitApplication:
    """With some types of resource of each task halved so many times, and at least 1 left."""
    parts = [2**times if name in halved else 1 for name in types.names]
    groups = (
        replace(
            group,
            resource=tuple(-(-n // part) for n, part in zip(group.resource, parts, strict=True)),
        )
        for group in submission.tasks
    )
    return replace(submission, tasks=tuple(groups), number=None)


def _starts(origin: Origin, number: ApplicationId, submission: SubmitApplication) -> bool:
    """Whether it starts now with this submission. Changes the state."""
    manager, position = origin.manager(), origin.position
    state = manager.state
    manager.handle(position.now_ms, KillApplication(number))
    try:
        other = submitted(manager, position.now_ms, submission)
    except InputError:
        return False
    here = Origin(position, lambda: manager)
    world = read_history((), manager.scheduler.name, state.types, state.epoch_ms, here)
    launched: list[int] = []

    def observe(record: Record) -> None:
        for event in record.events:
            if type(event) is ContainerLaunched and application_of(event.container) == other:
                launched.append(record.now_ms)

    def observed(_: ResourceManager) -> list[Observer]:
        return [observe]

    endless = with_expected_lives(world, lambda *_: FOR_EVER_MS).world
    Branch(endless).begin(observed).run(world.begin_ms + NOW_MS)
    return bool(launched)
